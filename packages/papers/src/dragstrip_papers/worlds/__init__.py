"""Makes up worlds to test the rules that answer claims."""

"""Made-up pages: real markup, styles, scripts, pictures and fonts of given sizes.

`page.make` makes bodies from a `dragstrip.pages.format.structure.Structure`: each object asks for
the ones that wait for it, and its body has the asked-for length on the wire.
"""

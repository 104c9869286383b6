"""Drives WPE WebKit, by the protocol of its Web Inspector."""

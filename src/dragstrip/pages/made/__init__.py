"""Made-up pages: real markup, styles, scripts, pictures and fonts of asked-for sizes.

Bodies are made from a `dragstrip.pages.structure.Structure`: each object asks for the ones that
wait for it, and its body has the recorded length on the wire.
"""

from dragstrip.pages.made.page import make

__all__ = ["make"]

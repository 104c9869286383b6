"""Makes made-up pages: real markup, styles, scripts, pictures and fonts of given sizes.

`page.make` makes bodies from a `dragstrip.pages.format.structure.Structure`. Each object requests
its children, and its body has the requested length on the wire.
"""

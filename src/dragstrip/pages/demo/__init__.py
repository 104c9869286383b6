"""The bundled demo page: a made-up magazine of 60 objects on four hosts, all made by us.

Text and code are in `assets`, fonts come from `pages/fonts` and pictures from `art`; `page`
assembles them. A browser discovers the objects as on a real page: style sheets block (one imports
another, which names the fonts), and two modules wait for data, one of which names more pictures.
With every viewport, all objects are requested before the load event and none after it.
"""

from dragstrip.pages.demo.objects import demo

__all__ = ["demo"]

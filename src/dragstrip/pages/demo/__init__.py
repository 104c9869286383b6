"""The bundled demo page: a made-up magazine of 60 objects on four hosts, all of it ours.

Text and code lie in `assets`; letters come from `pages/fonts`, pictures from `art`, and
`page` puts it all together. It is discovered like a real page: style sheets block (one imports
another, which names the fonts) and two modules wait for data, one of which names more pictures.
Everything is asked for before the load event, whatever the viewport, and nothing after it.
"""

from dragstrip.pages.demo.objects import demo

__all__ = ["demo"]

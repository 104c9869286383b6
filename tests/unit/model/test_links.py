"""The `link` header, as far as it names what to fetch in advance."""

from dragstrip.model.links import ahead, links, preloads

VALUES = (
    '</a.css>; rel=preload; as=style, <//cdn.test/b,c.js>;as=script;rel="x MODULEPRELOAD"',
    "<https://c.test>; rel=preconnect; crossorigin",
    "<d.css>; rel=stylesheet; title=preload, <e.html>",
)


def test_each_link_comes_with_its_parameters():
    found = [(link.target, link.relations) for link in links(VALUES)]
    assert found == [
        ("/a.css", {"preload"}),
        ("//cdn.test/b,c.js", {"x", "modulepreload"}),
        ("https://c.test", {"preconnect"}),
        ("d.css", {"stylesheet"}),
        ("e.html", frozenset()),
    ]


def test_preloads_are_absolute():
    found = preloads("https://a.test/x/", VALUES)
    assert found == ("https://a.test/a.css", "https://cdn.test/b,c.js")


def test_links_to_fetch_in_advance_are_kept_as_written():
    assert ahead(VALUES) == (
        "</a.css>; rel=preload; as=style",
        '<//cdn.test/b,c.js>;as=script;rel="x MODULEPRELOAD"',
        "<https://c.test>; rel=preconnect; crossorigin",
    )

"""Writes the demo page's HTML: the template of `assets` filled with the stories."""

from collections.abc import Iterable, Sequence
from html import escape
from string import Template

from msgspec import Struct


class Story(Struct, frozen=True, kw_only=True):
    kicker: str
    title: str
    dek: str
    author: str
    minutes: int
    scene: str
    palette: str
    image: str = ""
    """URL of the story's picture; empty without one."""


def document(
    template: str,
    *,
    stories: Sequence[Story],
    most_read: Iterable[tuple[Story, str]],
    writers: Iterable[tuple[str, str]],
    gallery: Iterable[str],
) -> str:
    """Return the HTML of the page. The first story is the lead story; `most_read` and `writers`
    come with the URLs of pictures."""
    return Template(template).substitute(
        hero=_hero(stories[0]),
        cards="\n".join(_card(story) for story in stories[1:]),
        most_read="\n".join(_ranked(story, image) for story, image in most_read),
        writers="\n".join(_writer(name, image) for name, image in writers),
        gallery="\n".join(_image(url, 640, 420) for url in gallery),
    )


def _image(url: str, width: int, height: int) -> str:
    return f'<img src="{url}" width="{width}" height="{height}" alt="">'


def _hero(story: Story) -> str:
    return f"""<article class="hero" data-minutes="{story.minutes}">
  {_image(story.image, 1366, 600)}
  <div class="hero-text">
    <p class="kicker">{escape(story.kicker)}</p>
    <h1>{escape(story.title)}</h1>
    <p>{escape(story.dek)}</p>
  </div>
</article>"""


def _card(story: Story) -> str:
    return f"""<article class="card" data-minutes="{story.minutes}">
  <a href="#{escape(story.kicker.lower().replace(" ", "-"))}">{_image(story.image, 640, 427)}</a>
  <p class="kicker">{escape(story.kicker)}</p>
  <h3>{escape(story.title)}</h3>
  <p class="dek">{escape(story.dek)}</p>
  <p class="byline">By <b>{escape(story.author)}</b> · {story.minutes} min</p>
</article>"""


def _ranked(story: Story, image: str) -> str:
    return f"""<li>
  {_image(image, 72, 72)}
  <div><h3>{escape(story.title)}</h3><p class="small">{escape(story.author)}</p></div>
</li>"""


def _writer(name: str, image: str) -> str:
    return f"<li>{_image(image, 52, 52)}<span>{escape(name)}</span></li>"

"""Reads MHTML (RFC 2557), the format in which browsers save a page in one file: .mhtml, .mht."""

import email
import email.policy
import re
from collections.abc import Iterator
from email import errors
from email.message import Message
from pathlib import Path
from urllib.parse import quote, unquote

from msgspec import Struct

from dragstrip.pages.format.recording import HTML, REFERRING, PageError, Recorded
from dragstrip.pages.format.urls import absolute
from dragstrip.pages.importers.contents import Contents
from dragstrip.pages.importers.limits import DEFAULT, Limits, Meter, beyond
from dragstrip.pages.importers.named import missing
from dragstrip.pages.importers.plain import read_plain
from dragstrip.pages.importers.saved.html_file import NOWHERE, UNTOLD, answer
from dragstrip.pages.importers.sentences import Notes
from dragstrip.pages.importers.types import content_type, with_charset

ENDINGS = (".mhtml", ".mht")
_CUT_OFF = (errors.CloseBoundaryNotFoundDefect, errors.StartBoundaryNotFoundDefect)
_CID = re.compile(rb"cid:([A-Za-z0-9%@._$+~!*-]{1,500})")
_SCRIPTLESS = "a page saved as MHTML has no scripts: a browser leaves them out when it saves"


class _Part(Struct, frozen=True, kw_only=True):
    mime: str
    charset: str
    location: str
    """The location as written; empty if there is none."""
    cid: str
    body: bytes


class _Bounded(email.policy.Compat32):
    """A policy that limits the length of headers, because Python's parameter parser takes time
    quadratic in that length."""

    def __init__(self, limits: Limits = DEFAULT) -> None:
        super().__init__()
        object.__setattr__(self, "_limits", limits)

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        limits: Limits = self.__dict__["_limits"]
        if sum(map(len, sourcelines)) > limits.max_name:
            raise beyond("a header has", "max_name", limits.max_name)
        return super().header_source_parse(sourcelines)


def read_mhtml(path: Path, limits: Limits = DEFAULT) -> Contents:
    """Return the page in an MHTML file. Raises `PageError`.

    ``cid:`` references become the URLs of the parts that they name, because a browser cannot
    request them from a server.
    """
    meter, notes = Meter(limits), Notes()
    try:
        message = email.message_from_bytes(read_plain(path, meter), policy=_Bounded(limits))
        parts = list(_parts(message, meter, notes))
    except PageError as error:
        raise PageError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
    except RecursionError:
        raise PageError(f"{path}: its parts are nested too deep; save the page again") from None
    root = next((p for p in parts if p.mime in HTML), None)
    if root is None:
        raise PageError(f"{path} has no part of HTML; save the page again as MHTML")
    base = root.location if _is_web(root.location) else NOWHERE
    order = [root, *(p for p in parts if p is not root)]
    urls = [base, *(_url(p, root.location, base) for p in order[1:])]
    known = {p.cid: url for p, url in zip(order, urls, strict=True) if p.cid}
    exchanges = [_answer(p, u, known, notes) for p, u in zip(order, urls, strict=True)]
    return Contents(
        source=f"a page saved as MHTML from {base}",
        exchanges=exchanges,
        changes=(
            UNTOLD,
            _SCRIPTLESS,
            *notes.sentences(),
            *missing(exchanges, {x.url for x in exchanges}),
        ),
    )


def _parts(message: Message, meter: Meter, notes: Notes) -> Iterator[_Part]:
    for part in message.walk():
        meter.record()
        if any(isinstance(d, _CUT_OFF) for d in part.defects):
            raise PageError("it is cut off: a part has no end; save the page again")
        if part.is_multipart():
            continue
        body = part.get_payload(decode=True)
        location = "".join(str(part.get("Content-Location", "")).split())
        if part.defects:
            notes.add("parts are damaged, and are read as far as they go", location or "a part")
        yield _Part(
            mime=part.get_content_type(),
            charset=str(part.get_param("charset", "") or ""),
            location=location,
            cid=str(part.get("Content-ID", "")).strip().strip("<>"),
            body=body if isinstance(body, bytes) else b"",
        )


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http:", "https:"))


def _url(part: _Part, root: str, base: str) -> str:
    """Return the URL from which a part is served; a made-up URL if the part has only an id."""
    folder = root.rpartition("/")[0]
    if not part.location or part.location.lower().startswith(("about:", "cid:", "data:")):
        return absolute(base, f"/mhtml-parts/{quote(part.cid, safe='')}")
    if folder and not _is_web(root) and part.location.startswith(f"{folder}/"):
        return absolute(base, part.location.removeprefix(f"{folder}/"))
    return absolute(base, part.location) or part.location


def _answer(part: _Part, url: str, known: dict[str, str], notes: Notes) -> Recorded:
    if part.mime == "application/octet-stream":
        kind = content_type(url.partition("?")[0], part.body)
    elif part.charset and re.fullmatch(r"[A-Za-z0-9_:.-]{1,40}", part.charset):
        kind = f"{part.mime}; charset={part.charset}"
    else:
        kind = with_charset(part.mime, part.body)
    body = part.body
    if part.mime in REFERRING:
        found: list[str] = []
        body = _CID.sub(lambda match: _address(match, known, found), body)
        for cid in found:
            what = "references by cid: became the addresses of their parts"
            notes.add(what if cid in known else "references by cid: lead to no part", cid)
    return answer(url, kind, body)


def _address(match: re.Match[bytes], known: dict[str, str], found: list[str]) -> bytes:
    cid = unquote(match[1].decode())
    found.append(cid)
    return known[cid].encode() if cid in known else match[0]

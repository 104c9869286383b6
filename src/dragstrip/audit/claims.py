"""The claims of a capture: the network it was made on and the protocol it is labelled with."""

import re
from collections.abc import Sequence

from msgspec import Struct, structs

from dragstrip.audit.dialects import Family
from dragstrip.model.errors import InputError


class Claims(Struct, frozen=True, kw_only=True):
    """The author's claims about a capture; None and "" stand for no claim."""

    down_mbps: float | None = None
    rtt_ms: float | None = None
    """Round trip that the capture says the link adds."""
    loss: float | None = None
    """Share of packets lost, each way."""
    protocol: Family = ""

    def describe(self) -> str:
        """Describe the claims: protocol, rate, round trip, loss, as in ``quic, 2 Mbit/s, 200 ms, 2
        %``."""
        parts = (
            self.protocol,
            f"{self.down_mbps:g} Mbit/s" if self.down_mbps is not None else "",
            f"{self.rtt_ms:g} ms" if self.rtt_ms is not None else "",
            f"{self.loss * 100:g} %" if self.loss is not None else "",
        )
        return ", ".join(p for p in parts if p) or "nothing"


NAME_PATTERNS = ("{protocol}-{page}-bw{down_mbps}-rtt{delay_ms}-loss{loss}",)
"""Patterns tried on every name if the user gives neither a pattern nor values. They are
ranjan2019's (section 3.6 and its scripts), where ``rtt`` in a name is the delay added each way."""

_LABELS: dict[str, Family] = {
    **dict.fromkeys(("h1", "http1", "http1.1", "http", "https"), "h1"),
    **dict.fromkeys(("spdy", "spdy3", "spdy3.1"), "spdy"),
    **dict.fromkeys(("h2", "http2", "http-2", "tcp"), "h2"),
    **dict.fromkeys(("h3", "http3", "http-3", "quic", "gquic"), "quic"),
}
_NUMBERS = ("down_mbps", "down_kbps", "rtt_ms", "delay_ms", "loss", "loss_percent")
_FIELDS = ("protocol", "page", *_NUMBERS)


def protocol_label(text: str) -> Family:
    """Read the protocol of a label: ``Quic`` -> quic, ``Http2`` -> h2. Raises `InputError`."""
    try:
        return _LABELS[text.lower()]
    except KeyError:
        raise InputError(f"{text!r} names no protocol; use one of {', '.join(_LABELS)}") from None


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Turn a pattern such as ``{protocol}-bw{down_mbps}-rtt{rtt_ms}`` into a regular expression for
    whole names.

    ``{page}`` matches anything, the others numbers or a protocol's name; ``*`` stands for any text.
    Raises `InputError` for an unknown or repeated field.
    """
    expression = ""
    for part in re.split(r"(\{[^}]*\}|\*)", pattern):
        name = part[1:-1]
        if part == "*":
            expression += ".*?"
        elif not part.startswith("{"):
            expression += re.escape(part)
        elif name not in _FIELDS or f"<{name}>" in expression:
            raise InputError(
                f"{pattern!r}: {part} is unknown or repeated; use each of "
                f"{', '.join('{' + f + '}' for f in _FIELDS)} at most once"
            )
        else:
            kind = r"\d+(?:\.\d+)?" if name in _NUMBERS else r"[\w.]+" if name != "page" else ".+?"
            expression += f"(?P<{name}>{kind})"
    return re.compile(expression)


def from_name(name: str, patterns: Sequence[re.Pattern[str]]) -> Claims | None:
    """Read the claims in a capture's name by the first pattern that fits; None if no pattern
    fits."""
    for pattern in patterns:
        if found := pattern.fullmatch(name.partition("#")[0]):
            return _claims({k: v for k, v in found.groupdict().items() if v})
    return None


def _claims(words: dict[str, str]) -> Claims:
    label = words.get("protocol", "").lower()
    claims = Claims(protocol=_LABELS.get(label, ""))
    numbers = {k: float(v) for k, v in words.items() if k in _NUMBERS}
    changes = {k: v for k, v in numbers.items() if k in ("down_mbps", "rtt_ms", "loss")}
    for field, of, factor in (
        ("down_mbps", "down_kbps", 1e-3),
        ("rtt_ms", "delay_ms", 2.0),
        ("loss", "loss_percent", 1e-2),
    ):
        if of in numbers:
            changes[field] = numbers[of] * factor
    return structs.replace(claims, **changes)

"""Computes wolsing2019's one-RTT correction: QUIC's lead without its shorter handshake.

A cold QUIC connection sends its request one round trip earlier than TCP with TLS 1.3. On pages of a
single host the difference of the means, less that one round trip, is what the handshake does not
explain.

Source: Wolsing et al., ANRW 2019, section 4 and table 3.
"""

from collections.abc import Sequence
from statistics import fmean

from msgspec import Struct


class CorrectedLead(Struct, frozen=True):
    """The lead mean(quic) - (mean(tcp) - one round trip). A negative lead means that QUIC is faster
    by more than one round trip."""

    ms: float
    rtts: float
    """The lead in round trips."""


def one_rtt_corrected(tcp: Sequence[float], quic: Sequence[float], rtt_ms: float) -> CorrectedLead:
    """Return the corrected lead; all times are in ms. Raises `ValueError` if the round trip is not
    above zero."""
    if rtt_ms <= 0:
        raise ValueError(f"a round trip is above zero, not {rtt_ms:g} ms")
    left = fmean(quic) - (fmean(tcp) - rtt_ms)
    return CorrectedLead(left, left / rtt_ms)

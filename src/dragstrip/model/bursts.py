"""Random loss in bursts."""

from msgspec import Struct

from dragstrip.model.units import plain, require_shares

_LEAST_STATE_MS = 0.1


class GilbertElliott(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Loss in bursts: a chain of a good and a bad state (Gilbert 1960, Elliott 1963).

    Either the chain follows time, with the mean durations `good_ms` and `bad_ms`, or it makes one
    step per packet, with the probabilities `p` and `r`, as in netem.
    """

    good_ms: float | None = None
    """Mean time in ms that the good state lasts; times are exponential."""
    bad_ms: float | None = None
    """Mean time in ms that the bad state lasts; times are exponential."""
    p: float | None = None
    """Probability that the bad state follows the good one."""
    r: float | None = None
    """Probability that the good state follows the bad one; bursts have 1 / r packets on average."""
    loss_good: float = 0.0
    """Share of packets lost in the good state."""
    loss_bad: float = 1.0
    """Share of packets lost in the bad state."""

    def __post_init__(self) -> None:
        require_shares(self, "loss_good", "loss_bad")
        fields = ("good_ms", "bad_ms", "p", "r")
        given = [name for name in fields if getattr(self, name) is not None]
        if given == ["good_ms", "bad_ms"]:
            for name in given:
                if getattr(self, name) < _LEAST_STATE_MS:
                    raise ValueError(f"{name} must be at least {_LEAST_STATE_MS}")
        elif given == ["p", "r"]:
            require_shares(self, "p", "r")
            if not 1e-6 <= sum(self.rates) <= 2 - 1e-6:
                raise ValueError("p and r must add up to more than 0 and less than 2")
        else:
            raise ValueError("give good_ms and bad_ms, or p and r to step with packets")

    @property
    def by_time(self) -> bool:
        return self.good_ms is not None

    @property
    def rates(self) -> tuple[float, float]:
        """Rates at which the chain leaves the good and the bad state, per ms or per packet."""
        if self.good_ms is not None and self.bad_ms is not None:
            return 1 / self.good_ms, 1 / self.bad_ms
        return self.p or 0.0, self.r or 0.0

    @property
    def bad_share(self) -> float:
        """Share of time or packets in the bad state, in the long run."""
        good, bad = self.rates
        return good / (good + bad)

    @property
    def loss(self) -> float:
        """Share of packets lost, in the long run."""
        return self.bad_share * self.loss_bad + (1 - self.bad_share) * self.loss_good

    def describe(self) -> str:
        losses = f"{plain(self.loss_good * 100)}/{plain(self.loss_bad * 100)} % good/bad"
        if self.good_ms is not None and self.bad_ms is not None:
            return f"Gilbert-Elliott {plain(self.good_ms)}/{plain(self.bad_ms)} ms, {losses}"
        good, bad = self.rates
        return f"Gilbert-Elliott p {plain(good)}, r {plain(bad)} per packet, {losses}"

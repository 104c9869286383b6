"""A network: what the emulated link is asked to be, per direction."""

from typing import Literal, Self

from msgspec import Struct, structs

from dragstrip.model.units import (
    UnitError,
    parse_duration_ms,
    parse_rate_mbps,
    parse_share,
    plain,
)

ETHERNET_MTU = 1500


class Direction(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One direction of a link. Stages: see `Network`."""

    rate_mbps: float | None = None
    """Bottleneck rate in Mbit/s of IP bytes (layer 3); None leaves the direction unlimited."""
    delay_ms: float = 0.0
    """Propagation delay, one way."""
    loss: float = 0.0
    """Probability that a packet is lost at random (Bernoulli), 0..1."""
    queue_ms: float | None = None
    """Droptail depth as time at the direction's rate; None is an unbounded queue."""

    def __post_init__(self) -> None:
        if self.rate_mbps is not None and self.rate_mbps <= 0:
            raise ValueError("rate_mbps must be above zero, or left out for an unlimited link")
        if not 0 <= self.loss <= 1:
            raise ValueError("loss is a share between 0 and 1")
        if self.delay_ms < 0:
            raise ValueError("delay_ms must not be negative")
        if self.queue_ms is not None and self.queue_ms <= 0:
            raise ValueError("queue_ms must be above zero, or left out for an unbounded queue")


class Network(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A named link between browser and origin.

    The order of the stages is part of the network. Random loss sits at the client's end, as in
    wolsing2019 section 3: downstream a packet passes queue and rate, then the delay, then loss;
    upstream it meets loss first, then queue and rate, then the delay.
    """

    name: str
    down: Direction
    up: Direction
    source: str = "given on the command line"

    @property
    def rtt_ms(self) -> float:
        """Round trip without queueing or serialisation."""
        return self.down.delay_ms + self.up.delay_ms

    @property
    def two_way_loss(self) -> float:
        """Probability that a packet or its answer is lost."""
        return 1 - (1 - self.down.loss) * (1 - self.up.loss)

    def describe(self) -> str:
        """Values per direction and, as every output must, the round trip and two-way loss."""

        def rate(direction: Direction) -> str:
            limit = direction.rate_mbps
            return "unlimited" if limit is None else f"{plain(limit)} Mbit/s"

        def queue(direction: Direction) -> str:
            return "unbounded" if direction.queue_ms is None else f"{plain(direction.queue_ms)} ms"

        return (
            f"down {rate(self.down)}, up {rate(self.up)}; one-way delay "
            f"{plain(self.down.delay_ms)}/{plain(self.up.delay_ms)} ms (round trip "
            f"{plain(self.rtt_ms)} ms); loss {plain(self.down.loss * 100)}/"
            f"{plain(self.up.loss * 100)} % (two-way {plain(self.two_way_loss * 100)} %); "
            f"droptail queue {queue(self.down)}/{queue(self.up)}"
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """``down/up/one-way delay/loss/queue``, like ``10.5mbit/2.8mbit/37ms/0%/200ms``.

        Delay, loss and queue hold for each direction. Raises `UnitError`.
        """
        parts = text.split("/")
        if len(parts) != 5:
            raise UnitError(
                f"{text!r} is not a network: give a known name or down/up/delay/loss/queue, "
                "like 10.5mbit/2.8mbit/37ms/0%/200ms"
            )
        down, up, delay, loss, queue = parts
        both = Direction(
            delay_ms=parse_duration_ms(delay),
            loss=parse_share(loss),
            queue_ms=None if queue.strip() == "unbounded" else parse_duration_ms(queue),
        )
        return cls(
            name=text,
            down=structs.replace(both, rate_mbps=parse_rate_mbps(down)),
            up=structs.replace(both, rate_mbps=parse_rate_mbps(up)),
        )


Side = Literal["down", "up"]

"""The stacks between two stacks: one property changed at a time, in every order that can be built.

A property that differs is a factor. A stack between A and B has some factors from B and the others
from A. Not every such stack exists: QUIC has no TLS records, and a held response can lengthen a
short handshake but not shorten a long one. Properties that cannot change alone, above all the
protocol, change together in one step, called the rest. The rest's effect is what the other factors
do not explain.

For QUIC, properties that only TCP has get their nearest equivalents: TLS records of one packet,
because QUIC decrypts packet by packet; no slow start after idleness; large buffers.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from msgspec import Struct, structs

from dragstrip.model.errors import InputError
from dragstrip.model.orders import FactorSet, find_orders
from dragstrip.model.servers import OURS, known
from dragstrip.model.stack import LIKE_TCP, Stack, absent


class Factor(Struct, frozen=True):
    name: str
    words: str
    fields: tuple[str, ...] = ()
    """Fields of `Stack` that the factor changes; empty for factors outside the stack."""


REST = Factor("rest", "protocol and implementation", ("protocol",))
LOSS = Factor("loss", "loss recovery")
"""The network's random loss, which can be on or off."""
NAMES = Factor("names", "look-ups of names")
"""The network's resolver, without which names resolve at once."""
CONDITIONS = (LOSS, NAMES)
"""Factors of the network, which both stacks meet."""
HANDSHAKE = Factor("handshake", "handshake round trips", ("hold_rtts",))
_TCP = Factor(
    "tcp",
    "TCP's idle restart and buffers",
    ("slow_start_after_idle", "buffer_bytes", "receive_window_packets", "unsent_bytes"),
)
FACTORS = (
    Factor("window", "initial window", ("initial_window_packets",)),
    Factor("pacing", "pacing", ("pacing",)),
    Factor("congestion", "congestion control", ("congestion",)),
    Factor("slow-start-exit", "slow-start exit", ("slow_start_exit",)),
    Factor("ecn", "ECN", ("ecn",)),
    Factor("records", "TLS records", ("tls_record",)),
    _TCP,
    Factor("tls", "TLS version", ("tls",)),
    HANDSHAKE,
    Factor("key-exchange", "key exchange", ("post_quantum", "key_share")),
    Factor("certificate-kind", "keys and signatures of certificates", ("certificate",)),
    Factor("chain-length", "certificates in the chain", ("chain_length",)),
    Factor("staple", "SCTs and OCSP staple", ("scts", "staple_bytes")),
    Factor("certificate-compression", "compression of certificates", ("certificate_compression",)),
    Factor("retry", "Retry", ("retry",)),
    Factor("timeouts", "timeouts of the client", ("handshake_timeout_s", "idle_timeout_s")),
    Factor("ech", "Encrypted Client Hello", ("ech",)),
    Factor("resumption", "session resumption", ("resumption",)),
    Factor("fast-open", "TCP Fast Open", ("fast_open",)),
    Factor("early-data", "early data", ("early_data",)),
    Factor("datagram", "datagram size", ("udp_payload_bytes", "udp_start_bytes")),
    Factor("acks", "acknowledgements asked for", ("ack_every_packets",)),
    Factor("migration", "connection migration", ("migration",)),
    Factor("header-table", "QPACK's dynamic table", ("qpack_table_bytes",)),
    Factor("flow-control", "flow-control window", ("flow_window_bytes",)),
    Factor("streams", "requests at once", ("streams_at_once",)),
    Factor("turns", "turns of equal answers", ("interleave_bytes",)),
    Factor("certificates", "certificate size", ("certificate_bytes",)),
    Factor("coding", "content coding", ("compress",)),
    Factor("priorities", "priorities", ("priorities",)),
    Factor("early-hints", "Early Hints", ("early_hints",)),
    Factor("websockets", "WebSockets", ("websockets",)),
    Factor("discovery", "discovery", ("discovery",)),
    Factor("server", "server", ("server", "brought")),
    Factor("browser", "browser", ("browser",)),
)
KNOWN: Mapping[str, Factor] = {f.name: f for f in (*FACTORS, *CONDITIONS, REST)}
_REPEAT_ONLY = ("resumption", "fast-open", "early-data")
"""Factors without effect on a first visit."""
_LIKE_QUIC: Mapping[str, Any] = {
    "fast_open": False,
    "tls_record": 1369,
    "slow_start_after_idle": False,
    "buffer_bytes": 15 * 2**20,
    "receive_window_packets": 64,
    "unsent_bytes": 1,
    "interleave_bytes": 1360,
    "websockets": "beside",
}


class Bridge(Struct, frozen=True, kw_only=True):
    """The two stacks whose difference a study attributes. `BuiltBridge` computes the stacks between
    the two, always the same ones."""

    a: Stack
    b: Stack
    factors: tuple[str, ...] = ()
    """Names of the factors to distinguish; all other factors change together. Empty means that all
    are distinguished."""
    repeat: bool = False
    """Whether any visit is a repeat visit."""
    most: int = 32
    """Most stacks for which every order is used; with more, orders are sampled."""
    seed: int = 0
    """Seed of the sampled orders."""
    twins: Mapping[str, str] = {}
    """Name of the copy of a network without loss, by the name of the network with random loss."""
    nameless: Mapping[str, str] = {}
    """Name of the copy of a network without a resolver, by the name of the network with one, or of
    its copy without loss."""

    def tells(self, condition: Factor) -> bool:
        """Whether a condition of the network is to be distinguished."""
        return not self.factors or condition.name in self.factors

    def without(self, network: str) -> Mapping[frozenset[str], str]:
        """Return the network and its copies, by the names of the conditions that each still has.
        Only conditions that a copy lacks count."""
        clear = self.twins.get(network)
        lossy = [(frozenset[str](), network)]
        if clear:
            lossy = [(frozenset({LOSS.name}), network), (frozenset[str](), clear)]
        if network not in self.nameless:
            return dict(lossy)
        found = {on | {NAMES.name}: name for on, name in lossy}
        return found | {on: self.nameless[name] for on, name in lossy}

    @property
    def copies(self) -> frozenset[str]:
        """Names of all networks that are copies of others."""
        return frozenset({*self.twins.values(), *self.nameless.values()})


class BuiltBridge:
    """The stacks between A and B that can be built, and the orders from A to B.

    The keys of `stacks` are the factors taken from B. `players` are the factors to distinguish,
    plus `REST` last if anything else differs.

    Raises `InputError` for a factor that is unknown or does not differ, and for stacks whose
    differences can only be changed together.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.a, self.b, self._repeat = bridge.a, bridge.b, bridge.repeat
        self.stacks: Mapping[FactorSet, Stack] = {}
        self._built: dict[FactorSet, Stack | None] = {}
        """Cache of built stacks, by the factors taken from B."""
        self.players: tuple[Factor, ...] = ()
        self._source = f"between {self.a.name} and {self.b.name}"
        self._with_server = _with_server(self.a, self.b)
        differing = [f for f in FACTORS if self._differ(f)]
        _check(bridge, differing)
        asked = [f for f in differing if not bridge.factors or f.name in bridge.factors]
        for merged in _subsets(asked):
            self._play([f for f in asked if f not in merged])
            self.orders = find_orders(self.stacks, self.whole, bridge.most, bridge.seed)
            if self.orders.total:
                break
        used = self.orders.nodes()
        self.stacks = {node: stack for node, stack in self.stacks.items() if node in used}
        self.bundled = tuple(f for f in differing if f not in self.players)
        """Factors that change together with the rest."""
        if asked and self.players in ((), (REST,)):
            words = ", ".join(f.words for f in differing)
            raise InputError(
                f"{self.a.name} and {self.b.name} cannot be bridged: {words} can only be changed "
                "together"
            )

    def _play(self, players: list[Factor]) -> None:
        self.players = tuple(players)
        whole = self._build(frozenset(f.name for f in players))
        if not players or whole is None or whole.fingerprint != self.b.fingerprint:
            self.players = (*players, REST)
        self.whole: FactorSet = frozenset(f.name for f in self.players)
        built = {node: self._build(node) for node in _nodes(self.whole)}
        self.stacks = {
            node: structs.replace(s, name=self.name(node)) for node, s in built.items() if s
        }

    def name(self, node: FactorSet) -> str:
        """Return the name of the stack for a node: ``h2``, ``h2 +window +pacing``, ``h3
        -handshake``, ``h3``."""
        if not node or node == self.whole:
            return (self.b if node else self.a).name
        names = [f.name for f in self.players if f is not REST]
        if REST.name in node:
            return " ".join([self.b.name, *(f"-{name}" for name in names if name not in node)])
        return " ".join([self.a.name, *(f"+{name}" for name in names if name in node)])

    def _differ(self, factor: Factor) -> bool:
        if factor is HANDSHAKE:
            return _rounds(self.a) != _rounds(self.b)
        if factor.name in _REPEAT_ONLY and not self._repeat:
            return False
        if self._with_server.issuperset(factor.fields):
            return False
        return any(self._value(f, as_b=False) != self._value(f, as_b=True) for f in factor.fields)

    def _value(self, field: str, *, as_b: bool) -> Any:
        """Return the field's value in A or B. If that stack's transport lacks the field, return its
        nearest equivalent."""
        source = self.b if as_b else self.a
        if field in absent(source.protocol):
            return LIKE_TCP[field] if source.transport == "tcp" else _LIKE_QUIC[field]
        return source.record if field == "tls_record" else getattr(source, field)

    def _build(self, node: FactorSet) -> Stack | None:
        """Build the stack with these factors from B; None if it cannot exist."""
        from_b = frozenset(
            f.name for f in (*FACTORS, REST) if (f if f in self.players else REST).name in node
        )
        if from_b not in self._built:
            self._built[from_b] = self._between(from_b)
        return self._built[from_b]

    def _between(self, from_b: FactorSet) -> Stack | None:
        with_rest = REST.name in from_b
        side = self.b if with_rest else self.a
        missing = absent(side.protocol)
        values: dict[str, Any] = {"protocol": side.protocol}
        for factor in (f for f in FACTORS if f is not HANDSHAKE):
            as_b = factor.name in from_b
            for field in factor.fields:
                if field not in missing:
                    values[field] = self._value(field, as_b=as_b)
                elif as_b != with_rest:
                    return None
        server = values["brought"] or known()[values["server"]]
        theirs = side
        if self.a.serving != self.b.serving:
            theirs = self.a if server == self.a.serving else self.b
        for field in self._with_server & set(values):
            values[field] = getattr(theirs, field)
        if values.get("tls_record") == server.tls_record:
            values["tls_record"] = None
        rounds = _rounds(self.b if HANDSHAKE.name in from_b else self.a)
        for free in self._free(from_b):
            try:
                stack = Stack(name="", source=self._source, **(values | free))
                return structs.replace(stack, hold_rtts=rounds - _rounds(stack))
            except ValueError:
                continue
        return None

    def _free(self, from_b: FactorSet) -> Iterator[dict[str, Any]]:
        """Yield values for the fields that have no effect on first visits: B's, then A's, because
        the server may allow only one of them."""
        if self._repeat:
            yield {}
            return
        for stack in (self.b, self.a) if from_b else (self.a,):
            yield {"early_data": stack.early_data, "resumption": stack.resumption}


def _with_server(a: Stack, b: Stack) -> set[str]:
    """Return the fields that change with the server: those that either stack's server decides
    itself. TLS records are among them unless one server is our origin, which alone can set them."""
    decided = {name for stack in (a, b) for name in stack.own}
    if OURS not in (a.server, b.server):
        decided.add("tls_record")
    return decided


def _check(bridge: Bridge, differing: list[Factor]) -> None:
    for name in bridge.factors:
        if name not in KNOWN or name == REST.name:
            known = ", ".join(f.name for f in (*FACTORS, *CONDITIONS))
            raise InputError(f"unknown factor {name!r}; choose from {known}")
        if KNOWN[name] not in (*differing, *CONDITIONS):
            do = ", ".join(f.name for f in differing) or "none"
            raise InputError(
                f"{bridge.a.name} and {bridge.b.name} do not differ in {name}; they do in: {do}"
            )


def _rounds(stack: Stack) -> int:
    """Return the round trips before a connection's first answer can begin, early data aside."""
    return stack.connect_rtts(repeat=False) + stack.hold_rtts


def _nodes(names: Iterable[str]) -> Iterator[FactorSet]:
    """Yield every subset of the names, small ones first."""
    ordered = sorted(names)
    for size in range(len(ordered) + 1):
        yield from map(frozenset, combinations(ordered, size))


def _subsets(factors: list[Factor]) -> Iterator[tuple[Factor, ...]]:
    """Yield every subset, small ones first. Among subsets of equal size, those with factors that
    tend to depend on others come first."""
    ordered = sorted(factors, key=lambda f: FACTORS.index(f), reverse=True)
    for size in range(len(ordered) + 1):
        yield from combinations(ordered, size)

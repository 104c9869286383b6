"""Makes a study of the stacks that lie between two stacks. It attributes the difference between the
two to single properties."""

from collections.abc import Collection, Sequence

from msgspec import structs

from dragstrip.model.bridge import LOSS, NAMES, REST, Bridge, BuiltBridge
from dragstrip.model.effects import Direction
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.steps import LinkChange
from dragstrip.model.study import CellKey, Stopping, Study
from dragstrip.study.controls import controls_of

RUNS = 31
"""Most blocks per cell; most cells are decided earlier."""
STOPPING = Stopping(looks=(5, 8, 12, 17, 23), margin=0.02, spending="Pocock")
"""Rule for stopping a cell: every factor's share is shown to differ from zero, or to be within 2 %.
The printed interval decides: Student's t of a mean, which five blocks have at every level."""


def bridge_study(
    study: Study,
    a: Stack,
    b: Stack,
    *,
    factors: Sequence[str] = (),
    runs: int = RUNS,
    cells: Collection[CellKey] = (),
    controls: bool = True,
) -> Study:
    """Return a study like `study` with the stacks between `a` and `b`, on all its cells or on
    `cells`.

    Networks with random loss are also visited without loss, and those with a resolver also without
    it, unless a stack finds HTTP/3 by it. Raises `InputError` if there is no stack between the two.
    """
    if a.name == b.name:
        raise InputError(f"stack {a.name!r} is given twice: a difference needs two stacks")
    bridge = Bridge(
        a=a,
        b=b,
        factors=tuple(factors),
        repeat=any(connection != "first" for connection in study.connections),
        seed=study.seed,
    )
    wanted = tuple(cells) or tuple(study.cells())
    networks = [n for n in study.networks if any(cell[1] == n.name for cell in wanted)]
    twins = {n.name: without_loss(n) for n in networks if bridge.tells(LOSS) and _loses(n)}
    built = BuiltBridge(bridge)
    asks = [n for n in (*networks, *twins.values()) if n.resolver and bridge.tells(NAMES)]
    need = any(stack.announced for stack in built.stacks.values())
    nameless = {} if need else {n.name: without_names(n) for n in asks}
    copies = [*twins.values(), *nameless.values()]
    _check_worth(built, copies, factors)
    bridge = structs.replace(
        bridge,
        twins={n: twin.name for n, twin in twins.items()},
        nameless={n: copy.name for n, copy in nameless.items()},
    )
    return structs.replace(
        study,
        name=f"why-{a.name}-{b.name}",
        pages=tuple(p for p in study.pages if any(cell[0] == p.name for cell in wanted)),
        networks=(*networks, *copies),
        stacks=tuple(built.stacks.values()),
        controls=controls_of((a,)) if controls else (),
        only=tuple(
            (page, network, connection)
            for page, asked, connection in wanted
            for network in bridge.without(asked).values()
        ),
        runs=runs,
        stopping=STOPPING,
        slow=None,
        bridge=bridge,
    )


def without_loss(network: Network) -> Network:
    """Return the network without random loss, including on the paths of single hosts."""

    def only(direction: Direction) -> Direction:
        hosts = tuple(structs.replace(host, loss=0.0) for host in direction.hosts)
        return structs.replace(direction, loss=0.0, gilbert_elliott=None, hosts=hosts)

    return structs.replace(
        network,
        name=f"{network.name} without loss",
        down=only(network.down),
        up=only(network.up),
        source=f"{network.name} without its random loss",
        at=tuple(
            structs.replace(step, down=_lossless(step.down), up=_lossless(step.up))
            for step in network.at
        ),
    )


def without_names(network: Network) -> Network:
    """Return the network without its resolver."""
    return structs.replace(
        network,
        name=f"{network.name} without look-ups",
        source=f"{network.name} without its resolver",
        dns=None,
    )


def _lossless(change: LinkChange | None) -> LinkChange | None:
    if change is None or not {"loss", "gilbert_elliott"} & change.values.keys():
        return change
    return structs.replace(change, loss=0.0, gilbert_elliott=None)


def _loses(network: Network) -> bool:
    sides = [side for phase in network.phases for side in (phase.down, phase.up)]
    return any(side.mean_loss or any(host.loss for host in side.hosts) for side in sides)


def _check_worth(built: BuiltBridge, copies: Collection[Network], factors: Collection[str]) -> None:
    a, b = built.a, built.b
    alone = built.players == (REST,) and a.fingerprint != b.fingerprint and not copies
    if alone and factors:
        raise InputError(
            f"no network here can be raced without {' or '.join(factors)}: choose another network, "
            "or other factors"
        )
    if alone:
        raise InputError(
            f"{a.name} and {b.name} differ only in the protocol, which cannot be split: compare "
            "them with `dragstrip race`"
        )

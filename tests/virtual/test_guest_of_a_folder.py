"""A guest's visits do not depend on the files in its capsule."""

from pathlib import Path

from dragstrip.execution.guest.session import guest_session
from dragstrip.execution.orders import VisitOrder
from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Client, Study
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from made_replays import LOSSY


def study(cache: Path) -> Study:
    return StudySpec(
        name="virtual",
        pages=["synth:12x8KB"],
        networks=[find_network(LOSSY)],
        stacks=[find_stack("h2"), find_stack("h3")],
        runs=2,
        seed=3,
        client=Client(frames=True, qlog=True, pcap=True),
        clock=NETWORK,
    ).resolve(cache)


def made(of: Study, capsule: Path) -> dict[str, bytes]:
    """A block that visits h2 before h3."""
    [block] = [block for block in of.blocks() if block.index == 1]
    assert block.order == ("h2", "h3")
    with guest_session(of, capsule) as visit:
        for stack in block.order:
            visit(VisitOrder(block=block, attempt=0, stack=stack))
    return {
        str(file.relative_to(capsule)): file.read_bytes()
        for kind in ("pcap", "qlog")
        for file in (capsule / kind).iterdir()
    }


def test_neither_folders_nor_files_of_an_attempt_that_died_matter(tmp_path):
    of = study(tmp_path / "pages")
    new, used = tmp_path / "new", tmp_path / "used"
    new.mkdir()
    first = made(of, new)
    assert len(first) >= 6, "packets, keys and qlog of both visits"
    for name in first:
        stale = used / name
        stale.parent.mkdir(parents=True, exist_ok=True)
        stale.write_bytes(b"cut off")
    assert made(of, used) == first

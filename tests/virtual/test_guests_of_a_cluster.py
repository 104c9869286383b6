"""A race in virtual time gives the same visits and files on a cluster as on one machine."""

from pathlib import Path

from dask_processes import dask_processes
from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Client, Study
from dragstrip.results.capsule import JOURNAL, Capsule
from dragstrip.study.clients import loaded_by
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from made_replays import LOSSY

OF_VISITS = ("har", "frames", "qlog", "pcap")


def study(cache: Path, loaded: str = "browser") -> Study:
    return StudySpec(
        name="virtual",
        pages=["synth:12x8KB"],
        networks=[find_network(LOSSY)],
        stacks=loaded_by([find_stack("h2"), find_stack("h3")], loaded),
        runs=3,
        seed=3,
        client=Client(frames=loaded == "browser", qlog=True, pcap=True),
        clock=NETWORK,
    ).resolve(cache)


def contents(capsule: Path) -> dict[str, bytes]:
    kept = {
        str(file.relative_to(capsule)): file.read_bytes()
        for folder in OF_VISITS
        for file in (capsule / folder).glob("*")
    }
    lines = sorted((capsule / JOURNAL).read_bytes().splitlines())
    return kept | {f"visit {number}": line for number, line in enumerate(lines)}


def test_a_cluster_makes_the_files_of_a_plain_run(tmp_path):
    of = study(tmp_path / "pages")
    make_visits(of, tmp_path / "plain", RunOptions(jobs=2))
    with dask_processes(tmp_path / "dask", 2) as dask:
        make_visits(of, tmp_path / "cluster", RunOptions(cluster=dask.address))
    plain, cluster = contents(tmp_path / "plain"), contents(tmp_path / "cluster")
    assert plain.keys() == cluster.keys()
    assert [name for name in plain if plain[name] != cluster[name]] == []
    assert {name.partition("/")[0] for name in plain} >= {"har", "frames", "qlog", "pcap"}
    [start] = Capsule.open(tmp_path / "cluster").manifest.starts
    [machine] = start.admitted
    assert machine.browsers.keys() == {"h2", "h3"}
    assert start.browser_version == machine.browsers["h2"]
    assert start.guest == machine.guest != ""


def test_the_load_generator_makes_the_same_on_a_cluster(tmp_path):
    of = study(tmp_path / "pages", "loader")
    make_visits(of, tmp_path / "plain")
    with dask_processes(tmp_path / "dask", 1) as dask:
        make_visits(of, tmp_path / "cluster", RunOptions(cluster=dask.address))
    plain, cluster = contents(tmp_path / "plain"), contents(tmp_path / "cluster")
    assert plain == cluster

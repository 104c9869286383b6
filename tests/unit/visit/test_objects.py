"""Times of single objects as metrics."""

import pytest
from msgspec import structs

import made
from dragstrip.cli import app, exits
from dragstrip.model.errors import InputError
from dragstrip.results.capsule import Capsule
from dragstrip.results.manifest import Manifest
from dragstrip.results.observed import observed
from dragstrip.visit.objects import find_metric
from made_capsule import START, capsule, study

URL = "https://a.test/css/late.css?v=2"


def with_object(end_ms=300.0, **changes):
    seen = made.request(URL, "h2", 100.0)
    seen = structs.replace(seen, response_start_ms=200.0, end_ms=end_ms, **changes)
    return structs.replace(made.visit(), requests=(seen,))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("object:/css/late.css:start", 100.0),
        ("object:/css/late.css:first-byte", 200.0),
        ("object:/css/late.css:end", 300.0),
        ("object:/css/late.css:took", 200.0),
        ("object:/css/late.css?v=2:end", 300.0),
        ("object:/css/late.css?v=3:end", None),
        (f"object:{URL}:end", 300.0),
        ("object:https://b.test/css/late.css?v=2:end", None),
        ("object:/late.css:end", None),
    ],
)
def test_an_object_is_found_by_path_or_url(name, value):
    metric = find_metric(name)
    assert metric.measure(with_object(), made.LTE, made.STACKS["h2"]) == value
    assert (metric.name, metric.unit) == (name, "ms")


def test_the_first_answer_that_came_counts():
    visit = with_object()
    broken = structs.replace(visit.requests[0], error="net::ERR_FAILED", end_ms=150.0)
    visit = structs.replace(visit, requests=(broken, *visit.requests))
    metric = find_metric("object:/css/late.css:end")
    assert metric.measure(visit, made.LTE, made.STACKS["h2"]) == 300.0


@pytest.mark.parametrize("name", ["object:", "object:/a.css", "object:a.css:end", "object:/a:last"])
def test_what_names_no_object_is_answered_with_an_example(name):
    with pytest.raises(InputError, match="object:/PATH:end"):
        find_metric(name)


def timed(folder, ends, **changes):
    """A capsule whose visits fetched the object by these times; None is a load that never did."""
    of = study(**changes)
    with Capsule.create(folder, Manifest(study=of, starts=(START,))) as made_:
        for plain in capsule(folder.with_name(folder.name + "-plain"), {"h2": ends}).visits():
            end_ms = ends[plain.seed]
            found = with_object(end_ms=end_ms).requests if end_ms else ()
            made_.append(structs.replace(plain, requests=found))
            made_.append(structs.replace(plain, requests=found, stack="h3"))
    return folder


ENDS = [300.0, 310.0, 290.0, 305.0, 295.0, 300.0, 302.0, 298.0]


def test_an_object_of_any_capsule_is_compared_and_gated(tmp_path, capfd):
    a = timed(tmp_path / "a", ENDS)
    b = timed(tmp_path / "b", [1.2 * end for end in ENDS])
    words = ("--metric", "object:/css/late.css:end", "--fail-if")
    slower = "object:/css/late.css:end slower > 5%"
    code = app(["compare", str(a), str(b), *words, slower], standalone_mode=False)
    assert code == exits.FAILED_CONDITION
    assert "1.200" in capfd.readouterr().err


def test_a_study_keeps_its_objects_in_its_table(tmp_path):
    name = "object:/css/late.css:end"
    folder = timed(tmp_path / "a", [300.0, None], metrics=(name,))
    found = Capsule.open(folder)
    of = found.manifest.study
    [cell] = observed(of, made.table(of, found.visits()))
    seen = cell.of("h2", name)
    assert seen.values.tolist() == [300.0, 10_000.0]
    assert seen.censored.tolist() == [False, True], "the load that timed out never had it"

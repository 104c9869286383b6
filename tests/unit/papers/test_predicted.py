"""The load generator's answers to claims: marked, open where it cannot know, and never mixed."""

import msgspec
import polars as pl
import pytest
from msgspec import structs
from test_overall_answers import row, run
from typer.testing import CliRunner

import made_capsule
from dragstrip.cli import app
from dragstrip.model.clock import NETWORK
from dragstrip.model.errors import InputError
from dragstrip.study.clients import study_by
from dragstrip.study.loader_error import predicted
from dragstrip_papers.answer import Answer
from dragstrip_papers.answers.findings import Findings, findings
from dragstrip_papers.answers.predicted import NO_SHARE, PAINTED, without_paint, without_shares
from dragstrip_papers.answers.ran import ran_in
from dragstrip_papers.campaign.clients import by_client, check_client, client_of, makeable
from dragstrip_papers.campaign.plan import campaign
from dragstrip_papers.campaign.space import reach, space
from dragstrip_papers.claims import KNOWN, published
from dragstrip_papers.compare import Ratio
from dragstrip_papers.evidence import METRICS, nothing
from dragstrip_papers.measured import Evidence
from dragstrip_papers.overall.campaign import campaigns
from dragstrip_papers.overall.given import of_folder
from dragstrip_papers.report import overall
from dragstrip_papers.report.catalogue import Sources, drawn
from dragstrip_papers.report.claims import markdown, page, write
from dragstrip_papers.shares import FasterShare
from made_loads import as_if_run


def capsule(folder, client, **changes):
    study = structs.replace(study_by(made_capsule.study(), client), **changes)
    return made_capsule.capsule(folder, {"h2": [1000.0] * 5, "h3": [900.0] * 5}, of=study).path


def answered(key, folder, share=12) -> Findings:
    """Findings as if the load generator had run every `share`-th cell."""
    paper = published(key)
    specs = by_client(paper.specs(), "loader")
    evidence = without_paint(Evidence(as_if_run(space(specs)[::share])))
    return findings(paper, specs, ran_in([capsule(folder, "loader")], evidence.loads), evidence)


@pytest.mark.parametrize("key", KNOWN)
def test_page_text_and_data_say_that_the_load_generator_predicted_them(key, tmp_path):
    found = answered(key, tmp_path)
    assert found.client == "loader"
    assert predicted() in markdown(found)
    assert predicted() in page(found, [])
    assert msgspec.json.decode(msgspec.json.encode(found))["predicted"] == predicted()
    for claim in found.claims:
        assert claim.near.words().startswith("predicted") == bool(claim.near.run)


@pytest.mark.parametrize("key", ["cook2017", "wolsing2019"])
def test_figures_say_so_and_draw_no_paint(key):
    paper = published(key)
    specs = by_client(paper.specs(), "loader")
    loads = without_paint(Evidence(as_if_run(space(specs)[::24])))
    figures = drawn(Sources(paper=paper, evidence=loads, stacks=paper.stacks(specs)))
    assert figures
    assert all(predicted() in figure.caption for figure in figures)


def test_a_browsers_answers_do_not_mention_it(tmp_path):
    paper = published("ranjan2019")
    made = [capsule(tmp_path, "browser")]
    found = findings(paper, paper.specs(), ran_in(made, nothing()), Evidence(nothing()))
    assert (found.client, found.predicted) == ("browser", "")
    assert "load generator" not in markdown(found) + page(found, [])


@pytest.mark.parametrize("key", KNOWN)
def test_what_is_drawn_computed_or_cached_stays_open_with_its_reason(key, tmp_path):
    found = {c.id: c for c in answered(key, tmp_path, share=3).claims}
    paper = published(key)
    cells = space(paper.specs())
    for claim in paper.claims:
        text = msgspec.json.encode(claim.predicate).decode()
        told = found[claim.id]
        if any(f'"{name}"' in text for name in PAINTED):
            assert told.verdict in ("open", "not testable", "derived")
            assert not told.ours
            assert claim.derived or "paints nothing" in told.why or "stand-ins" in told.why
        elif claim.predicate and "repeat-cached" in {*reach(claim.predicate, cells)["connection"]}:
            assert (told.verdict, told.ours) == ("open", "")
            assert "computes nothing" in told.why or "no cache" in told.why


def test_round_trips_of_tls_1_2_stay_open_because_another_version_is_loaded(tmp_path):
    found = {c.id: c for c in answered("literature", tmp_path, share=1).claims}
    told = found["literature-78"]
    assert (told.verdict, told.ours) == ("open", "")
    assert "TLS 1.2 with TCP-TLS1.2" in told.why
    assert found["literature-79"].verdict != "open"


def test_what_the_network_decides_is_answered(tmp_path):
    counted = answered("megyesi2016", tmp_path, share=1).verdicts
    assert counted["reproduced"] + counted["contradicted"] > 3


def test_a_share_of_cells_has_a_direction_and_no_size():
    share = FasterShare(a="QUIC", than=["h2"], at_least=0.7, at_most=0.85)
    far = Answer(verdict="contradicted", direction="reproduced", size="contradicted", ours="0.97")
    found = without_shares(share, far)
    assert (found.verdict, found.direction, found.size) == ("reproduced", "reproduced", "open")
    assert found.why == NO_SHARE
    ratio = Ratio(a="h2", b="QUIC", at_most=0.9)
    assert without_shares(ratio, far) == far
    undecided = structs.replace(far, verdict="open", direction="open", size="open")
    assert without_shares(share, undecided) == undecided


def test_a_load_that_never_ended_has_no_paint():
    loads = pl.DataFrame({"censored": [True], **{name: [60_000.0] for name in METRICS}})
    left = without_paint(Evidence(loads)).loads.row(0, named=True)
    assert {name for name, value in left.items() if value is None} == set(PAINTED)


def test_the_load_generator_takes_no_pictures_and_has_no_cache():
    whole = by_client(published("cook2017").specs(), "loader")
    drawing = by_client(published("wolsing2019").specs(), "loader")
    assert all(s.loaded_by.follows_graphs for o in (*whole, *drawing) for s in o.stacks)
    made = makeable([*whole, *drawing], "loader")
    assert not any("repeat-cached" in o.connections or o.client.frames for o in made)
    assert makeable(whole, "browser") == whole


def test_visits_of_both_clients_are_never_evidence_together(tmp_path):
    ours, other = capsule(tmp_path / "a", "loader"), capsule(tmp_path / "b", "browser")
    assert (client_of([ours]), client_of([other]), client_of([])) == ("loader",) + ("browser",) * 2
    with pytest.raises(InputError, match="no evidence together"):
        ran_in([ours, other], nothing())
    check_client([ours], "loader")
    check_client([other], "browser")
    check_client([], "loader")
    with pytest.raises(InputError, match="add --client loader, or another --out"):
        check_client([ours], "browser")
    with pytest.raises(InputError, match="leave out --client loader"):
        check_client([other], "loader")


def test_old_protocols_cannot_be_predicted():
    asked = ["reproduce", "megyesi2016", "--native", "--client", "loader", "--dry-run"]
    done = CliRunner().invoke(app, asked, standalone_mode=False)
    assert isinstance(done.exception, InputError)
    assert "--native with --client loader" in str(done.exception)


def test_predictions_have_a_separate_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for extra in ([], ["--virtual"]):
        asked = ["reproduce", "ranjan2019", "--client", "loader", "--minutes", "0", *extra]
        done = CliRunner().invoke(app, asked, standalone_mode=False)
        assert done.exception is None
    names = {folder.name for folder in (tmp_path / "capsules").iterdir()}
    assert names == {"ranjan2019-loader", "ranjan2019-virtual-loader"}


def test_its_answers_are_a_separate_source_and_kept_from_virtual_time_only(tmp_path):
    paper = published("ranjan2019")
    for clock, folder in ((NETWORK, tmp_path / "v"), (None, tmp_path / "r")):
        changes = {"clock": clock} if clock else {}
        made = capsule(folder / "ranjan2019", "loader", **changes)
        ran = ran_in([made], nothing())
        write(folder, findings(paper, paper.specs(), ran, Evidence(nothing())), [])
    given = of_folder(tmp_path / "v", "page", "command")
    assert given.way == "loader"
    with pytest.raises(InputError, match="run it with --virtual"):
        of_folder(tmp_path / "r", "page", "command")


def test_a_browsers_answer_wins_over_a_prediction_and_a_prediction_is_marked():
    ours, other = run("loader", "contradicted", loads=50), run("virtual", "reproduced", page="b")
    both = row(ours, other)
    assert (both.answer, both.way, set(both.sources)) == (
        "reproduced",
        "virtual",
        {"virtual", "loader"},
    )
    alone = row(ours)
    assert (alone.answer, alone.way) == ("contradicted", "loader")
    told = {found.answer: overall.page([found], []) for found in (both, alone)}
    assert "**contradicted**, predicted" in told["contradicted"]
    assert "**reproduced**, predicted" not in told["reproduced"]
    assert all(predicted() in text for text in told.values())


def test_more_cells_fit_into_a_time_where_only_computing_takes_any():
    paper = published("biswal2016")

    def cells(client, minutes, *, virtual):
        specs = by_client(paper.specs(), client)
        parts = campaign(paper, specs, "smoke", 60 * minutes, virtual=virtual)
        return sum(len(part.cells) for part in parts)

    assert cells("browser", 1, virtual=False) == 0 < cells("loader", 1, virtual=True)
    assert cells("browser", 10, virtual=False) < cells("browser", 10, virtual=True)


def test_a_predicted_campaign_is_one_command():
    (told,) = {c.name: c.commands() for c in campaigns() if c.way == "loader"}.values()
    assert told == [
        "dragstrip reproduce biswal2016 --virtual --client loader --study biswal2016 "
        "--scale paper --out capsules/biswal2016-loader"
    ]

"""The page that opens the results: short, and true to the answers it names."""

import re
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip_papers.overall.rows import Row
from dragstrip_papers.overall.summary import Sentence, facts, read

ROOT = next(p for p in Path(__file__).parents if (p / "pyproject.toml").exists())
RESULTS = ROOT / "docs" / "results"
ROWS = msgspec.json.decode((RESULTS / "papers.json").read_bytes(), type=list[Row])
KNOWN = {"cook2017-08": next(row for row in ROWS if row.id == "cook2017-08")}
TRUE = Sentence(
    text="43 times ([cook2017-08]({cook2017-08})), of {all}",
    rests_on={"cook2017-08": "reproduced"},
    quotes={"cook2017-08": ["43"]},
)


def test_a_sentence_gets_its_link_and_its_counts():
    assert TRUE.words(KNOWN, {"all": 7}) == (
        "43 times ([cook2017-08](cook2017-loss.md#cook2017-08)), of 7"
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rests_on": {"cook2017-08": "open"}}, "takes cook2017-08 to be open"),
        ({"quotes": {"cook2017-08": ["44"]}, "text": "44 {cook2017-08}"}, "quotes 44"),
        ({"quotes": {"cook2017-08": ["1.8"]}}, r"quotes 1\.8"),  # ours, and not in the text
        ({"text": "43 times"}, "does not link"),
    ],
)
def test_a_sentence_that_answers_no_longer_confirm_is_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        structs.replace(TRUE, **wrong).words(KNOWN, {"all": 7})


def test_numbers_may_be_rounded_or_in_percent():
    row = structs.replace(KNOWN["cook2017-08"], ours="-0.1362 [-0.15, -0.12]; 1e-3")
    for quoted in ("0.14", "14", "13.6", "0.001"):
        told = structs.replace(TRUE, text=f"{quoted} {{cook2017-08}}", quotes={row.id: [quoted]})
        assert told.words({row.id: row}, {}).startswith(quoted)


def test_decided_answers_are_counted_by_way_loads_and_rules():
    (row,) = KNOWN.values()
    first, late = (structs.replace(row.sources["browser"], frozen=f) for f in (True, False))
    row = structs.replace(row, sources={"browser": first})
    rows = [row, structs.replace(row, page="other", sources={"browser": late})]
    found = facts(rows, {"cook2017-loss"})
    counted = {name: found[name] for name in ("decided", "loader", "kept", "printed", "unfrozen")}
    assert counted == {"decided": 2, "loader": 0, "kept": 1, "printed": 1, "unfrozen": 1}
    assert found["browser"] == 2


def test_what_holds_in_its_direction_alone_is_counted():
    (row,) = KNOWN.values()
    half = structs.replace(row, direction="reproduced", size="not testable")
    found = facts([row, half, structs.replace(half, size="open")], set())
    assert (found["reproduced"], found["in_direction"]) == (3, 2)


def test_the_page_is_read_in_two_minutes_and_each_line_has_a_link():
    text = (RESULTS / "README.md").read_text()
    words = re.findall(r"\S*\w\S*", re.sub(r"\]\([^)]*\)", "]", text))
    assert len(words) <= 300
    facts_told = [line for line in text.splitlines() if line.startswith("- ")]
    assert all(re.search(r"\]\([\w./-]+\.md", line) for line in facts_told)
    assert all(re.search(r"\d", line) for line in facts_told)


def test_each_claim_on_the_page_is_checked():
    summary = read(RESULTS / "summary.toml")
    for sentence in (summary.lead, *(s for part in summary.section for s in part.sentence)):
        assert set(re.findall(r"\{(\w+-\d+)\}", sentence.text)) == set(sentence.rests_on)


def test_each_claim_on_the_page_is_two_clicks_from_its_loads():
    """The first opens the claim's row. The second is in that row, if the loads are kept."""
    text = (RESULTS / "README.md").read_text()
    links = re.findall(r"\]\(([\w-]+)\.md#(\w+-\d+)\)", text)
    assert len(links) >= 8
    for page, claim in links:
        anchor = f'<a id="{claim}"></a>'
        (row,) = [r for r in (RESULTS / f"{page}.md").read_text().splitlines() if anchor in r]
        kept = f"loads/{page}.parquet"
        assert (f"[loads]({kept})" in row) == (RESULTS / kept).exists()

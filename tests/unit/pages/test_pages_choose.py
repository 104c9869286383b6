"""One page of a recording that holds several."""

import pytest

from dragstrip.pages.format.recording import PageError, Recorded
from dragstrip.pages.importers.choose import choose, which
from dragstrip.pages.importers.contents import Contents, RecordedNavigation

ANSWERS = tuple(Recorded(url=f"https://a.test/{n}") for n in range(4))
CONTENTS = Contents(
    source="a test",
    exchanges=ANSWERS,
    navigations=(
        RecordedNavigation(url="https://a.test/0", title="Home", id="p0", exchanges=(0, 1)),
        RecordedNavigation(url="https://a.test/2", title="News", id="p2", exchanges=(2, 3)),
    ),
)


@pytest.mark.parametrize("wanted", ["2", "p2", "https://a.test/2", "News"])
def test_a_navigation_is_named_by_number_id_url_or_title(wanted):
    chosen = choose(CONTENTS, wanted, "x.warc")
    assert chosen.exchanges == [ANSWERS[2], ANSWERS[3]]
    assert chosen.start == "https://a.test/2"


def test_the_first_is_taken_and_the_others_are_listed():
    chosen = choose(CONTENTS, "", "x.warc")
    assert chosen.exchanges == [ANSWERS[0], ANSWERS[1]]
    assert chosen.changes == (
        "this is #1 of 2 documents in the recording that a visit may start at; x.warc#2 chooses "
        "another: #1 https://a.test/0 (Home), #2 https://a.test/2 (News)",
    )


def test_an_unknown_one_is_refused_with_what_there_is():
    with pytest.raises(PageError, match=r"no page 'x'; it holds #1 https://a.test/0 \(Home\), #2"):
        which(CONTENTS.navigations, "x")


def test_a_recording_of_one_page_has_no_second():
    one = Contents(source="a test", exchanges=ANSWERS)
    assert choose(one, "", "x").exchanges == ANSWERS
    assert choose(one, "", "x").changes == ()
    with pytest.raises(PageError, match="of one page"):
        choose(one, "2", "x")

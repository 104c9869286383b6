"""Secrets that a recording must not contain."""

from hypothesis import given
from hypothesis import strategies as st

from dragstrip.pages.format.recording import Recorded
from dragstrip.pages.importers.scrub import SECRET_PARAMETERS, scrub, scrub_url

LETTERS = st.text("abcXYZ09._-%", min_size=1, max_size=12)


def test_headers_and_parameters_are_crossed_out():
    answer = Recorded(
        url="https://a.test/p?id=7&Token=abc&sig=#f",
        initiator="https://a.test/?session=1",
        headers=(
            ("Set-Cookie", "a=1"),
            ("location", "/next?access_token=abcd&x=1"),
            ("content-type", "text/html"),
        ),
        request_headers=(("cookie", "a"), ("Authorization", "b"), ("referer", "/?pwd=pw;q=1")),
    )
    clean = scrub(answer)
    assert clean.url == "https://a.test/p?id=7&Token=xxx&sig=#f"
    assert clean.initiator == "https://a.test/?session=x"
    assert clean.headers == (
        ("location", "/next?access_token=xxxx&x=1"),
        ("content-type", "text/html"),
    )
    assert clean.request_headers == (("referer", "/?pwd=xx;q=1"),)


@given(st.sampled_from(SECRET_PARAMETERS), LETTERS, LETTERS)
def test_secrets_go_and_lengths_stay(name, secret, other):
    url = f"https://a.test/?plain={other}&{name}={secret}&last={other}"
    clean = scrub_url(url)
    assert len(clean) == len(url)
    assert clean == f"https://a.test/?plain={other}&{name}={'x' * len(secret)}&last={other}"


@given(st.text())
def test_other_text_is_left_alone(text):
    assert scrub_url(text.replace("=", "")) == text.replace("=", "")

"""Tools that drive a browser, behind the link: docs/howto/neighbours.md."""

import base64
import os

import pytest

from neighbours import check, stream
from reader import reader

DECODE = """(async () => {
  const bytes = Uint8Array.from(atob("STREAM"), (c) => c.charCodeAt(0));
  const source = new MediaSource();
  const player = document.createElement("video");
  player.src = URL.createObjectURL(source);
  await new Promise((opened) => (source.onsourceopen = opened));
  const buffer = source.addSourceBuffer('CODECS');
  buffer.appendBuffer(bytes);
  await new Promise((over) => (buffer.onupdateend = over));
  const sound = await new OfflineAudioContext(2, 48000, 48000).decodeAudioData(bytes.buffer);
  const loudest = sound.getChannelData(1).reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  return [buffer.buffered.end(0), sound.duration, loudest * 32768];
})()"""


def of_npm(tmp_path, name):
    if "BENCH_TOOLS" not in os.environ:
        pytest.skip("BENCH_TOOLS is not set")
    check(name, tmp_path)


def test_playwright_is_slowed_down_in_fetch_and_in_a_websocket(tmp_path):
    check("Playwright", tmp_path)


def test_lighthouse_sees_the_round_trip(tmp_path):
    of_npm(tmp_path, "Lighthouse")


def test_browsertime_sees_the_round_trip(tmp_path):
    of_npm(tmp_path, "browsertime")


def test_playwright_in_firefox_is_slowed_down_too(tmp_path):
    of_npm(tmp_path, "Playwright in Firefox")


def test_a_player_is_slowed_down(tmp_path):
    of_npm(tmp_path, "hls.js")


def test_a_browser_decodes_the_stream_for_players(tmp_path):
    files = stream.files()
    playlist, beginning, *pieces = files
    assert len(pieces) == stream.PIECES
    content = b"".join(files[name][1] for name in (beginning, *pieces))
    asked = DECODE.replace("CODECS", stream.CODECS)
    empty = tmp_path / "empty.html"
    empty.write_text("<!doctype html><title>empty</title><body></body>", encoding="utf-8")
    with reader(tmp_path) as browser:
        browser.open(empty)
        said = browser.ask(asked.replace("STREAM", base64.b64encode(content).decode()))
    assert said[:2] == pytest.approx([lasts(files[playlist][1].decode())] * 2, abs=0.001)
    assert said[2] == 128


def lasts(playlist):
    lines = playlist.splitlines()
    return sum(float(line[8:-1]) for line in lines if line.startswith("#EXTINF:"))

"""Saved pages and mirrors: what is read beside the HTML, in which charset, and what is missing."""

import os

import pytest

from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.importers.kinds import files_of, read_recording
from dragstrip.pages.importers.limits import Limits
from dragstrip.pages.importers.types import content_type
from dragstrip.pages.importers.wish import Wish
from dragstrip.pages.resolve import resolve

BASE = "https://saved.test/"


def write(folder, **files: bytes | str) -> None:
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


def urls(recording) -> list[str]:
    return [a.url for a in recording.answers]


@pytest.mark.parametrize("folder", ["p_archivos", "p_files", "p-filer", "p ファイル"])
def test_the_folder_that_a_page_names_is_read_whole(tmp_path, folder):
    write(
        tmp_path,
        **{"p.html": f'<img src="./{folder}/a.gif">', f"{folder}/a.gif": b"GIF89a"},
        **{f"{folder}/asked-for-by-a-script.json": "{}", "p2_files/other.gif": b"GIF89a"},
    )
    page = read_recording(tmp_path / "p.html")
    assert [u.rpartition("/")[2] for u in urls(page)] == ["", "a.gif", "asked-for-by-a-script.json"]
    assert not any("warning" in c for c in page.changes)


def test_of_other_folders_only_what_is_named_is_read(tmp_path):
    write(
        tmp_path,
        **{
            "p.html": '<link rel=stylesheet href="css/s.css">',
            "css/s.css": "a{background:url(i.png)}",
        },
        **{"css/i.png": b"\x89PNG", "css/private.txt": "not named"},
    )
    assert urls(read_recording(tmp_path / "p.html")) == [
        BASE,
        f"{BASE}css/s.css",
        f"{BASE}css/i.png",
    ]


def test_what_is_not_there_is_a_warning(tmp_path):
    write(
        tmp_path, **{"p.html": '<img src="p_files/a.gif" srcset="p_files/b.gif 2x"><a href="/x">'}
    )
    (warning,) = [c for c in read_recording(tmp_path / "p.html").changes if "warning" in c]
    assert warning == (
        "warning: its documents and style sheets name 2 files that are not there: "
        f"{BASE}p_files/a.gif, {BASE}p_files/b.gif"
    )


def test_a_page_of_singlefile_is_served_from_where_it_says(tmp_path):
    text = (
        "<!DOCTYPE html> <html><!--\n Page saved with SingleFile \n url: https://a.test/x \n--><p>"
    )
    write(tmp_path, **{"p.html": text})
    assert read_recording(tmp_path / "p.html").url == "https://a.test/x"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<meta charset=windows-1251><p>да".encode("cp1251"), "text/html; charset=windows-1251"),
        (
            b'<meta http-equiv=x content="text/html; charset=Shift_JIS">',
            "text/html; charset=shift_jis",
        ),
        ("<p>да".encode("utf-16"), "text/html; charset=utf-16le"),
        ("\ufeff<p>да".encode("utf-16-be"), "text/html; charset=utf-16be"),
        ("\ufeff<p>да".encode(), "text/html; charset=utf-8"),
        ("<p>да".encode(), "text/html; charset=utf-8"),
        (b"<meta charset=utf-16><p>", "text/html; charset=utf-8"),
        ("<p>да".encode("cp1251"), "text/html"),
    ],
)
def test_text_keeps_its_bytes_and_charset(tmp_path, body, kind):
    write(tmp_path, **{"p.html": body})
    start = read_recording(tmp_path / "p.html").answers[0]
    assert start.wire == body
    assert dict(start.headers)["content-type"] == kind


def test_names_in_the_charset_of_the_page_are_found(tmp_path):
    text = '<meta charset=windows-1251><img src="p_files/да.gif">'
    write(tmp_path, **{"p.html": text.encode("cp1251"), "p_files/да.gif": b"GIF8"})
    page = read_recording(tmp_path / "p.html")
    assert urls(page)[1] == f"{BASE}p_files/%D0%B4%D0%B0.gif"
    assert not any("warning" in c for c in page.changes)


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        ("x.css?v=3", b"", "text/css"),
        ("css?family=X", b"/* latin */\n@font-face {}", "text/css"),
        ("logo", b"\x89PNG\r\n", "image/png"),
        ("a.js.download", b"", "text/javascript"),
        ("index.php?id=1", b"<!DOCTYPE html><p>", "text/html; charset=utf-8"),
        ("data", b"\0\1", "application/octet-stream"),
    ],
)
def test_a_file_without_a_type_gets_one(name, body, kind):
    assert content_type(name, body) == kind


def mirror(folder):
    index = (
        "<title>Home</title><link rel=stylesheet href=../cdn.b.test/s.css><img src=i.png%3Fv=1>"
        "<iframe src=frame.html></iframe><a href=two.html>"
    )
    write(
        folder,
        **{
            "www.b.test/index.html": index,
            "www.b.test/frame.html": "<p>",
            "www.b.test/i.png?v=1": "png",
        },
        **{
            "cdn.b.test/s.css": "p{background:url(../www.b.test/bg.png)}",
            "www.b.test/bg.png": "bg",
        },
    )


def test_a_mirror_has_its_hosts_again(tmp_path):
    mirror(tmp_path / "m")
    page = read_recording(tmp_path / "m")
    assert page.url == "https://www.b.test/"
    assert set(urls(page)) == {
        "https://www.b.test/",
        "https://www.b.test/frame.html",
        "https://www.b.test/i.png%3Fv=1",
        "https://www.b.test/bg.png",
        "https://cdn.b.test/s.css",
    }
    assert b"href=https://cdn.b.test/s.css" in page.answers[0].wire
    assert any("turned back in 2 files" in c for c in page.changes)
    assert not any("warning" in c for c in page.changes)


def test_links_that_were_not_converted_are_asked_for_with_their_query(tmp_path):
    write(tmp_path, **{"m/b.test/index.html": "<img src=/i.png?v=1>", "m/b.test/i.png?v=1": "png"})
    page = read_recording(tmp_path / "m")
    assert urls(page) == ["https://b.test/", "https://b.test/i.png?v=1"]


def test_a_mirror_of_several_pages_is_its_first_with_what_that_names(tmp_path):
    mirror(tmp_path / "m")
    write(tmp_path, **{"m/www.b.test/two.html": "<img src=two.png>", "m/www.b.test/two.png": "png"})
    page = read_recording(tmp_path / "m")
    assert "https://www.b.test/two.png" not in urls(page)
    assert len(urls(page)) == 5
    assert "m#2 chooses another" in page.changes[0]
    assert "2 files left out, which no document" in page.changes[1]
    other = read_recording(tmp_path / "m", Wish(part="https://www.b.test/two.html"))
    assert urls(other) == ["https://www.b.test/two.html", "https://www.b.test/two.png"]


def test_one_host_may_be_given_alone(tmp_path):
    mirror(tmp_path / "m")
    assert read_recording(tmp_path / "m" / "www.b.test").url == "https://www.b.test/"
    write(tmp_path, **{"site/index.html": "<p>"})
    assert read_recording(tmp_path / "site").url == BASE


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    write(tmp_path, **{"secret": "x", "p.html": '<img src="p_files/a"><img src="p_files/b">'})
    write(tmp_path, **{"p_files/real": "png"})
    (tmp_path / "p_files" / "a").symlink_to(tmp_path / "secret")
    (tmp_path / "p_files" / "b").symlink_to("real")
    (tmp_path / "p_files" / "c").symlink_to("nothing")
    os.mkfifo(tmp_path / "p_files" / "pipe")
    page = read_recording(tmp_path / "p.html")
    assert [u.rpartition("/")[2] for u in urls(page)] == ["", "b", "real"]
    assert "p_files/a left out: it is a link out of the folder" in page.changes
    assert "p_files/pipe left out: it is no plain file" in page.changes
    assert tmp_path / "p_files" / "a" not in files_of(tmp_path / "p.html")
    names = '<img src="link/secret"><img src="../secret"><img src=".hidden/key">'
    write(tmp_path, **{"q/q.html": names, "q/.hidden/key": "x"})
    (tmp_path / "q" / "link").symlink_to(tmp_path)
    assert urls(read_recording(tmp_path / "q" / "q.html")) == [BASE]


@pytest.mark.parametrize("name", ["x.warc", "x.html", "x.mhtml", "x.wacz", "x.warc.gz", "x.arc"])
def test_a_pipe_is_refused_at_once(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(PageError, match="no plain file"):
        read_recording(tmp_path / name)
    with pytest.raises(PageError, match="no plain file"):
        resolve(str(tmp_path / name), tmp_path / "cache")


def test_too_many_or_too_deep_folders_are_one_line(tmp_path):
    write(tmp_path, **{f"m/a.test/{'d/' * 9}index.html": "<p>", "m/a.test/b.html": "<p>"})
    with pytest.raises(PageError, match=r"depth .* more than 4; .*--max-depth 8$"):
        read_recording(tmp_path / "m", Wish(limits=Limits(max_depth=4)))
    with pytest.raises(PageError, match=r"number of its files .*--max-records 2$"):
        read_recording(tmp_path / "m", Wish(limits=Limits(max_records=1)))
    with pytest.raises(PageError, match=r"b\.html: it unpacks to .*--max-bytes 4B$"):
        read_recording(tmp_path / "m" / "a.test" / "b.html", Wish(limits=Limits(max_bytes=2)))


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "m is empty; give a folder with a recording"),
        ({"a/b/c.txt": "x", "d/e.txt": "x"}, "m holds only folders; .*: a, d$"),
        ({"README.md": "x", "notes.txt": "y"}, "m holds no recording: README.md, notes.txt; give"),
        (
            {"one.har": "{}", "two.har": "{}"},
            "m holds recordings of their own; give one: one.har, two.har",
        ),
        ({"save.x": "x"}, "save.x is damaged; record the page again"),
        ({"a.test/x.png": "x", "v1.2/index.html": "<p>"}, "m holds only folders; .*: a.test, v1.2"),
        ({"a.test/x": "no markup"}, "m is a mirror without an HTML file"),
    ],
)
def test_each_folder_that_is_no_recording_has_its_own_reason(tmp_path, files, reason):
    (tmp_path / "m").mkdir()
    write(tmp_path / "m", **files)
    with pytest.raises(PageError, match=reason):
        read_recording(tmp_path / "m")


def test_names_that_are_no_text_are_read(tmp_path):
    folder = tmp_path / os.fsdecode(b"m\xff")
    write(
        folder, **{"b.test/index.html": "<img src=%FF.png>", os.fsdecode(b"b.test/\xff.png"): "x"}
    )
    page = write_page(tmp_path / "m.har.zip", read_recording(folder))
    assert [r.url for r in page.resources] == ["https://b.test/", "https://b.test/%FF.png"]


def test_the_longest_name_that_a_file_may_have(tmp_path):
    name = f"{'n' * 246}.html"
    write(tmp_path, **{name: "<p>"})
    page = resolve(str(tmp_path / name), tmp_path / "cache")
    assert page.url == BASE
    assert len(page.name) <= 100
    with pytest.raises(PageError, match="there is no page"):
        resolve("x" * 5_000, tmp_path / "cache")

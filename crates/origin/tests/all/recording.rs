//! Page files that are wrong: one clear error that names the file and the place, and never a panic.

use std::fs;

use crate::support::{entry, har, write_page};
use dragstrip_origin::Recording;
use proptest::prelude::*;
use serde_json::{Value, json};

fn error(har: &[u8], bodies: &[(&str, &[u8])]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = write_page(dir.path(), har, bodies);
    let error = Recording::open(&path).expect_err("the page is wrong");
    let text = format!("{error:#}");
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    text
}

fn with(place: &str, value: Value) -> Vec<u8> {
    let mut good = entry("GET", "https://a.test/", 200, &[("a", "b")], None);
    good["_dragstrip"] = json!({ "think_ms": 1.0 });
    *good.pointer_mut(place).expect("the place exists") = value;
    har(&[entry("GET", "https://a.test/", 200, &[], None), good])
}

#[test]
fn errors_name_the_place() {
    let places = [
        (
            "/request/url",
            json!("ftp://a.test/"),
            "log.entries[1]: request.url",
        ),
        (
            "/request/method",
            json!("G E T"),
            "log.entries[1]: request.method",
        ),
        (
            "/response/status",
            json!(0),
            "log.entries[1]: response.status",
        ),
        (
            "/response/status",
            json!("x"),
            "log.entries[1].response.status",
        ),
        (
            "/response/headers/0/name",
            json!("a b"),
            "log.entries[1]: response.headers[0]",
        ),
        (
            "/response/headers/0/value",
            json!("\u{1}"),
            "log.entries[1]: response.headers[0]",
        ),
        (
            "/_dragstrip/think_ms",
            json!(-1),
            "log.entries[1]: _dragstrip.think_ms: -1",
        ),
        (
            "/response/content",
            json!({"_file": "gone"}),
            "log.entries[1]: response.content._file",
        ),
    ];
    for (place, value, expected) in places {
        let text = error(&with(place, value), &[]);
        assert!(text.contains(expected), "{place}: {text}");
    }
}

#[test]
fn a_file_that_is_no_page() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.har.zip");
    fs::write(&path, b"no zip").unwrap();
    assert!(format!("{:#}", Recording::open(&path).unwrap_err()).contains("is not a zip archive"));
    assert!(error(b"{", &[]).contains("har.har"));
    let format = String::from_utf8(har(&[]))
        .unwrap()
        .replace("\"format\":1", "\"format\":2");
    assert!(error(format.as_bytes(), &[]).contains("log._dragstrip.format is 2"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes overwritten anywhere in a good page give a recording or an error, not a panic.
    #[test]
    fn damage_never_panics(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let dir = tempfile::tempdir().unwrap();
        let json = har(&[entry("GET", "https://a.test/?q", 200, &[("a", "b")], Some("body"))]);
        let path = write_page(dir.path(), &json, &[("body", &[1; 100])]);
        let mut bytes = fs::read(&path).unwrap();
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        fs::write(&path, bytes).unwrap();
        if let Err(error) = Recording::open(&path) {
            let text = format!("{error:#}");
            prop_assert!(text.starts_with(&path.display().to_string()), "{}", text);
        }
    }
}

//! How a recorded answer meets a request: ranges, validators, dates, think time.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use dragstrip_origin::{Answer, Entry, Match, Recording, Replay};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use httpdate::{fmt_http_date, parse_http_date};
use proptest::prelude::*;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair = |(n, v): &(&str, &str)| {
        (
            n.parse::<HeaderName>().unwrap(),
            v.parse::<HeaderValue>().unwrap(),
        )
    };
    pairs.iter().map(pair).collect()
}

fn entry(status: u16, pairs: &[(&str, &str)], body: &[u8]) -> Entry {
    Entry {
        method: Method::GET,
        secure: true,
        authority: "a.test".into(),
        target: "/".into(),
        status: StatusCode::from_u16(status).unwrap(),
        headers: headers(pairs),
        wire: Bytes::copy_from_slice(body),
        decoded: None,
        digest: String::new(),
        think: Duration::ZERO,
    }
}

fn replay(entries: Vec<Entry>) -> Replay {
    Replay::new(Recording {
        entries,
        ..Recording::default()
    })
}

fn get(replay: &mut Replay, pairs: &[(&str, &str)]) -> Answer {
    let (mut parts, ()) = Request::get("https://a.test/")
        .body(())
        .unwrap()
        .into_parts();
    parts.headers = headers(pairs);
    replay.answer(true, "a.test", &parts)
}

fn content_range(answer: &Answer) -> &str {
    answer
        .headers
        .get("content-range")
        .map_or("", |v| v.to_str().unwrap())
}

#[test]
fn a_range_is_cut_out_of_the_whole() {
    let mut replay = replay(vec![entry(200, &[("etag", "\"1\"")], b"0123456789")]);
    for (asked, status, body, range) in [
        ("bytes=0-", 206, "0123456789", "bytes 0-9/10"),
        ("bytes=2-4", 206, "234", "bytes 2-4/10"),
        ("bytes=8-99", 206, "89", "bytes 8-9/10"),
        ("bytes=-3", 206, "789", "bytes 7-9/10"),
        ("bytes=-99", 206, "0123456789", "bytes 0-9/10"),
        ("bytes=10-", 416, "", "bytes */10"),
        ("bytes=-0", 416, "", "bytes */10"),
        // Not understood, or several at once: may be ignored (RFC 9110 section 14.2).
        ("bytes=4-2", 200, "0123456789", ""),
        ("bytes=0-1,3-4", 200, "0123456789", ""),
        ("lines=1-2", 200, "0123456789", ""),
    ] {
        let answer = get(&mut replay, &[("range", asked)]);
        assert_eq!(
            (answer.status.as_u16(), &answer.body[..]),
            (status, body.as_bytes()),
            "{asked}"
        );
        assert_eq!(content_range(&answer), range, "{asked}");
        assert_eq!(answer.headers["content-length"], body.len().to_string());
    }
    for (validator, status) in [("\"1\"", 206), ("\"2\"", 200)] {
        let answer = get(
            &mut replay,
            &[("range", "bytes=1-1"), ("if-range", validator)],
        );
        assert_eq!(answer.status.as_u16(), status);
    }
}

#[test]
fn recorded_parts_answer_requests_for_their_bytes() {
    let part = |range, body: &[u8]| entry(206, &[("content-range", range)], body);
    // The first was cut off when recorded: it names ten bytes and holds four.
    let mut replay = replay(vec![
        part("bytes 0-9/30", b"abcd"),
        part("bytes 10-19/30", b"0123456789"),
    ]);
    for (asked, status, body, range) in [
        ("bytes=0-", 206, "abcd", "bytes 0-3/30"),
        ("bytes=12-14", 206, "234", "bytes 12-14/30"),
        ("bytes=10-", 206, "0123456789", "bytes 10-19/30"),
        ("bytes=25-", 416, "", "bytes */30"),
    ] {
        let answer = get(&mut replay, &[("range", asked)]);
        assert_eq!(
            (answer.status.as_u16(), &answer.body[..]),
            (status, body.as_bytes()),
            "{asked}"
        );
        assert_eq!(content_range(&answer), range, "{asked}");
    }
    let whole = get(&mut replay, &[]);
    assert_eq!((whole.status.as_u16(), content_range(&whole)), (200, ""));
}

#[test]
fn a_client_that_has_the_object_gets_304() {
    let recorded = [
        ("etag", "W/\"x\""),
        ("last-modified", "Mon, 19 Feb 2018 11:02:47 GMT"),
        ("content-type", "a/b"),
    ];
    let mut replay = replay(vec![entry(200, &recorded, b"body")]);
    for (name, value, status) in [
        ("if-none-match", "\"y\", \"x\"", 304),
        ("if-none-match", "*", 304),
        ("if-none-match", "\"y\"", 200),
        ("if-modified-since", "Mon, 19 Feb 2018 11:02:47 GMT", 304),
        ("if-modified-since", "Mon, 19 Feb 2018 11:02:46 GMT", 200),
    ] {
        let answer = get(&mut replay, &[(name, value)]);
        assert_eq!(answer.status.as_u16(), status, "{name}: {value}");
        assert_eq!(answer.body.is_empty(), status == 304);
        assert_eq!(answer.headers.contains_key("content-type"), status == 200);
        assert_eq!(answer.headers["etag"], "W/\"x\"");
    }
}

#[test]
fn a_recorded_304_waits_for_a_client_that_has_the_object() {
    let mut replay = replay(vec![entry(304, &[], b""), entry(200, &[], b"body")]);
    assert_eq!(get(&mut replay, &[]).status, 200);
    assert_eq!(get(&mut replay, &[]).status, 200);
    replay.rewind();
    assert_eq!(get(&mut replay, &[("if-none-match", "\"z\"")]).status, 304);
}

#[test]
fn what_was_fresh_is_fresh_again() {
    let recorded = [
        ("date", "Tue, 20 Feb 2018 12:00:00 GMT"),
        ("expires", "Tue, 20 Feb 2018 13:00:00 GMT"),
        ("last-modified", "Mon, 19 Feb 2018 12:00:00 GMT"),
        ("age", "100"),
    ];
    let mut replay = replay(vec![entry(200, &recorded, b"x")]);
    let answer = get(&mut replay, &[]);
    let at = |name: &str| parse_http_date(answer.headers[name].to_str().unwrap()).unwrap();
    let old = SystemTime::now().duration_since(at("date")).unwrap();
    assert!((99..110).contains(&old.as_secs()), "{old:?}");
    assert_eq!(
        at("expires").duration_since(at("date")).unwrap().as_secs(),
        3600
    );
    let modified = at("date")
        .duration_since(at("last-modified"))
        .unwrap()
        .as_secs();
    assert!((86_400..86_410).contains(&modified), "{modified}");
    // A repeat visit sends the validator it was given, and is believed.
    let since = fmt_http_date(at("last-modified"));
    assert_eq!(
        get(&mut replay, &[("if-modified-since", &since)]).status,
        304
    );
}

#[test]
fn expired_on_purpose_stays_so() {
    for expires in ["0", "-1", "Thu, 01 Jan 1970 00:00:00 GMT"] {
        let recorded = [
            ("date", "Tue, 20 Feb 2018 12:00:00 GMT"),
            ("expires", expires),
        ];
        let answer = get(&mut replay(vec![entry(200, &recorded, b"x")]), &[]);
        let served = parse_http_date(answer.headers["expires"].to_str().unwrap());
        assert!(served.is_err() || served.unwrap() < SystemTime::now() - Duration::from_hours(24));
    }
}

#[test]
fn the_parameters_two_urls_share_outweigh_how_they_begin() {
    let at = |target: &str| Entry {
        target: target.into(),
        ..entry(200, &[], target.as_bytes())
    };
    let mut replay = replay(vec![
        at("/p?_=1&id=7"),
        at("/p?_=1&id=8"),
        at("/tag;r=11;a=b"),
    ]);
    for (asked, served) in [
        ("/p?_=2&id=8", "/p?_=1&id=8"),
        ("/p?id=8&_=9", "/p?_=1&id=8"),
        ("/p?_=2", "/p?_=1&id=7"),
        ("/tag;r=12;a=b", "/tag;r=11;a=b"),
    ] {
        let (parts, ()) = Request::get(format!("https://a.test{asked}"))
            .body(())
            .unwrap()
            .into_parts();
        let answer = replay.answer(true, "a.test", &parts);
        assert_eq!(
            (answer.matched, &answer.body[..]),
            (Match::Query, served.as_bytes()),
            "{asked}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a header says, what is served is a slice of the body that its headers describe.
    #[test]
    fn any_range_header(body in prop::collection::vec(any::<u8>(), 0..50), asked in "bytes=[0-9]{0,3}-[0-9]{0,20}") {
        let answer = get(&mut replay(vec![entry(200, &[], &body)]), &[("range", &asked)]);
        match answer.status.as_u16() {
            200 => prop_assert_eq!(&answer.body[..], &body[..]),
            206 => {
                let (span, total) = content_range(&answer).strip_prefix("bytes ").unwrap().split_once('/').unwrap();
                let (first, last) = span.split_once('-').unwrap();
                prop_assert_eq!(total.parse::<usize>().unwrap(), body.len());
                prop_assert_eq!(&answer.body[..], &body[first.parse().unwrap()..=last.parse().unwrap()]);
            }
            status => prop_assert_eq!((status, answer.body.len()), (416, 0)),
        }
    }
}

#[test]
fn http_and_https_are_two_urls() {
    let http = Entry {
        secure: false,
        ..entry(301, &[("location", "https://a.test/")], b"")
    };
    let mut replay = replay(vec![http, entry(200, &[], b"x")]);
    let (parts, ()) = Request::get("/").body(()).unwrap().into_parts();
    assert_eq!(replay.answer(false, "a.test", &parts).status, 301);
    assert_eq!(replay.answer(true, "a.test", &parts).status, 200);
}

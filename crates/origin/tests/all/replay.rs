//! The matcher against a plain statement of its rules, for any recording and request.

use std::time::Duration;

use bytes::Bytes;
use dragstrip_origin::{Entry, Match, Recording, Replay};
use http::{HeaderMap, Method, Request, StatusCode};
use proptest::prelude::*;

fn recorded((method, path, query): &(Method, String, String), index: usize) -> Entry {
    Entry {
        method: method.clone(),
        secure: true,
        authority: "a.test".into(),
        target: format!("{path}{query}"),
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        wire: Bytes::from(index.to_string()),
        decoded: None,
        digest: String::new(),
        think: Duration::ZERO,
    }
}

fn shared(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// How many `name=value` two queries share, each counted once for each time both have it.
fn common(a: &str, b: &str) -> usize {
    let parts = |query: &str| -> Vec<String> {
        let parts = query.split(['?', '&', ';']).filter(|p| !p.is_empty());
        parts.map(String::from).collect()
    };
    let (a, b) = (parts(a), parts(b));
    let count = |list: &[String], part: &String| list.iter().filter(|p| *p == part).count();
    let different: std::collections::BTreeSet<_> = a.iter().collect();
    different
        .into_iter()
        .map(|part| count(&a, part).min(count(&b, part)))
        .sum()
}

fn nearness(recorded: &str, asked: &str) -> (usize, usize) {
    (common(recorded, asked), shared(recorded, asked))
}

fn key() -> impl Strategy<Value = (Method, String, String)> {
    let method = prop_oneof![Just(Method::GET), Just(Method::POST)];
    (method, "/[ab]?", "([?;][ab&]{0,5})?")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exact_else_nearest_query_else_miss(
        recording in prop::collection::vec(key(), 0..12),
        requests in prop::collection::vec(key(), 1..12),
    ) {
        let entries = recording.iter().enumerate().map(|(index, key)| recorded(key, index)).collect();
        let mut replay = Replay::new(Recording { entries, ..Recording::default() });
        let mut asked = Vec::new();
        for request @ (method, path, query) in &requests {
            let url = format!("https://a.test{path}{query}");
            let (parts, ()) = Request::builder().method(method).uri(url).body(()).unwrap().into_parts();
            let answer = replay.answer(true, "a.test", &parts);

            let same_path: Vec<_> = recording.iter().filter(|(m, p, _)| (m, p) == (method, path)).collect();
            let nearest = same_path.iter().map(|(_, _, q)| nearness(q, query)).max();
            let expected = match nearest {
                None => Match::Miss,
                Some(_) if recording.contains(request) => Match::Exact,
                Some(_) => Match::Query,
            };
            prop_assert_eq!(answer.matched, expected);
            if expected == Match::Miss {
                continue;
            }
            let served = &recording[std::str::from_utf8(&answer.body).unwrap().parse::<usize>().unwrap()];
            prop_assert_eq!((&served.0, &served.1), (method, path));
            prop_assert!(expected == Match::Query || served == request);
            prop_assert!(expected == Match::Exact || Some(nearness(&served.2, query)) == nearest);

            // The nth time a URL answers it gives its nth entry, then the last.
            let entries: Vec<_> = (0..recording.len()).filter(|i| recording[*i] == *served).collect();
            let nth = asked.iter().filter(|key| *key == served).count();
            prop_assert_eq!(&answer.body, &entries[nth.min(entries.len() - 1)].to_string());
            asked.push(served.clone());
        }
    }
}

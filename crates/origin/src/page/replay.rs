//! Finds the recorded answer to a request, for all protocols.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, request};

use crate::page::answer::{Answer, Clock, Match, recorded};
use crate::page::range::{Part, Range};
use crate::page::recording::{Entry, Recording};
use crate::page::sockets::{RecordedSocket, Sockets};
use crate::page::stream;

/// Browsers ask for this path before a repeat visit to learn Alt-Svc. For an answer without a body
/// Chromium would show its error page, which belongs to no site.
const FOR_ALT_SVC: &str = "/.well-known/dragstrip";

const MISS: HeaderName = HeaderName::from_static("x-dragstrip");

/// A recording and each request's place in it.
#[derive(Debug)]
pub struct Replay {
    recording: Recording,
    sockets: Sockets,
    /// Variants by scheme (whether it is https), authority and path.
    paths: HashMap<(bool, String, String), Vec<Variant>>,
    began: SystemTime,
}

impl Default for Replay {
    fn default() -> Self {
        Self::new(Recording::default())
    }
}

/// The entries of one method and URL, in recorded order.
#[derive(Debug)]
struct Variant {
    method: Method,
    /// The query with its question mark; empty if there is none.
    query: String,
    entries: Vec<usize>,
    served: usize,
}

impl Replay {
    pub fn new(mut recording: Recording) -> Self {
        let mut paths: HashMap<_, Vec<Variant>> = HashMap::new();
        for (index, entry) in recording.entries.iter().enumerate() {
            let (path, query) = split_query(&entry.target);
            let variants = paths
                .entry((entry.secure, entry.authority.clone(), path.to_owned()))
                .or_default();
            match variants
                .iter_mut()
                .find(|v| v.method == entry.method && v.query == query)
            {
                Some(variant) => variant.entries.push(index),
                None => variants.push(Variant {
                    method: entry.method.clone(),
                    query: query.to_owned(),
                    entries: vec![index],
                    served: 0,
                }),
            }
        }
        Self {
            sockets: Sockets::new(std::mem::take(&mut recording.sockets)),
            recording,
            paths,
            began: SystemTime::now(),
        }
    }

    /// Makes repeated entries start again from the first.
    pub fn rewind(&mut self) {
        self.sockets.rewind();
        self.paths
            .values_mut()
            .flatten()
            .for_each(|variant| variant.served = 0);
    }

    /// The recorded WebSocket that this request opens; None if there is none.
    pub(crate) fn socket(
        &mut self,
        secure: bool,
        authority: &str,
        target: &str,
    ) -> Option<RecordedSocket> {
        self.sockets.open(secure, authority, target)
    }

    /// The recorded answer, a preflight's consent, or a marked 404. `authority` has no port that is
    /// the scheme's own.
    pub fn answer(&mut self, secure: bool, authority: &str, request: &request::Parts) -> Answer {
        let target = request
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        let clock = Clock {
            began: self.began,
            now: SystemTime::now(),
        };
        let thinks = self.recording.thinks;
        if let Some(found) = self.find(request, secure, authority, target) {
            let mut answer = recorded(found.entry, found.matched, request, clock);
            if !thinks && !stream::is_poll(found.entry.think, request) {
                answer.think = Duration::ZERO;
            }
            if found.last && stream::is_events(request, &answer) {
                answer.keeps_open();
            }
            return answer;
        }
        preflight(request).unwrap_or_else(|| {
            let mut missed = Answer::empty(StatusCode::NOT_FOUND, Match::Miss);
            let mark = HeaderValue::from_static("replay-miss");
            missed.headers.insert(MISS, mark);
            if target == FOR_ALT_SVC {
                missed.body = Bytes::from_static(b"-");
                missed.headers.insert(header::CONTENT_LENGTH, 1.into());
            }
            missed
        })
    }

    /// Finds an entry. Several entries of one method and URL are used in recorded order, and then
    /// the last one again.
    fn find(
        &mut self,
        request: &request::Parts,
        secure: bool,
        authority: &str,
        target: &str,
    ) -> Option<Found<'_>> {
        let (path, query) = split_query(target);
        let place = (secure, authority.to_owned(), path.to_owned());
        let variants = self.paths.get_mut(&place)?;
        let (variant, matched) = pick(variants, &request.method, query)?;
        let entries = &self.recording.entries;
        if let Some(part) = holder(entries, &variant.entries, request) {
            return Some(Found {
                entry: &entries[part],
                matched,
                last: false,
            });
        }
        let suiting = suiting(entries, &variant.entries, request);
        let nth = variant.served.min(suiting.len() - 1);
        variant.served += 1;
        Some(Found {
            entry: &self.recording.entries[suiting[nth]],
            matched,
            last: nth + 1 == suiting.len(),
        })
    }
}

struct Found<'a> {
    entry: &'a Entry,
    matched: Match,
    /// Whether the recording has no later answer to this request.
    last: bool,
}

/// The recorded part of an object that holds the first byte a request asks for.
fn holder(entries: &[Entry], indices: &[usize], request: &request::Parts) -> Option<usize> {
    let start = Range::of(request)?.start()?;
    let holds = |entry: &Entry| {
        entry.status == StatusCode::PARTIAL_CONTENT
            && Part::recorded(&entry.headers, entry.wire.len()).is_some_and(|p| p.holds(start))
    };
    indices.iter().copied().find(|&i| holds(&entries[i]))
}

/// The entries that can answer this request, or else all of them: a recorded part only for range
/// requests, "not modified" only for conditional ones.
fn suiting(entries: &[Entry], indices: &[usize], request: &request::Parts) -> Vec<usize> {
    let asks = |names: [HeaderName; 2]| names.iter().any(|n| request.headers.contains_key(n));
    let suits = |entry: &Entry| match entry.status {
        StatusCode::PARTIAL_CONTENT => Range::of(request).is_some(),
        StatusCode::NOT_MODIFIED => asks([header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE]),
        _ => true,
    };
    let found: Vec<_> = indices
        .iter()
        .copied()
        .filter(|&i| suits(&entries[i]))
        .collect();
    if found.is_empty() {
        indices.to_vec()
    } else {
        found
    }
}

/// The variant with this query, else the one that has most parameters in common with it, then the
/// one with the longest common prefix (the rule of Mahimahi's replay server), then the first
/// recorded. A GET answers HEAD as well.
fn pick<'a>(
    variants: &'a mut [Variant],
    method: &Method,
    query: &str,
) -> Option<(&'a mut Variant, Match)> {
    let suits =
        |v: &Variant| v.method == *method || (method, &v.method) == (&Method::HEAD, &Method::GET);
    let nearness = |v: &Variant| {
        (
            v.query == query,
            common(&v.query, query),
            shared(&v.query, query),
            v.method == *method,
        )
    };
    let nearest = variants
        .iter_mut()
        .filter(|v| suits(v))
        .rev()
        .max_by_key(|v| nearness(v))?;
    let matched = if nearest.query == query {
        Match::Exact
    } else {
        Match::Query
    };
    Some((nearest, matched))
}

fn shared(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// How many `name=value` of `b` stand in `a` as well.
fn common(a: &str, b: &str) -> usize {
    let parameters = |query: &'_ str| -> Vec<String> {
        let parts = query.split(['?', '&', ';']).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let mut left = parameters(a);
    parameters(b)
        .iter()
        .filter(|part| match left.iter().position(|p| p == *part) {
            Some(at) => {
                left.swap_remove(at);
                true
            }
            None => false,
        })
        .count()
}

/// Path and query. What follows a semicolon (RFC 3986 section 3.3) is as random as a query in
/// practice, and belongs to it.
fn split_query(target: &str) -> (&str, &str) {
    target.split_at(target.find(['?', ';']).unwrap_or(target.len()))
}

/// An unrecorded CORS preflight is granted as requested; recorders often omit preflights.
fn preflight(request: &request::Parts) -> Option<Answer> {
    let asked = request.headers.get(header::ACCESS_CONTROL_REQUEST_METHOD)?;
    let origin = request.headers.get(header::ORIGIN)?;
    if request.method != Method::OPTIONS {
        return None;
    }
    let mut headers = HeaderMap::from_iter([
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone()),
        (header::ACCESS_CONTROL_ALLOW_METHODS, asked.clone()),
        (
            header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
            HeaderValue::from_static("true"),
        ),
    ]);
    if let Some(names) = request.headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    Some(Answer {
        headers,
        ..Answer::empty(StatusCode::NO_CONTENT, Match::Preflight)
    })
}

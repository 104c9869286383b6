//! Which recorded answer a request gets: the one content path of all protocols.

use std::collections::HashMap;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, request};
use serde::Serialize;

use crate::recording::{Entry, Recording};

const MISS: HeaderName = HeaderName::from_static("x-dragstrip");

/// How the recording answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// The recording has this method and URL.
    Exact,
    /// The recording has this method, host and path with another query; the nearest answers.
    Query,
    /// Not recorded, and not the page's doing: a CORS preflight, answered with consent.
    Preflight,
    /// Not recorded: 404.
    Miss,
}

/// What goes back over any protocol. `content-length` is among the headers where it belongs.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub matched: Match,
}

/// A recording and each request's place in it.
#[derive(Debug, Default)]
pub struct Replay {
    recording: Recording,
    /// By host and path.
    paths: HashMap<(String, String), Vec<Variant>>,
}

/// The entries of one method and URL, in recorded order.
#[derive(Debug)]
struct Variant {
    method: Method,
    /// With its question mark; empty if there is none.
    query: String,
    entries: Vec<usize>,
    served: usize,
}

impl Replay {
    pub fn new(recording: Recording) -> Self {
        let mut paths: HashMap<_, Vec<Variant>> = HashMap::new();
        for (index, entry) in recording.entries.iter().enumerate() {
            let (path, query) = split_query(&entry.target);
            let variants = paths
                .entry((entry.host.clone(), path.to_owned()))
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
        Self { recording, paths }
    }

    /// Repeated entries start again from the first.
    pub fn rewind(&mut self) {
        self.paths
            .values_mut()
            .flatten()
            .for_each(|variant| variant.served = 0);
    }

    /// The recorded answer, a preflight's consent, or a marked 404. `host` has no port.
    pub fn answer(&mut self, host: &str, request: &request::Parts) -> Answer {
        let target = request
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        if let Some((entry, matched)) = self.find(&request.method, host, target) {
            return recorded(entry, matched, request);
        }
        preflight(request).unwrap_or_else(|| Answer {
            status: StatusCode::NOT_FOUND,
            headers: HeaderMap::from_iter([
                (MISS, HeaderValue::from_static("replay-miss")),
                (header::CONTENT_LENGTH, 0.into()),
            ]),
            body: Bytes::new(),
            matched: Match::Miss,
        })
    }

    /// Several entries of one method and URL come in recorded order, the last again for good.
    pub(crate) fn find(
        &mut self,
        method: &Method,
        host: &str,
        target: &str,
    ) -> Option<(&Entry, Match)> {
        let (path, query) = split_query(target);
        let variants = self.paths.get_mut(&(host.to_owned(), path.to_owned()))?;
        let (variant, matched) = pick(variants, method, query)?;
        let index = variant.entries[variant.served.min(variant.entries.len() - 1)];
        variant.served += 1;
        Some((&self.recording.entries[index], matched))
    }
}

/// The variant of this query, else the one that shares the longest beginning with it, the first
/// recorded of equals (the rule of Mahimahi's replay server). A GET answers HEAD as well.
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

fn split_query(target: &str) -> (&str, &str) {
    target.split_at(target.find('?').unwrap_or(target.len()))
}

fn recorded(entry: &Entry, matched: Match, request: &request::Parts) -> Answer {
    let mut headers = entry.headers.clone();
    let mut body = entry.wire.clone();
    if let Some(decoded) = &entry.decoded
        && !accepts(&request.headers, headers.get(header::CONTENT_ENCODING))
    {
        headers.remove(header::CONTENT_ENCODING);
        body = decoded.clone();
    }
    let bodiless = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&entry.status);
    if !bodiless {
        headers.insert(header::CONTENT_LENGTH, body.len().into());
    }
    if bodiless || request.method == Method::HEAD {
        body.clear();
    }
    Answer {
        status: entry.status,
        headers,
        body,
        matched,
    }
}

/// Whether the client takes every coding of `encoding`.
fn accepts(request: &HeaderMap, encoding: Option<&HeaderValue>) -> bool {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_ascii_lowercase();
    let offers = request
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .map(text)
        .collect::<Vec<_>>()
        .join(",");
    let accepted = |coding: &str| {
        offers.split(',').any(|offer| {
            let (name, weight) = offer.split_once(';').unwrap_or((offer, ""));
            let refused = weight
                .trim()
                .strip_prefix("q=")
                .is_some_and(|q| q.parse() == Ok(0.0));
            !refused && [coding, "*"].contains(&name.trim())
        })
    };
    encoding
        .map(text)
        .is_none_or(|codings| codings.split(',').all(|c| accepted(c.trim())))
}

/// A CORS preflight nobody recorded is answered as asked; recorders often leave preflights out.
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
        status: StatusCode::NO_CONTENT,
        headers,
        body: Bytes::new(),
        matched: Match::Preflight,
    })
}

//! How a recorded answer is adapted to a request: coding, validators, ranges, dates.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Response, StatusCode, request};
use httpdate::{fmt_http_date, parse_http_date};
use serde::Serialize;

use crate::page::range::{Part, Range};
use crate::page::recording::Entry;

/// How the answer was found in the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// The recording has this method and URL.
    Exact,
    /// The recording has this method, host and path, but with another query; the entry with the
    /// nearest query answers.
    Query,
    /// A CORS preflight, which browsers send by themselves, and which was not recorded. It is
    /// granted.
    Preflight,
    /// Nothing was recorded for the request: 404.
    Miss,
    /// The recording was not searched, because the connection leads to another server: 421.
    Misdirected,
}

/// What goes back over any protocol. `headers` has `content-length` where that header belongs.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub matched: Match,
    /// Digest of the whole recorded body without content encoding; empty if no recorded entry
    /// answers.
    pub digest: String,
    /// How long nothing is sent at all.
    pub hold: Duration,
    /// `link` values of the answer with status 103 that is sent first (RFC 8297).
    pub hints: Vec<HeaderValue>,
    /// How long to wait before answering, as the recorded server did.
    pub think: Duration,
    /// Whether the answer stays open after its body: see `Answer::keeps_open`.
    pub open: bool,
}

impl Answer {
    /// An answer without a body and without a recording.
    pub(crate) fn empty(status: StatusCode, matched: Match) -> Self {
        Self {
            status,
            headers: HeaderMap::from_iter([(header::CONTENT_LENGTH, 0.into())]),
            body: Bytes::new(),
            matched,
            digest: String::new(),
            hold: Duration::ZERO,
            hints: Vec::new(),
            think: Duration::ZERO,
            open: false,
        }
    }

    /// Keeps the answer open after its body, and removes its length.
    pub(crate) fn keeps_open(&mut self) {
        self.headers.remove(header::CONTENT_LENGTH);
        self.open = true;
    }

    /// The answer that is sent before this one, if there is one.
    pub(crate) fn ahead(&self) -> Option<Response<()>> {
        let links = self.hints.iter().map(|link| (header::LINK, link.clone()));
        let mut ahead = Response::new(());
        *ahead.status_mut() = StatusCode::EARLY_HINTS;
        *ahead.headers_mut() = links.collect();
        (!self.hints.is_empty()).then_some(ahead)
    }
}

/// The times that move a recording's dates: `began` is when its first visit was, `now` when the
/// current request came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub began: SystemTime,
    pub now: SystemTime,
}

pub(crate) fn recorded(
    entry: &Entry,
    matched: Match,
    request: &request::Parts,
    clock: Clock,
) -> Answer {
    let mut headers = entry.headers.clone();
    let mut body = entry.wire.clone();
    let mut status = entry.status;
    if let Some(decoded) = &entry.decoded
        && !accepts(&request.headers, headers.get(header::CONTENT_ENCODING))
    {
        headers.remove(header::CONTENT_ENCODING);
        body = decoded.clone();
    }
    refresh(&mut headers, clock);
    if status == StatusCode::OK && unchanged(&request.headers, &headers) {
        status = StatusCode::NOT_MODIFIED;
        for name in [
            header::CONTENT_ENCODING,
            header::CONTENT_TYPE,
            header::CONTENT_RANGE,
        ] {
            headers.remove(name);
        }
    } else {
        status = ranged(status, request, &mut headers, &mut body);
    }
    let bodiless = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);
    if !bodiless {
        headers.insert(header::CONTENT_LENGTH, body.len().into());
    }
    if bodiless || request.method == Method::HEAD {
        body.clear();
    }
    Answer {
        status,
        headers,
        body,
        matched,
        digest: entry.digest.clone(),
        hold: Duration::ZERO,
        hints: Vec::new(),
        think: entry.think,
        open: false,
    }
}

/// Cuts out the requested part (RFC 9110 section 14) and returns the status. A recorded part is all
/// there is of its object; a request for the whole object gets that part.
fn ranged(
    status: StatusCode,
    request: &request::Parts,
    headers: &mut HeaderMap,
    body: &mut Bytes,
) -> StatusCode {
    let part = match status {
        StatusCode::OK => Part::whole(body.len()),
        StatusCode::PARTIAL_CONTENT => match Part::recorded(headers, body.len()) {
            Some(part) => part,
            None => return status,
        },
        _ => return status,
    };
    let asked = Range::of(request).filter(|_| same_as_before(&request.headers, headers));
    let Some(asked) = asked else {
        headers.remove(header::CONTENT_RANGE);
        return StatusCode::OK;
    };
    if let Some((slice, content_range)) = part.cut(&asked) {
        *body = body.slice(slice);
        headers.insert(header::CONTENT_RANGE, content_range);
        StatusCode::PARTIAL_CONTENT
    } else {
        body.clear();
        headers.insert(header::CONTENT_RANGE, part.unsatisfied());
        StatusCode::RANGE_NOT_SATISFIABLE
    }
}

/// Whether `if-range` (RFC 9110 section 13.1.5), if there is one, says that the client's part
/// belongs to this very object.
fn same_as_before(request: &HeaderMap, answer: &HeaderMap) -> bool {
    request.get(header::IF_RANGE).is_none_or(|validator| {
        [header::ETAG, header::LAST_MODIFIED]
            .iter()
            .any(|name| answer.get(name) == Some(validator))
    })
}

/// Whether a conditional request (RFC 9110 section 13) already has this object.
fn unchanged(request: &HeaderMap, answer: &HeaderMap) -> bool {
    let strip = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    if let Some(known) = text(request, &header::IF_NONE_MATCH) {
        return text(answer, &header::ETAG).is_some_and(|tag| {
            known
                .split(',')
                .any(|k| k.trim() == "*" || strip(k) == strip(tag))
        });
    }
    let since = date(request, &header::IF_MODIFIED_SINCE);
    let changed = date(answer, &header::LAST_MODIFIED);
    since
        .zip(changed)
        .is_some_and(|(since, changed)| changed <= since)
}

/// Moves the recorded dates to today. An answer that was fresh when recorded is fresh again, and a
/// stale one is stale. With the old dates every cached answer would be years out of date.
fn refresh(headers: &mut HeaderMap, clock: Clock) {
    let Some(recorded) = date(headers, &header::DATE) else {
        return;
    };
    let age = text(headers, &header::AGE).and_then(|age| age.trim().parse().ok());
    let age = Duration::from_secs(age.unwrap_or(0).min(u64::from(u32::MAX)));
    // A validator's date must be the same in a visit and in its repetition.
    for (name, today) in [
        (header::DATE, clock.now),
        (header::EXPIRES, clock.now),
        (header::LAST_MODIFIED, clock.began),
    ] {
        if let Some(then) = date(headers, &name)
            && let Some(moved) = moved(then, recorded, today.checked_sub(age).unwrap_or(today))
            && let Ok(value) = HeaderValue::from_str(&fmt_http_date(moved))
        {
            headers.insert(name, value);
        }
    }
}

/// Moves `then`: it becomes as far from `to` as it was from `from`.
fn moved(then: SystemTime, from: SystemTime, to: SystemTime) -> Option<SystemTime> {
    let moved = match then.duration_since(from) {
        Ok(after) => to.checked_add(after),
        Err(before) => to.checked_sub(before.duration()),
    };
    // The years that `fmt_http_date` can write: 1970 to 9999.
    let last = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    moved.filter(|moved| (SystemTime::UNIX_EPOCH..=last).contains(moved))
}

fn date(headers: &HeaderMap, name: &header::HeaderName) -> Option<SystemTime> {
    parse_http_date(text(headers, name)?).ok()
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
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

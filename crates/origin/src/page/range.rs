//! Byte ranges (RFC 9110 section 14).

use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, request};

/// The one range that a request asks for. A server may ignore a request for several ranges, and
/// this one does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    /// Bytes from the first to the last, or to the end.
    From(u64, Option<u64>),
    /// That many bytes at the end.
    Last(u64),
}

/// Which bytes of an object a recorded body holds: `length` bytes from `start`, of `total` if that
/// is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    start: u64,
    length: u64,
    total: Option<u64>,
}

impl Range {
    /// Reads the range of a request; None if the request asks for none, or for one that is to be
    /// ignored.
    pub fn of(request: &request::Parts) -> Option<Self> {
        if request.method != Method::GET {
            return None;
        }
        let value = request.headers.get(header::RANGE)?.to_str().ok()?;
        let (first, last) = value.trim().strip_prefix("bytes=")?.split_once('-')?;
        let (first, last) = (first.trim(), last.trim());
        if first.is_empty() {
            return Some(Self::Last(last.parse().ok()?));
        }
        let first = first.parse().ok()?;
        if last.is_empty() {
            return Some(Self::From(first, None));
        }
        let last = last.parse().ok()?;
        (first <= last).then_some(Self::From(first, Some(last)))
    }

    /// Returns the first requested byte, if it is known without the object's length.
    pub fn start(&self) -> Option<u64> {
        match self {
            Self::From(start, _) => Some(*start),
            Self::Last(_) => None,
        }
    }
}

impl Part {
    pub fn whole(length: usize) -> Self {
        let length = length as u64;
        Self {
            start: 0,
            length,
            total: Some(length),
        }
    }

    /// The range of a recorded `content-range`. What was cut off when recorded is not there.
    pub fn recorded(headers: &HeaderMap, length: usize) -> Option<Self> {
        let value = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
        let (span, total) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (start, _) = span.split_once('-')?;
        Some(Self {
            start: start.trim().parse().ok()?,
            length: length as u64,
            total: total.trim().parse().ok(),
        })
    }

    pub fn holds(&self, at: u64) -> bool {
        at.checked_sub(self.start)
            .is_some_and(|offset| offset < self.length)
    }

    /// The asked bytes as a slice of the body, and their `content-range`; None if there are none.
    pub fn cut(&self, asked: &Range) -> Option<(std::ops::Range<usize>, HeaderValue)> {
        let end = self.start.checked_add(self.length)?;
        let (first, last) = match *asked {
            Range::From(first, last) => (first, last.unwrap_or(u64::MAX)),
            Range::Last(0) => return None,
            Range::Last(count) => (self.total.unwrap_or(end).saturating_sub(count), u64::MAX),
        };
        if !self.holds(first) {
            return None;
        }
        let stop = end.min(last.saturating_add(1));
        let total = self.total.map_or("*".to_owned(), |total| total.to_string());
        let value = format!("bytes {first}-{}/{total}", stop - 1);
        let slice = (first - self.start) as usize..(stop - self.start) as usize;
        Some((slice, HeaderValue::from_str(&value).ok()?))
    }

    /// Returns the `content-range` of an answer with status 416.
    pub fn unsatisfied(&self) -> HeaderValue {
        let total = self.total.unwrap_or(self.start.saturating_add(self.length));
        HeaderValue::from_str(&format!("bytes */{total}")).expect("digits")
    }
}

//! What the three protocols have in common.

use std::pin::Pin;

use bytes::Bytes;
use http::{Method, StatusCode, response};

use crate::event::{Failure, Head};

/// Runs a connection from its first request on, like Chromium, which sends no preface on a connection
/// that nobody uses. Ends when it is over, with the reason if it did not end in order.
pub(super) type Driver = Pin<Box<dyn Future<Output = Option<Failure>>>>;

pub(super) fn head(parts: response::Parts) -> Head {
    Head {
        status: parts.status.as_u16(),
        headers: parts.headers,
    }
}

/// Whether an answer has no body whatever its headers say (RFC 9110 section 6.4.1).
pub(super) fn bodiless(method: &Method, status: StatusCode) -> bool {
    let without = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED];
    *method == Method::HEAD || without.contains(&status) || status.is_informational()
}

pub(super) fn upload(length: u32) -> Bytes {
    Bytes::from(vec![0; length as usize])
}

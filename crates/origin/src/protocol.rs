//! The versions of HTTP.

use serde::Serialize;

/// The protocol that a request or connection really used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    H1,
    H2,
    H3,
}

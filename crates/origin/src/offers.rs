//! The limits that each end of a connection sets for the other.

use std::sync::{Arc, Mutex};

use serde::Serialize;

use crate::lock::unpoisoned;

/// SETTINGS and the WINDOW_UPDATE after them (RFC 9113), or transport parameters (RFC 9000 section
/// 18.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// Bytes that the other end may send on all streams together before it is granted more.
    pub window_bytes: u64,
    /// Bytes that the other end may send on the stream of one request.
    pub stream_window_bytes: u64,
    /// The most streams that the other end may have open at once; None if there is no limit.
    pub streams: Option<u64>,
    /// Whether the other end may change its address (RFC 9000 section 18.2,
    /// disable_active_migration); None over TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration: Option<bool>,
    /// Milliseconds of silence after which this end closes the connection (RFC 9000 section 10.1);
    /// 0 if it never does. None over TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
}

/// The offers of both ends so far; None for a connection that announces nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Both {
    pub ours: Option<Offer>,
    pub theirs: Option<Offer>,
}

/// What is known of a connection's offers. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Both>>);

impl Heard {
    pub fn get(&self) -> Both {
        *unpoisoned(&self.0)
    }

    pub fn ours(&self, offer: Offer) {
        unpoisoned(&self.0).ours = Some(offer);
    }

    pub fn theirs(&self, offer: Offer) {
        unpoisoned(&self.0).theirs = Some(offer);
    }
}

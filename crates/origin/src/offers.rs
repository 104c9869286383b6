//! What the two ends of a connection announced that the other may do.

use std::sync::{Arc, Mutex};

use serde::Serialize;

use crate::lock::unpoisoned;

/// SETTINGS and the WINDOW_UPDATE after them (RFC 9113), or transport parameters (RFC 9000 section
/// 18.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// Send so many bytes on all streams together before more is granted.
    pub window_bytes: u64,
    /// Send so many on the stream of one request.
    pub stream_window_bytes: u64,
    /// Have so many streams of its own open at once; None is any number.
    pub streams: Option<u64>,
}

/// What was heard so far; None of a connection that announces nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Both {
    pub ours: Option<Offer>,
    pub theirs: Option<Offer>,
}

/// Clones share what is heard.
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

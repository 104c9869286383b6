//! What the two ends of a connection let each other do with QPACK's tables.

use std::sync::{Arc, Mutex, PoisonError};

/// What one side lets the other do (RFC 9204 section 5). Nothing, by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offer {
    /// SETTINGS_QPACK_MAX_TABLE_CAPACITY.
    pub table_bytes: u64,
    /// SETTINGS_QPACK_BLOCKED_STREAMS.
    pub blocked_streams: u64,
}

/// What a peer offered last; connections to it share this.
#[derive(Debug, Clone, Default)]
pub struct LastOffer(Arc<Mutex<Offer>>);

impl LastOffer {
    pub(crate) fn get(&self) -> Offer {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, offer: Offer) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = offer;
    }
}

//! The limits that the two ends of a connection set for each other's use of QPACK tables.

use std::sync::{Arc, Mutex, PoisonError};

/// The limits that one side sets for the other (RFC 9204 section 5). By default it allows no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offer {
    /// SETTINGS_QPACK_MAX_TABLE_CAPACITY.
    pub table_bytes: u64,
    /// SETTINGS_QPACK_BLOCKED_STREAMS.
    pub blocked_streams: u64,
}

/// The last offer of a peer, which all connections to that peer share.
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

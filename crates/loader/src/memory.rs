//! State that outlives a load, as in a browser that stays open: tickets, and which protocols hosts
//! speak.

use std::collections::{BTreeMap, BTreeSet};

use crate::input::Protocol;
use crate::net::NetMemory;

/// The state of a browser. A new value is a browser that was never used.
#[derive(Default)]
pub struct Memory {
    /// Seed of QUIC's own randomness.
    pub seed: u64,
    pub(crate) net: NetMemory,
    /// The protocol that a host spoke over TLS, by host and port.
    pub(crate) spoke: BTreeMap<(String, u16), Protocol>,
    /// Hosts that announced h3.
    pub(crate) alternatives: BTreeSet<(String, u16)>,
    /// Hosts that are believed to obey priorities.
    pub(crate) prioritise: BTreeSet<String>,
}

impl Memory {
    pub fn seeded(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// Forgets everything, so that the next load is a first visit.
    pub fn forget(&mut self) {
        *self = Self::seeded(self.seed);
    }
}

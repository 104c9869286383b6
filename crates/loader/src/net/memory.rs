//! What connections leave behind for the connections of later loads.

use std::path::Path;

use anyhow::Result;

use super::quic::{Client, QuicMemory};
use super::tls;
use crate::input::Tls;

/// The network's memory. A new value is a browser that never connected.
#[derive(Default)]
pub struct NetMemory {
    pub(super) tls: tls::Store,
    quic: QuicMemory,
}

impl NetMemory {
    /// Makes the client for a load's QUIC connections; `seed` is for the randomness of QUIC itself.
    pub(super) fn quic(&mut self, ca: &Path, tls: Tls, seed: u64) -> Result<Client> {
        let (config, verifier) = self.tls.quic(ca, tls)?;
        self.quic.client(config, verifier, tls.early_data, seed)
    }
}

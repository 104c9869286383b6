//! What connections leave for those of later loads.

use std::path::Path;

use anyhow::Result;

use super::quic::{Client, QuicMemory};
use super::tls;
use crate::input::Tls;

/// A new one is a browser that never connected.
#[derive(Default)]
pub struct NetMemory {
    pub(super) tls: tls::Store,
    quic: QuicMemory,
}

impl NetMemory {
    /// What a load's QUIC connections are made from; `seed` is of their own randomness.
    pub(super) fn quic(&mut self, ca: &Path, tls: Tls, seed: u64) -> Result<Client> {
        let (config, verifier) = self.tls.quic(ca, tls)?;
        self.quic.client(config, verifier, tls.early_data, seed)
    }
}

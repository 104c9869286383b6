//! What a handshake showed.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex};

use rustls::NamedGroup;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use serde::Serialize;

use super::{Authority, Chain, Compression, Kind};
use crate::lock::unpoisoned;

/// The certificates that a handshake sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    pub certificate: Kind,
    pub chain_length: usize,
    /// Length (DER) of all certificates.
    pub certificate_bytes: usize,
    pub scts: u8,
    /// Length of the stapled OCSP response; 0 if there was none.
    pub staple_bytes: usize,
    pub certificate_compression: Compression,
    /// Length of the compressed message; None if it was sent as it is.
    pub compressed_bytes: Option<usize>,
}

/// What one connection's handshake showed; empty before it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Showing(Arc<Mutex<Done>>);

#[derive(Debug, Default)]
struct Done {
    shown: Option<Shown>,
    group: Option<NamedGroup>,
}

impl Showing {
    /// A resumed handshake shows no certificate (RFC 8446 section 2.2).
    pub fn told(&self, resumed: bool) -> Option<Shown> {
        unpoisoned(&self.0).shown.clone().filter(|_| !resumed)
    }

    /// The group in which keys were exchanged. quinn does not say.
    pub fn group(&self) -> Option<NamedGroup> {
        unpoisoned(&self.0).group
    }
}

thread_local! {
    /// The handshake under way. rustls asks for the chain, exchanges keys and compresses the chain,
    /// without leaving the thread or doing anything else in between. It asks when it resumes a session,
    /// too.
    static UNDER_WAY: RefCell<Showing> = RefCell::default();
}

/// Notes that the handshake under way sends its certificates in `bytes` bytes.
pub(super) fn compressed(compression: Compression, bytes: usize) {
    UNDER_WAY.with_borrow(|showing| {
        if let Some(shown) = &mut unpoisoned(&showing.0).shown {
            shown.certificate_compression = compression;
            shown.compressed_bytes = Some(bytes);
        }
    });
}

/// Notes that the handshake under way exchanged keys in this group.
pub(super) fn exchanged(group: NamedGroup) {
    UNDER_WAY.with_borrow(|showing| unpoisoned(&showing.0).group = Some(group));
}

/// The chains of one connection.
pub(crate) struct Chains {
    authority: Arc<Authority>,
    chain: Chain,
    showing: Showing,
}

impl Chains {
    pub fn new(authority: &Arc<Authority>, chain: Chain, showing: &Showing) -> Self {
        Self {
            authority: authority.clone(),
            chain,
            showing: showing.clone(),
        }
    }

    fn shown(&self, made: &CertifiedKey) -> Shown {
        Shown {
            certificate: self.chain.kind,
            chain_length: made.cert.len(),
            certificate_bytes: made.cert.iter().map(|one| one.len()).sum(),
            scts: self.chain.scts,
            staple_bytes: made.ocsp.as_ref().map_or(0, Vec::len),
            certificate_compression: Compression::None,
            compressed_bytes: None,
        }
    }
}

impl ResolvesServerCert for Chains {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let host = hello.server_name()?.to_ascii_lowercase();
        let made = self.authority.issue(&host, &self.chain).ok()?;
        unpoisoned(&self.showing.0).shown = Some(self.shown(&made));
        UNDER_WAY.set(self.showing.clone());
        Some(made)
    }
}

impl fmt::Debug for Chains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chains")
    }
}

//! Key exchange in the requested group, which the connection learns.

use rustls::crypto::ring::kx_group::{SECP256R1, SECP384R1, X25519};
use rustls::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, SupportedKxGroup, aws_lc_rs::kx_group::X25519MLKEM768,
};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, ProtocolVersion};
use serde::{Deserialize, Serialize};

use super::shown;

/// The group in which keys are exchanged. The server asks a client without a share in this group for one
/// (RFC 8446 section 4.1.4), which takes a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum KeyShare {
    #[default]
    X25519,
    /// draft-ietf-tls-ecdhe-mlkem
    X25519MLKEM768,
    #[serde(rename = "P-256")]
    P256,
}

impl KeyShare {
    pub(crate) const ALL: [Self; 3] = [Self::X25519, Self::X25519MLKEM768, Self::P256];

    /// The groups that the server accepts, best first. By default, clients without X25519 get
    /// another curve.
    pub(crate) fn groups(self) -> Vec<&'static dyn SupportedKxGroup> {
        match self {
            Self::X25519 => vec![&CURVE, &NIST, &LARGE_NIST],
            Self::X25519MLKEM768 => vec![&HYBRID],
            Self::P256 => vec![&NIST],
        }
    }
}

/// The group's name in the log.
pub(crate) fn group_name(group: NamedGroup) -> String {
    match group {
        NamedGroup::secp256r1 => "P-256".to_owned(),
        NamedGroup::secp384r1 => "P-384".to_owned(),
        other => format!("{other:?}"),
    }
}

static CURVE: Told = Told(&X25519);
static NIST: Told = Told(&SECP256R1);
static LARGE_NIST: Told = Told(&SECP384R1);
static HYBRID: Told = Told(&X25519MLKEM768);

/// A group that tells the connection of the handshake that keys were exchanged in it.
#[derive(Debug)]
struct Told(&'static &'static dyn SupportedKxGroup);

impl SupportedKxGroup for Told {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        // TLS 1.2 exchanges keys once the client has answered, and never in another group.
        shown::exchanged(self.name());
        self.0.start()
    }

    fn start_and_complete(&self, peer: &[u8]) -> Result<CompletedKeyExchange, Error> {
        shown::exchanged(self.name());
        self.0.start_and_complete(peer)
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        self.0.ffdhe_group()
    }

    fn name(&self) -> NamedGroup {
        self.0.name()
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        self.0.usable_for_version(version)
    }
}

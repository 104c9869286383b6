//! X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem), which Chromium offers first, beside X25519.
//!
//! Its share of 1216 bytes is why a ClientHello of today fills two packets: it does not fit into a SYN,
//! and on a slow uplink it takes its time.

use ml_kem::kem::{Decapsulate, KeyExport};
use ml_kem::{DecapsulationKey, MlKem768, Seed};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::crypto::ring::kx_group::X25519;
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};

const CIPHERTEXT: usize = 1088; // FIPS 203, table 3
const X25519_SHARE: usize = 32;

#[derive(Debug)]
pub(super) struct X25519MlKem768;

impl SupportedKxGroup for X25519MlKem768 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut seed = Seed::default();
        let random = SystemRandom::new();
        random
            .fill(&mut seed)
            .map_err(|_| Error::FailedToGetRandomBytes)?;
        let lattice = DecapsulationKey::<MlKem768>::from_seed(seed);
        let curve = X25519.start()?;
        let mut share = lattice.encapsulation_key().to_bytes().to_vec();
        share.extend_from_slice(curve.pub_key());
        Ok(Box::new(Active {
            lattice: Box::new(lattice),
            curve,
            share,
        }))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

struct Active {
    lattice: Box<DecapsulationKey<MlKem768>>,
    curve: Box<dyn ActiveKeyExchange>,
    share: Vec<u8>,
}

impl ActiveKeyExchange for Active {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let wrong = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        if peer.len() != CIPHERTEXT + X25519_SHARE {
            return Err(wrong);
        }
        let (ciphertext, point) = peer.split_at(CIPHERTEXT);
        let lattice = self.lattice.decapsulate_slice(ciphertext);
        let mut secret = lattice.map_err(|_| wrong)?.to_vec();
        secret.extend_from_slice(self.curve.complete(point)?.secret_bytes());
        Ok(SharedSecret::from(secret))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((self.curve.group(), self.curve.pub_key()))
    }

    fn complete_hybrid_component(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        self.curve.complete(peer)
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

//! The properties of a certificate chain.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// TLS clients take messages of 64 KiB, and rustls no more (RFC 8446 section 4.4.2 has no limit).
const LONGEST: u32 = 60_000;
/// Leaf and intermediates. Chains of public sites have two to four.
const CERTIFICATES: std::ops::RangeInclusive<u8> = 2..=8;
/// Logs of which a certificate carries a timestamp; public sites have two or three.
const MOST_SCTS: u8 = 20;
const LONGEST_STAPLE: u32 = 20_000;

/// The keys and signatures of all certificates in a chain.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// P-256.
    #[default]
    Ecdsa,
    /// 2048 bits.
    Rsa,
    /// FIPS 204.
    #[serde(rename = "ml-dsa-44")]
    MlDsa44,
    #[serde(rename = "ml-dsa-65")]
    MlDsa65,
    /// ECDSA, and random bytes until the handshake is as long as with ML-DSA-44: for clients that
    /// cannot verify that.
    #[serde(rename = "ml-dsa-44-size")]
    SizeOfMlDsa44,
    #[serde(rename = "ml-dsa-65-size")]
    SizeOfMlDsa65,
}

impl Kind {
    /// Kinds with a root certificate.
    pub(crate) const ROOTED: [Self; 4] = [Self::Ecdsa, Self::Rsa, Self::MlDsa44, Self::MlDsa65];

    /// The kind whose sizes this kind copies; None if it has its own sizes.
    pub(crate) fn size_of(self) -> Option<Self> {
        match self {
            Self::SizeOfMlDsa44 => Some(Self::MlDsa44),
            Self::SizeOfMlDsa65 => Some(Self::MlDsa65),
            _ => None,
        }
    }

    /// The kind whose keys this kind uses.
    pub(crate) fn keys(self) -> Self {
        self.size_of().map_or(self, |_| Self::Ecdsa)
    }

    /// Bytes of a signature (FIPS 204, table 2).
    pub(crate) fn signature_bytes(self) -> usize {
        match self {
            Self::Ecdsa => 71,
            Self::Rsa => 256,
            Self::MlDsa44 | Self::SizeOfMlDsa44 => 2420,
            Self::MlDsa65 | Self::SizeOfMlDsa65 => 3309,
        }
    }

    /// The kind's name in commands.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ecdsa => "ecdsa",
            Self::Rsa => "rsa",
            Self::MlDsa44 => "ml-dsa-44",
            Self::MlDsa65 => "ml-dsa-65",
            Self::SizeOfMlDsa44 => "ml-dsa-44-size",
            Self::SizeOfMlDsa65 => "ml-dsa-65-size",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chain {
    pub kind: Kind,
    /// Certificates that are sent: the leaf and intermediates.
    pub length: u8,
    /// Least length of all certificates together, in bytes of DER; None adds nothing to them.
    pub bytes: Option<u32>,
    /// Timestamps of made-up logs in the leaf (RFC 6962 section 3.3).
    pub scts: u8,
    /// Least length of the stapled OCSP response (RFC 6960), for clients that ask for one; 0 sends none.
    pub staple_bytes: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            kind: Kind::default(),
            length: 2,
            bytes: None,
            scts: 0,
            staple_bytes: 0,
        }
    }
}

impl Chain {
    pub(crate) fn check(&self) -> Result<()> {
        let asked = self.bytes.unwrap_or(0);
        ensure!(asked <= LONGEST, "bytes: {asked} is more than {LONGEST}");
        ensure!(
            CERTIFICATES.contains(&self.length),
            "length: {} is not between {} and {}",
            self.length,
            CERTIFICATES.start(),
            CERTIFICATES.end()
        );
        ensure!(
            self.scts <= MOST_SCTS,
            "scts: {} is more than {MOST_SCTS}",
            self.scts
        );
        ensure!(
            self.staple_bytes <= LONGEST_STAPLE,
            "staple_bytes: {} is more than {LONGEST_STAPLE}",
            self.staple_bytes
        );
        Ok(())
    }

    pub(crate) fn least(&self) -> usize {
        self.bytes.unwrap_or(0) as usize
    }
}

//! Certificates in a compressed message (RFC 8879).

use rustls::CertificateCompressionAlgorithm;
use rustls::compress::{
    BROTLI_COMPRESSOR, CertCompressor, CompressionFailed, CompressionLevel, ZLIB_COMPRESSOR,
};
use serde::{Deserialize, Serialize};

use super::shown;

/// The compression that the server offers to clients that can read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    #[default]
    None,
    Brotli,
    Zlib,
}

impl Compression {
    pub(crate) fn compressors(self) -> Vec<&'static dyn CertCompressor> {
        match self {
            Self::None => vec![],
            Self::Brotli => vec![&Told(BROTLI_COMPRESSOR)],
            Self::Zlib => vec![&Told(ZLIB_COMPRESSOR)],
        }
    }
}

/// A compressor that tells the connection of the handshake how long the message became.
#[derive(Debug)]
struct Told(&'static dyn CertCompressor);

impl CertCompressor for Told {
    fn compress(
        &self,
        input: Vec<u8>,
        level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed> {
        let compression = match self.algorithm() {
            CertificateCompressionAlgorithm::Zlib => Compression::Zlib,
            _ => Compression::Brotli,
        };
        let made = self.0.compress(input, level)?;
        shown::compressed(compression, made.len());
        Ok(made)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        self.0.algorithm()
    }
}

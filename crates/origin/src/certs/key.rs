//! Keys of certificates. ring makes the keys of ECDSA, as in earlier versions; aws-lc makes the
//! others. aws-lc takes randomness from the processor, which differs between two runs in virtual
//! time. A signature of ECDSA is 70 to 72 bytes long, by chance; those of RSA and ML-DSA always
//! have the same length.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ML_DSA_44, PKCS_ML_DSA_65, PKCS_RSA_SHA256,
    PublicKeyData, RsaKeySize, SignatureAlgorithm, SigningKey,
};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use rustls::pki_types::{AlgorithmIdentifier, PrivateKeyDer, PrivatePkcs8KeyDer, alg_id};

use super::chain::Kind;

const PEM_LINE: usize = 64;

pub(super) enum Key {
    Curve {
        pair: Box<EcdsaKeyPair>,
        pkcs8: Vec<u8>,
    },
    Other(KeyPair),
}

impl Key {
    pub fn new(kind: Kind) -> Result<Self> {
        Ok(Self::Other(match kind.keys() {
            Kind::Rsa => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?,
            Kind::MlDsa44 => KeyPair::generate_for(&PKCS_ML_DSA_44)?,
            Kind::MlDsa65 => KeyPair::generate_for(&PKCS_ML_DSA_65)?,
            _ => return Self::curve(),
        }))
    }

    fn curve() -> Result<Self> {
        let (algorithm, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
        let broken = |_| anyhow::anyhow!("no key of ECDSA");
        let made = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(broken)?;
        let pkcs8 = made.as_ref().to_vec();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, &pkcs8, &random)
            .map_err(|error| anyhow::anyhow!("a key of ECDSA: {error}"))?;
        Ok(Self::Curve {
            pair: Box::new(pair),
            pkcs8,
        })
    }

    /// The private key (PKCS #8).
    pub fn private(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.pkcs8()).into()
    }

    pub fn pem(&self) -> String {
        let text = STANDARD.encode(self.pkcs8());
        let lines: Vec<&[u8]> = text.as_bytes().chunks(PEM_LINE).collect();
        let lines = String::from_utf8_lossy(&lines.join(&b'\n')).into_owned();
        format!("-----BEGIN PRIVATE KEY-----\n{lines}\n-----END PRIVATE KEY-----\n")
    }

    fn pkcs8(&self) -> Vec<u8> {
        match self {
            Self::Curve { pkcs8, .. } => pkcs8.clone(),
            Self::Other(pair) => pair.serialize_der(),
        }
    }
}

/// The algorithm of signatures with such keys.
pub(super) fn algorithm(kind: Kind) -> AlgorithmIdentifier {
    match kind.keys() {
        Kind::Rsa => alg_id::RSA_PKCS1_SHA256,
        Kind::MlDsa44 => alg_id::ML_DSA_44,
        Kind::MlDsa65 => alg_id::ML_DSA_65,
        _ => alg_id::ECDSA_SHA256,
    }
}

impl PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        match self {
            Self::Curve { pair, .. } => pair.public_key().as_ref(),
            Self::Other(pair) => pair.der_bytes(),
        }
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        match self {
            Self::Curve { .. } => &PKCS_ECDSA_P256_SHA256,
            Self::Other(pair) => pair.algorithm(),
        }
    }
}

impl SigningKey for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        match self {
            Self::Curve { pair, .. } => {
                let signed = pair.sign(&SystemRandom::new(), message);
                let signed = signed.map_err(|_| rcgen::Error::RemoteKeyError)?;
                Ok(signed.as_ref().to_vec())
            }
            Self::Other(pair) => pair.sign(message),
        }
    }
}

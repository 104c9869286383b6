//! TLS as Chromium speaks it, and what is kept between loads: tickets, and who was verified.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::compress::{BROTLI_DECOMPRESSOR, ZLIB_DECOMPRESSOR};
use rustls::crypto::aws_lc_rs;
use rustls::crypto::ring::{self, cipher_suite};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::input::{CertificateCompression, Tls, TlsVersion};
use crate::net::hybrid::X25519MlKem768;
use crate::net::tickets::Tickets;

/// Configurations, made once: rustls resumes a session only under the verifier it began with.
#[derive(Default)]
pub struct Store {
    made: BTreeMap<(PathBuf, Offer), Made>,
}

/// What a ClientHello says of keys and certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Offer {
    version: TlsVersion,
    post_quantum: bool,
    ml_dsa: bool,
    compression: CertificateCompression,
}

impl Offer {
    fn of(version: TlsVersion, tls: Tls) -> Self {
        Self {
            version,
            post_quantum: tls.post_quantum,
            ml_dsa: tls.ml_dsa,
            compression: tls.certificate_compression,
        }
    }
}

struct Made {
    tcp: ClientConfig,
    quic: ClientConfig,
    verifier: Arc<Verifier>,
}

impl Store {
    /// Returns the settings for TCP, which offer `alpn`, and the verifier of the server's
    /// certificates.
    pub fn tcp(
        &mut self,
        ca: &Path,
        tls: Tls,
        alpn: &[&str],
    ) -> Result<(ClientConfig, Arc<Verifier>)> {
        let made = self.made(ca, Offer::of(tls.version, tls))?;
        let verifier = made.verifier.clone();
        Ok((tuned(made.tcp.clone(), tls, alpn), verifier))
    }

    /// The settings for QUIC, which is always TLS 1.3, and the verifier of the server's
    /// certificates.
    pub fn quic(&mut self, ca: &Path, tls: Tls) -> Result<(ClientConfig, Arc<Verifier>)> {
        let made = self.made(ca, Offer::of(TlsVersion::V1_3, tls))?;
        let verifier = made.verifier.clone();
        Ok((tuned(made.quic.clone(), tls, &["h3"]), verifier))
    }

    fn made(&mut self, ca: &Path, offer: Offer) -> Result<&Made> {
        let key = (ca.to_owned(), offer);
        if !self.made.contains_key(&key) {
            let made = make(ca, offer).with_context(|| format!("load.ca: {}", ca.display()))?;
            self.made.insert(key.clone(), made);
        }
        Ok(&self.made[&key])
    }
}

/// Protocol names that no server has. They stand for what Chromium's ClientHello has and rustls' lacks
/// (GREASE, ECH's GREASE, ALPS, compressed certificates): 320 bytes, which take their time on a slow
/// uplink and count when a queue is full.
const FILLER: [[u8; 160]; 2] = [[b'.'; 160]; 2];

fn tuned(mut config: ClientConfig, tls: Tls, alpn: &[&str]) -> ClientConfig {
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    config
        .alpn_protocols
        .extend(FILLER.iter().map(|name| name.to_vec()));
    config.enable_early_data = tls.early_data;
    if !tls.resumption {
        config.resumption = Resumption::disabled();
    }
    config
}

fn make(ca: &Path, offer: Offer) -> Result<Made> {
    let mut provider = ring::default_provider();
    provider.cipher_suites = vec![
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    ];
    if offer.post_quantum {
        provider.kx_groups.insert(0, &X25519MlKem768);
    }
    if offer.ml_dsa {
        let with_ml_dsa = aws_lc_rs::default_provider();
        provider.signature_verification_algorithms = with_ml_dsa.signature_verification_algorithms;
    }
    let provider = Arc::new(provider);
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca)? {
        roots.add(certificate?)?;
    }
    ensure!(!roots.is_empty(), "no certificate in it");
    let roots = Arc::new(roots);
    let webpki = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build()?;
    let verifier = Arc::new(Verifier {
        webpki,
        verified: Mutex::default(),
    });
    let version = match offer.version {
        TlsVersion::V1_2 => &TLS12,
        TlsVersion::V1_3 => &TLS13,
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])?
        .dangerous()
        .with_custom_certificate_verifier(verifier.clone())
        .with_no_client_auth();
    config.cert_decompressors = match offer.compression {
        CertificateCompression::None => vec![],
        CertificateCompression::Brotli => vec![BROTLI_DECOMPRESSOR],
        CertificateCompression::Zlib => vec![ZLIB_DECOMPRESSOR],
    };
    let tickets = || Resumption::store(Tickets::new());
    let (mut tcp, mut quic) = (config.clone(), config);
    tcp.resumption = tickets();
    quic.resumption = tickets();
    Ok(Made {
        tcp,
        quic,
        verifier,
    })
}

/// Verifies as webpki does, and counts: a resumed handshake shows no certificate, and quinn does not
/// say which kind it was.
#[derive(Debug)]
pub struct Verifier {
    webpki: Arc<WebPkiServerVerifier>,
    verified: Mutex<BTreeMap<String, Shown>>,
}

/// The certificate that a host showed.
#[derive(Debug)]
struct Shown {
    times: u64,
    /// The certificate that was shown last.
    certificate: CertificateDer<'static>,
    last: Last,
}

/// What a host showed the last time.
#[derive(Debug, Clone, Copy)]
pub struct Last {
    /// The scheme by which it signed, by its number in TLS's registry; None before it did.
    pub signature: Option<u16>,
    /// Length (DER) of its certificates.
    pub bytes: usize,
}

impl Verifier {
    /// Returns how often this host has shown its certificate.
    pub fn count(&self, host: &str) -> u64 {
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        verified.get(host).map_or(0, |shown| shown.times)
    }

    /// What this host showed the last time.
    pub fn shown(&self, host: &str) -> Option<Last> {
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        verified.get(host).map(|shown| shown.last)
    }

    fn signed(&self, certificate: &CertificateDer<'_>, scheme: SignatureScheme) {
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = verified.values_mut();
        for shown in shown.filter(|shown| shown.certificate == *certificate) {
            shown.last.signature = Some(scheme.into());
        }
    }

    /// Whether the certificate that `shown_by` has shown is good for `host`.
    pub fn covers(&self, shown_by: &str, host: &str) -> bool {
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = verified.get(shown_by);
        shown.is_some_and(|shown| good_for(&shown.certificate, host).is_ok())
    }
}

fn good_for(certificate: &CertificateDer<'_>, host: &str) -> Result<()> {
    let parsed = ParsedCertificate::try_from(certificate)?;
    Ok(verify_server_name(&parsed, &ServerName::try_from(host)?)?)
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        let times = verified.get(&*name.to_str()).map_or(0, |shown| shown.times);
        let shown = Shown {
            times: times + 1,
            certificate: end_entity.clone().into_owned(),
            last: Last {
                signature: None,
                bytes: end_entity.len() + intermediates.iter().map(|one| one.len()).sum::<usize>(),
            },
        };
        verified.insert(name.to_str().into_owned(), shown);
        self.webpki
            .verify_server_cert(end_entity, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(cert, signature.scheme);
        self.webpki.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(cert, signature.scheme);
        self.webpki.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}

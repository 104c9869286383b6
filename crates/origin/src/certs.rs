//! A throw-away certificate authority: root, intermediate, and a leaf for every host, or for hosts that
//! share one.
//!
//! The chain sent is leaf + intermediate, as public sites send it, so that a handshake has a
//! realistic size; TCP and QUIC send the same. All keys are ECDSA P-256. A chain can be made as large as
//! those of sites with many names.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, PublicKeyData,
};
use ring::digest::{SHA256, digest};
use rustls::crypto::ring::sign::any_ecdsa_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};
use time::{Duration, OffsetDateTime};

use crate::lock::unpoisoned;
use crate::page::digest::digest_of;

const VALID_DAYS: i64 = 90;

/// The end of made-up names, which is reserved (RFC 2606), so that no host has them.
const NOWHERE: &str = ".invalid";
/// Bytes of a made-up name in a certificate, as long as most real ones.
const NAME_BYTES: usize = 32;
/// Tag and length of a name (X.690 section 8.1).
const NAME_HEAD: usize = 2;
/// Encoded bytes of the shortest made-up name: one letter before `NOWHERE`.
const SHORTEST_NAME: usize = NAME_HEAD + 1 + NOWHERE.len();

/// All names that one certificate covers, in the certificate's order.
type Names = Arc<[String]>;

/// Issues each certificate once.
pub struct Authority {
    root_pem: String,
    /// Name of the intermediate. It is unique, because browsers report a host's issuer by name.
    name: String,
    intermediate: CertifiedIssuer<'static, KeyPair>,
    /// One key for all leaves: making one per host would buy nothing.
    leaf_key: KeyPair,
    signer: Arc<dyn SigningKey>,
    /// Certificates by what they cover and the least bytes of the chain: chains of one size never
    /// stand in for another's.
    issued: Mutex<HashMap<(Names, usize), Arc<CertifiedKey>>>,
    /// The names that each host's certificate covers. Other hosts have their own certificates.
    shared: Mutex<HashMap<String, Names>>,
    /// rcgen makes serial numbers of the key, which is one for all, and NSS, with which old Chromiums
    /// verify, takes no two certificates of one issuer with the same number (RFC 5280 section 4.1.2.2).
    last_serial: AtomicU64,
}

impl Authority {
    pub fn new() -> Result<Self> {
        let root = CertifiedIssuer::self_signed(authority("dragstrip root"), KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let name = format!(
            "dragstrip CA {:.9}",
            digest_of(&key.subject_public_key_info())
        );
        let intermediate = CertifiedIssuer::signed_by(authority(&name), key, &root)?;
        let leaf_key = KeyPair::generate()?;
        let der = PrivateKeyDer::try_from(leaf_key.serialize_der()).map_err(anyhow::Error::msg)?;
        Ok(Self {
            root_pem: root.pem(),
            name,
            intermediate,
            leaf_key,
            signer: any_ecdsa_type(&der)?,
            issued: Mutex::default(),
            shared: Mutex::default(),
            last_serial: AtomicU64::new(0),
        })
    }

    /// The root certificate, which a client must trust.
    pub fn root_pem(&self) -> &str {
        &self.root_pem
    }

    /// The issuer's name, as the certificates give it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives these hosts certificates that cover the given names.
    pub fn share(&self, certificates: &BTreeMap<String, Vec<String>>) {
        let shared = certificates
            .iter()
            .map(|(host, names)| (host.clone(), Names::from(names.clone())));
        *unpoisoned(&self.shared) = shared.collect();
    }

    /// Returns the names that the certificate of `host` covers.
    pub fn names(&self, host: &str) -> Names {
        let shared = unpoisoned(&self.shared).get(host).cloned();
        shared.unwrap_or_else(|| [host.to_owned()].into())
    }

    /// The chain for `host`, made at the first call, with `least` bytes of DER at least. An error if a
    /// name in it is no DNS name.
    pub fn issue(&self, host: &str, least: usize) -> Result<Arc<CertifiedKey>> {
        let names = self.names(host);
        let mut issued = unpoisoned(&self.issued);
        if let Some(chain) = issued.get(&(names.clone(), least)) {
            return Ok(chain.clone());
        }
        let leaf = self.leaf(&names, least).with_context(|| names.join(", "))?;
        let chain = vec![leaf.into(), self.intermediate.der().clone()];
        let chain = Arc::new(CertifiedKey::new(chain, self.signer.clone()));
        issued.insert((names, least), chain.clone());
        Ok(chain)
    }

    /// A chain like those of `issue` that covers all `hosts`, for another server.
    pub fn chain_pem(&self, hosts: &[String], least: usize) -> Result<String> {
        let leaf = self.leaf(hosts, least).with_context(|| hosts.join(", "))?;
        Ok(leaf.pem() + &self.intermediate.pem())
    }

    pub fn leaf_key_pem(&self) -> String {
        self.leaf_key.serialize_pem()
    }

    /// A leaf with made-up names, until the chain has `least` bytes. A signature takes 70 to 72 of
    /// them.
    fn leaf(&self, hosts: &[String], least: usize) -> Result<Certificate> {
        let mut names = hosts.to_vec();
        let mut filled = 0;
        loop {
            let leaf = self.signed(&names)?;
            let lacking = least.saturating_sub(leaf.der().len() + self.intermediate.der().len());
            if lacking == 0 {
                return Ok(leaf);
            }
            filled += lacking.max(SHORTEST_NAME);
            names.truncate(hosts.len());
            names.extend(made_up(filled));
        }
    }

    fn signed(&self, hosts: &[String]) -> Result<Certificate> {
        let mut params = params(hosts.first().map_or("", String::as_str));
        params.serial_number = Some((self.last_serial.fetch_add(1, Ordering::Relaxed) + 1).into());
        let names = hosts
            .iter()
            .map(|host| Ok(rcgen::SanType::DnsName(host.as_str().try_into()?)));
        params.subject_alt_names = names.collect::<Result<_>>()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        Ok(params.signed_by(&self.leaf_key, &self.intermediate)?)
    }
}

fn authority(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn params(name: &str) -> CertificateParams {
    let now = OffsetDateTime::now_utc();
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    // A day back, for clients whose clock is behind.
    params.not_before = now - Duration::days(1);
    params.not_after = now + Duration::days(VALID_DAYS);
    params
}

/// Random-looking host names that add about this many bytes to a certificate.
fn made_up(bytes: usize) -> impl Iterator<Item = String> {
    let count = (bytes / NAME_BYTES).max(1);
    (0..count).map(move |index| {
        let last = index + 1 == count;
        let length = if last {
            bytes - index * NAME_BYTES
        } else {
            NAME_BYTES
        };
        letters(index, length - NAME_HEAD - NOWHERE.len()) + NOWHERE
    })
}

/// Random letters, the same ones for the same place.
fn letters(index: usize, length: usize) -> String {
    let random = (0..).flat_map(|part: usize| {
        let hash = digest(&SHA256, format!("{index} {part}").as_bytes());
        hash.as_ref().to_vec()
    });
    let letter = |byte: u8| char::from(b'a' + byte % 26);
    random.take(length).map(letter).collect()
}

/// The chains of one connection.
pub(crate) struct Chains {
    authority: Arc<Authority>,
    least: usize,
    sent: Sent,
}

/// Length (DER) of the chain that a handshake sent; 0 before.
pub(crate) type Sent = Arc<AtomicUsize>;

/// The length of the chain that a handshake sent; None if it resumed a session (RFC 8446 section
/// 2.2).
pub(crate) fn told(sent: &Sent, resumed: bool) -> Option<usize> {
    let length = sent.load(Ordering::Relaxed);
    (length > 0 && !resumed).then_some(length)
}

impl Chains {
    pub fn new(authority: &Arc<Authority>, least: usize, sent: &Sent) -> Self {
        Self {
            authority: authority.clone(),
            least,
            sent: sent.clone(),
        }
    }
}

impl ResolvesServerCert for Chains {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let host = hello.server_name()?.to_ascii_lowercase();
        let chain = self.authority.issue(&host, self.least).ok()?;
        let length = chain.cert.iter().map(|one| one.len()).sum();
        self.sent.store(length, Ordering::Relaxed);
        Some(chain)
    }
}

impl fmt::Debug for Chains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chains")
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

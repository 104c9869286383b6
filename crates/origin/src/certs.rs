//! A throw-away certificate authority: root, intermediate, and a leaf for every host.
//!
//! The chain sent is leaf + intermediate, as public sites send it, so that a handshake has a
//! realistic size; TCP and QUIC send the same. All keys are ECDSA P-256.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, PublicKeyData,
};
use rustls::crypto::ring::sign::any_ecdsa_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};
use time::{Duration, OffsetDateTime};

use crate::log::unpoisoned;
use crate::page::digest::digest_of;

const VALID_DAYS: i64 = 90;

/// Issues a certificate per server name, once.
pub struct Authority {
    root_pem: String,
    /// Name of the intermediate. It is unique, because browsers report a host's issuer by name.
    name: String,
    intermediate: CertifiedIssuer<'static, KeyPair>,
    /// One key for all leaves: making one per host would buy nothing.
    leaf_key: KeyPair,
    signer: Arc<dyn SigningKey>,
    issued: Mutex<HashMap<String, Arc<CertifiedKey>>>,
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
            last_serial: AtomicU64::new(0),
        })
    }

    /// The certificate a client must trust.
    pub fn root_pem(&self) -> &str {
        &self.root_pem
    }

    /// Whom the certificates name as their issuer.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The chain for `host`, made at the first call. An error if `host` is no DNS name.
    pub fn issue(&self, host: &str) -> Result<Arc<CertifiedKey>> {
        let mut issued = unpoisoned(&self.issued);
        if let Some(chain) = issued.get(host) {
            return Ok(chain.clone());
        }
        let chain = vec![
            self.leaf(&[host]).with_context(|| host.to_owned())?.into(),
            self.intermediate.der().clone(),
        ];
        let chain = Arc::new(CertifiedKey::new(chain, self.signer.clone()));
        issued.insert(host.to_owned(), chain.clone());
        Ok(chain)
    }

    /// A chain like the one `issue` gives, good for all `hosts`, for a server that is not ours.
    pub fn chain_pem(&self, hosts: &[&str]) -> Result<String> {
        let leaf = self.leaf(hosts).with_context(|| hosts.join(", "))?;
        Ok(leaf.pem() + &self.intermediate.pem())
    }

    pub fn leaf_key_pem(&self) -> String {
        self.leaf_key.serialize_pem()
    }

    fn leaf(&self, hosts: &[&str]) -> Result<Certificate> {
        let mut params = params(hosts.first().copied().unwrap_or_default());
        params.serial_number = Some((self.last_serial.fetch_add(1, Ordering::Relaxed) + 1).into());
        let names = hosts
            .iter()
            .map(|&host| Ok(rcgen::SanType::DnsName(host.try_into()?)));
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

impl ResolvesServerCert for Authority {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.issue(&hello.server_name()?.to_ascii_lowercase()).ok()
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

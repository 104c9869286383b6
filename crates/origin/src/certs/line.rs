//! The intermediates and leaves of one kind.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, CustomExtension,
    DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose,
};
use rustls::crypto::{aws_lc_rs, ring};
use rustls::pki_types::CertificateDer;
use rustls::sign::{CertifiedKey, SigningKey};
use time::{Duration, OffsetDateTime};

use super::chain::{Chain, Kind};
use super::der::{SEQUENCE, SET, UTF8, value};
use super::filling::{self, SHORTEST_NAME, made_up};
use super::key::{Key, algorithm};
use super::{scts, staple};
use crate::lock::unpoisoned;

pub(super) type Issuer = CertifiedIssuer<'static, Key>;

const VALID_DAYS: i64 = 90;
/// Encoded object identifiers of a common name and an organizational unit.
const COMMON_NAME: &[u8] = &[6, 3, 85, 4, 3];
const UNIT: &[u8] = &[6, 3, 85, 4, 11];
/// Bytes by which the length of an ECDSA signature varies.
const VARIES: usize = 2;

pub(super) struct Line {
    kind: Kind,
    /// Common name of the intermediates.
    name: String,
    root: Arc<Issuer>,
    /// The intermediates: the root issued the first, and each issued the next.
    intermediates: Mutex<Vec<Arc<Issuer>>>,
    /// The key of all leaves. A separate key per host would change nothing.
    pub leaf_key: Key,
    signer: Arc<dyn SigningKey>,
    /// The line whose chains these chains match in size; None if they have their own sizes.
    like: Option<Arc<Self>>,
    /// The last serial number. rcgen derives serial numbers from the key, which all leaves share.
    /// NSS, with which old Chromiums verify, takes no two certificates of one issuer with the same
    /// number (RFC 5280 section 4.1.2.2).
    last_serial: AtomicU64,
}

impl Line {
    pub fn new(
        kind: Kind,
        name: &str,
        root: &Arc<Issuer>,
        like: Option<Arc<Self>>,
    ) -> Result<Self> {
        let leaf_key = Key::new(kind)?;
        let der = leaf_key.private();
        let signer = match kind.keys() {
            Kind::Ecdsa => ring::sign::any_ecdsa_type(&der),
            _ => aws_lc_rs::sign::any_supported_type(&der),
        };
        Ok(Self {
            kind,
            name: name.to_owned(),
            root: root.clone(),
            intermediates: Mutex::default(),
            leaf_key,
            signer: signer?,
            like,
            last_serial: AtomicU64::new(0),
        })
    }

    /// Adds the first intermediate, whose key was made already.
    pub fn begin(&self, key: Key) -> Result<()> {
        let first = self.certified(0, key)?;
        unpoisoned(&self.intermediates).push(Arc::new(first));
        Ok(())
    }

    pub fn chain(&self, hosts: &[String], chain: &Chain) -> Result<CertifiedKey> {
        let (leaf, serial) = self.leaf(hosts, chain)?;
        let above = self.above(chain)?;
        let mut sent: Vec<CertificateDer<'static>> = vec![leaf.into()];
        sent.extend(above.iter().map(|issuer| issuer.der().clone()));
        let mut made = CertifiedKey::new(sent, self.signer.clone());
        if chain.staple_bytes > 0 {
            let about = staple::About {
                issuer: &encoded(&self.name, unit(self.kind, above.len() - 1).as_deref()),
                key: above[0].key(),
                algorithm: algorithm(self.kind),
                serial,
            };
            made.ocsp = Some(staple::response(&about, chain.staple_bytes as usize)?);
        }
        Ok(made)
    }

    pub fn chain_pem(&self, hosts: &[String], chain: &Chain) -> Result<String> {
        let leaf = self.leaf(hosts, chain)?.0.pem();
        let above = self.above(chain)?;
        Ok(above.iter().fold(leaf, |pem, issuer| pem + &issuer.pem()))
    }

    /// The intermediates of a chain as they are sent: the leaf's issuer first.
    fn above(&self, chain: &Chain) -> Result<Vec<Arc<Issuer>>> {
        let wanted = usize::from(chain.length) - 1;
        let mut made = unpoisoned(&self.intermediates);
        while made.len() < wanted {
            let key = Key::new(self.kind)?;
            let level = made.len();
            let issuer = match made.last() {
                None => self.certified(level, key)?,
                Some(above) => self.certified_by(level, key, above)?,
            };
            made.push(Arc::new(issuer));
        }
        Ok(made[..wanted].iter().rev().cloned().collect())
    }

    fn certified(&self, level: usize, key: Key) -> Result<Issuer> {
        self.certified_by(level, key, &self.root.clone())
    }

    fn certified_by(&self, level: usize, key: Key, above: &Issuer) -> Result<Issuer> {
        let params = |filler| {
            let mut params = authority(&self.name, unit(self.kind, level).as_deref());
            params.custom_extensions.extend(filler);
            params
        };
        let Some(like) = &self.like else {
            return Ok(Issuer::signed_by(params(None), key, above)?);
        };
        let chain = Chain {
            length: level as u8 + 2,
            ..Chain::default()
        };
        let target = like.above(&chain)?[0].der().len();
        let trial = |filler| Ok(params(filler).signed_by(&key, above)?.der().len());
        let filler = fitting("intermediate", target, trial)?;
        Ok(Issuer::signed_by(params(filler), key, above)?)
    }

    /// A leaf, and its serial number.
    fn leaf(&self, hosts: &[String], chain: &Chain) -> Result<(Certificate, u64)> {
        let above = self.above(chain)?;
        let Some(like) = &self.like else {
            return self.filled(hosts, chain, &above);
        };
        let (theirs, ours) = (like.kind.signature_bytes(), Kind::Ecdsa.signature_bytes());
        let target = like.leaf(hosts, chain)?.0.der().len() + theirs - ours;
        let trial = |filler| Ok(self.signed(hosts, chain, filler, &above[0])?.0.der().len());
        let filler = fitting("leaf", target, trial)?;
        self.signed(hosts, chain, filler, &above[0])
    }

    /// Makes a leaf with enough made-up names for the chain's length. An ECDSA signature takes 70
    /// to 72 bytes of that length.
    fn filled(
        &self,
        hosts: &[String],
        chain: &Chain,
        above: &[Arc<Issuer>],
    ) -> Result<(Certificate, u64)> {
        let above_bytes: usize = above.iter().map(|issuer| issuer.der().len()).sum();
        let mut names = hosts.to_vec();
        let mut filled = 0;
        loop {
            let made = self.signed(&names, chain, None, &above[0])?;
            let lacking = chain
                .least()
                .saturating_sub(made.0.der().len() + above_bytes);
            if lacking == 0 {
                return Ok(made);
            }
            filled += lacking.max(SHORTEST_NAME);
            names.truncate(hosts.len());
            names.extend(made_up(filled));
        }
    }

    fn signed(
        &self,
        hosts: &[String],
        chain: &Chain,
        filler: Option<CustomExtension>,
        issuer: &Issuer,
    ) -> Result<(Certificate, u64)> {
        let mut params = params(hosts.first().map_or("", String::as_str), None);
        let serial = self.last_serial.fetch_add(1, Ordering::Relaxed) + 1;
        params.serial_number = Some(serial.into());
        let names = hosts.iter().map(|host| {
            Ok(match host.parse() {
                Ok(address) => rcgen::SanType::IpAddress(address),
                Err(_) => rcgen::SanType::DnsName(host.as_str().try_into()?),
            })
        });
        params.subject_alt_names = names.collect::<Result<_>>()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let scts = (chain.scts > 0).then(|| scts::extension(chain.scts));
        params.custom_extensions.extend(scts);
        params.custom_extensions.extend(filler);
        Ok((params.signed_by(&self.leaf_key, issuer)?, serial))
    }
}

/// Finds the filler for which `length` returns the target, give or take the variation of a
/// signature.
fn fitting(
    place: &str,
    target: usize,
    length: impl Fn(Option<CustomExtension>) -> Result<usize>,
) -> Result<Option<CustomExtension>> {
    let filler = |bytes| (bytes > 0).then(|| filling::extension(place, bytes));
    let mut bytes = 0;
    for _ in 0..8 {
        let found = length(filler(bytes))?;
        if found.abs_diff(target) <= VARIES {
            return Ok(filler(bytes));
        }
        bytes = (bytes + target).checked_sub(found).context("no room")?;
    }
    anyhow::bail!("{place}: no filler gives {target} bytes")
}

/// The organizational unit, which distinguishes intermediates of one name; the first has none.
fn unit(kind: Kind, level: usize) -> Option<String> {
    (kind != Kind::Ecdsa || level > 0).then(|| format!("{} {level}", kind.name()))
}

pub(super) fn authority(name: &str, unit: Option<&str>) -> CertificateParams {
    let mut params = params(name, unit);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn params(name: &str, unit: Option<&str>) -> CertificateParams {
    let now = OffsetDateTime::now_utc();
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(unit) = unit {
        params
            .distinguished_name
            .push(DnType::OrganizationalUnitName, unit);
    }
    // A day back, for clients whose clock is behind.
    params.not_before = now - Duration::days(1);
    params.not_after = now + Duration::days(VALID_DAYS);
    params
}

/// Encodes a name as `params` writes it.
fn encoded(name: &str, unit: Option<&str>) -> Vec<u8> {
    let one = |kind: &[u8], text: &str| {
        let pair = value(SEQUENCE, &[kind, &value(UTF8, &[text.as_bytes()])]);
        value(SET, &[&pair])
    };
    let unit = unit.map_or_else(Vec::new, |unit| one(UNIT, unit));
    value(SEQUENCE, &[&one(COMMON_NAME, name), &unit])
}

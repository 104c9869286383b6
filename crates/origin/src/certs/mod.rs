//! A throw-away certificate authority: roots, intermediates, and a leaf for every host, or for hosts
//! that share one.
//!
//! The chain sent is leaf + intermediate, as public sites send it, so that a handshake has a
//! realistic size; TCP and QUIC send the same. All keys are ECDSA P-256 unless another kind is asked
//! for. A chain can be made as long as those of sites with many names or intermediates.

mod chain;
mod compression;
mod der;
mod filling;
mod key;
mod key_share;
mod line;
mod scts;
mod shown;
mod staple;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use rcgen::PublicKeyData;
use rustls::sign::CertifiedKey;

use crate::lock::unpoisoned;
use crate::page::digest::digest_of;
use key::Key;
use line::{Issuer, Line, authority};

pub use chain::{Chain, Kind};
pub use compression::Compression;
pub use key_share::KeyShare;
pub(crate) use key_share::group_name;
pub use shown::Shown;
pub(crate) use shown::{Chains, Showing};

/// All names that a certificate covers, in its order.
type Names = Arc<[String]>;

/// Issues each certificate once.
pub struct Authority {
    /// The roots by kind, each made at its first use: keys of kinds other than ECDSA depend on no
    /// seed (`key`).
    roots: Mutex<BTreeMap<Kind, Arc<Issuer>>>,
    /// Name of the intermediates. It is unique, because browsers report a host's issuer by name.
    name: String,
    /// The line of each kind, made at its first use.
    lines: Mutex<HashMap<Kind, Arc<Line>>>,
    /// Certificates by the names that they cover and by chain, so no stack gets another stack's
    /// chain.
    issued: Mutex<HashMap<(Names, Chain), Arc<CertifiedKey>>>,
    /// The names that each host's certificate covers. Other hosts have their own certificates.
    shared: Mutex<HashMap<String, Names>>,
}

/// What another server needs to show certificates like ours.
pub(crate) struct Files {
    pub chain: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Result<Self> {
        let root = root(Kind::Ecdsa)?;
        let key = Key::new(Kind::Ecdsa)?;
        let name = format!(
            "dragstrip CA {:.9}",
            digest_of(&key.subject_public_key_info())
        );
        let usual = Line::new(Kind::Ecdsa, &name, &root, None)?;
        usual.begin(key)?;
        Ok(Self {
            roots: Mutex::new([(Kind::Ecdsa, root)].into()),
            name,
            lines: Mutex::new([(Kind::Ecdsa, Arc::new(usual))].into()),
            issued: Mutex::default(),
            shared: Mutex::default(),
        })
    }

    /// The certificate that most clients must trust: that of ECDSA.
    pub fn root_pem(&self) -> String {
        unpoisoned(&self.roots)[&Kind::Ecdsa].pem()
    }

    /// The certificates a client of every stack must trust: one for each kind.
    pub fn roots_pem(&self) -> Result<String> {
        let kinds = Kind::ROOTED.into_iter();
        kinds.map(|kind| Ok(self.root(kind)?.pem())).collect()
    }

    fn root(&self, kind: Kind) -> Result<Arc<Issuer>> {
        let mut roots = unpoisoned(&self.roots);
        if let Some(root) = roots.get(&kind) {
            return Ok(root.clone());
        }
        let made = root(kind)?;
        roots.insert(kind, made.clone());
        Ok(made)
    }

    /// The issuer that the certificates name.
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

    /// The names that the certificate of `host` covers.
    pub fn names(&self, host: &str) -> Names {
        let shared = unpoisoned(&self.shared).get(host).cloned();
        shared.unwrap_or_else(|| [host.to_owned()].into())
    }

    /// The chain for `host`, made at the first call. An error if a name in it is no DNS name.
    pub fn issue(&self, host: &str, chain: &Chain) -> Result<Arc<CertifiedKey>> {
        let names = self.names(host);
        let mut issued = unpoisoned(&self.issued);
        if let Some(made) = issued.get(&(names.clone(), *chain)) {
            return Ok(made.clone());
        }
        let line = self.line(chain.kind)?;
        let made = line
            .chain(&names, chain)
            .with_context(|| names.join(", "))?;
        let made = Arc::new(made);
        issued.insert((names, *chain), made.clone());
        Ok(made)
    }

    /// A chain like those of `issue` that covers all `hosts`, for another server.
    pub fn files(&self, hosts: &[String], chain: &Chain) -> Result<Files> {
        let line = self.line(chain.kind)?;
        let made = line.chain_pem(hosts, chain);
        Ok(Files {
            chain: made.with_context(|| hosts.join(", "))?,
            key: line.leaf_key.pem(),
        })
    }

    fn line(&self, kind: Kind) -> Result<Arc<Line>> {
        if let Some(line) = unpoisoned(&self.lines).get(&kind) {
            return Ok(line.clone());
        }
        let like = kind.size_of().map(|like| self.line(like)).transpose()?;
        let made = Line::new(kind, &self.name, &self.root(kind.keys())?, like)?;
        let made = Arc::new(made);
        unpoisoned(&self.lines).insert(kind, made.clone());
        Ok(made)
    }
}

fn root(kind: Kind) -> Result<Arc<Issuer>> {
    let unit = (kind != Kind::Ecdsa).then(|| kind.name());
    let params = authority("dragstrip root", unit);
    Ok(Arc::new(Issuer::self_signed(params, Key::new(kind)?)?))
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

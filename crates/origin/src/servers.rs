//! Which hosts each address serves, and which of them share a certificate.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use serde::Deserialize;

/// Which of the recorded servers each of the origin's addresses stands for. Hosts that are not
/// named are served at every address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Servers {
    /// The address of each host.
    pub addresses: HashMap<String, IpAddr>,
    /// All hosts that a host's certificate covers; hosts that are not here have their own
    /// certificates.
    pub certificates: BTreeMap<String, Vec<String>>,
}

impl Servers {
    /// Whether a request for a host reached another host's address (RFC 9110 section 15.5.20).
    pub(crate) fn misdirected(&self, host: &str, at: Option<IpAddr>) -> bool {
        let known = self.addresses.get(host);
        known.is_some_and(|known| at.is_some_and(|at| at.to_canonical() != *known))
    }
}

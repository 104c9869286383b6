//! The input of one load, as it stands in the JSON line (docs/reference/processes.md).

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Place of a resource in `Page::resources`.
pub type ResourceId = usize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    pub page: Page,
    /// Where every host of the page answers.
    pub hosts: BTreeMap<String, Place>,
    pub protocol: ProtocolChoice,
    /// File of the authorities to trust, in PEM.
    pub ca: PathBuf,
    #[serde(default)]
    pub tls: Tls,
    #[serde(default)]
    pub tcp: Tcp,
    /// Whether to move to h3 once an answer of h1 or h2 announces it (RFC 7838).
    #[serde(default)]
    pub alt_svc: bool,
    #[serde(default)]
    pub sockets: Sockets,
    pub limits: Limits,
}

/// The port of https, as URLs have it.
const HTTPS: u16 = 443;

/// An address, or an address and the port that replaces 443.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Place {
    pub address: IpAddr,
    pub port: Option<u16>,
}

impl Place {
    /// Returns the address for a URL with this port. http: URLs, and URLs that name a port, keep
    /// their port.
    pub fn socket(&self, secure: bool, port: u16) -> SocketAddr {
        let stands = |_: &u16| secure && port == HTTPS;
        SocketAddr::new(self.address, self.port.filter(stands).unwrap_or(port))
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let alone = text.parse().map(|address| Self {
            address,
            port: None,
        });
        let with_port = |_| {
            text.parse().map(|place: SocketAddr| Self {
                address: place.ip(),
                port: Some(place.port()),
            })
        };
        alone.or_else(with_port).map_err(|_| {
            format!(
                "{text:?} is no place: give an address like 10.0.0.2, or one with a port like \
                 10.0.0.2:8443 or [fd00::2]:8443"
            )
        })
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// The page's resources, the document first.
    pub resources: Vec<Resource>,
    #[serde(default)]
    pub load_event: LoadEvent,
    #[serde(default)]
    pub tight: Option<Tight>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    pub url: String,
    #[serde(default = "get")]
    pub method: String,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// Length of the request's body in bytes.
    #[serde(default)]
    pub body_bytes: u32,
    #[serde(default)]
    pub kind: Kind,
    #[serde(default)]
    pub priority: Priority,
    /// The incremental flag of RFC 9218; if None, the kind of the resource decides.
    #[serde(default)]
    pub incremental: Option<bool>,
    /// The resource that must be done before this one is requested; None for the document.
    #[serde(default)]
    pub after: Option<After>,
    /// Other resources that must be done before this one is requested.
    #[serde(default)]
    pub also: Vec<ResourceId>,
    /// Time in ms from the last of these conditions to the request: computing, or a timer.
    #[serde(default)]
    pub delay_ms: f64,
    /// Whether `delay_ms` is the time of a timer: the page may load while a timer runs.
    #[serde(default)]
    pub timer: bool,
    /// Computing time in ms from the body's last byte until the resource counts as done.
    #[serde(default)]
    pub process_ms: f64,
    /// Whether the load event waits for this resource, if it is under way by then.
    #[serde(default = "yes")]
    pub load_event: bool,
    #[serde(default)]
    pub cached: bool,
    /// Fetched with credentials; None decides by kind. Chromium keeps what goes without (fonts,
    /// `crossorigin`, module scripts) on connections of its own.
    #[serde(default)]
    pub credentials: Option<bool>,
}

/// The part of a resource that makes another one known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum After {
    Resource(AfterResource),
    Event(PageEvent),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterResource {
    pub resource: ResourceId,
    pub at: When,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageEvent {
    LoadEvent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// The answer's headers are here.
    Headers,
    /// Bytes of the body without content encoding.
    Decoded(u64),
    /// Bytes of the body as sent.
    Wire(u64),
    /// The body is here and processed.
    Complete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Document,
    Style,
    Script,
    Image,
    Font,
    Fetch,
    Media,
    #[default]
    Other,
}

/// Chromium's `net::RequestPriority`, the least urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    Idle,
    #[default]
    Lowest,
    Low,
    Medium,
    Highest,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoadEvent {
    pub delay_ms: f64,
}

/// Blink's tight mode: few requests of low priority until the page's head is through.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tight {
    pub until: Vec<ResourceId>,
    pub limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    H1,
    H2,
    H3,
}

/// One protocol for all hosts, or one for each host with a `default`.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum ProtocolChoice {
    All(Protocol),
    ByHost(ByHost),
}

#[derive(Debug, Clone, Deserialize)]
pub struct ByHost {
    pub default: Protocol,
    #[serde(flatten)]
    pub hosts: BTreeMap<String, Protocol>,
}

impl ProtocolChoice {
    pub fn of(&self, host: &str) -> Protocol {
        match self {
            Self::All(protocol) => *protocol,
            Self::ByHost(choice) => *choice.hosts.get(host).unwrap_or(&choice.default),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum TlsVersion {
    #[serde(rename = "1.2")]
    V1_2,
    #[serde(rename = "1.3")]
    V1_3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    pub version: TlsVersion,
    /// Take tickets and offer them.
    pub resumption: bool,
    /// Use TLS 1.3 early data over TCP, and 0-RTT over QUIC.
    pub early_data: bool,
    /// Offer X25519MLKEM768 first, as Chromium does since 131: the ClientHello fills two packets.
    pub post_quantum: bool,
    /// Verify ML-DSA's certificates, which Chromium does not.
    pub ml_dsa: bool,
    /// The compression of certificates that it can read (RFC 8879). Chromium always says Brotli, for
    /// which the filler of the ClientHello stands.
    pub certificate_compression: CertificateCompression,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CertificateCompression {
    #[default]
    None,
    Brotli,
    Zlib,
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            version: TlsVersion::V1_3,
            resumption: true,
            early_data: false,
            post_quantum: true,
            ml_dsa: false,
            certificate_compression: CertificateCompression::None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    /// Use TCP Fast Open (RFC 7413).
    pub fast_open: bool,
}

/// Chromium's socket pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sockets {
    pub per_host: usize,
    pub total: usize,
    /// Time in ms after which a host's first connection gets a second one, if TCP's handshake is
    /// not complete; 0 means never.
    pub backup_ms: u64,
}

impl Default for Sockets {
    fn default() -> Self {
        Self {
            per_host: 6,
            total: 256,
            backup_ms: 250,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub time_ms: u64,
    /// Limit in bytes of all bodies together, both as sent and as decoded.
    #[serde(default = "half_a_gigabyte")]
    pub bytes: u64,
    /// Time in ms after the load event during which requests may continue.
    #[serde(default)]
    pub quiet_ms: u64,
}

fn get() -> String {
    "GET".to_owned()
}

fn yes() -> bool {
    true
}

fn half_a_gigabyte() -> u64 {
    500_000_000
}

impl Resource {
    /// Returns RFC 9218's flag `incremental`, as Blink sets it.
    pub fn incremental(&self) -> bool {
        let whole = matches!(self.kind, Kind::Style | Kind::Script | Kind::Font);
        self.incremental.unwrap_or(!whole)
    }

    pub fn credentials(&self) -> bool {
        self.credentials.unwrap_or(self.kind != Kind::Font)
    }

    /// Whether a server may see the request twice without harm (RFC 8470 section 4), so that it may
    /// go as early data.
    pub fn safe(&self) -> bool {
        ["GET", "HEAD"].contains(&self.method.as_str()) && self.body_bytes == 0
    }
}

/// Returns checked milliseconds as a duration.
pub(crate) fn duration(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1000.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Place;

    #[test]
    fn a_place_is_an_address_with_or_without_a_port() {
        let place = |text: &str| serde_json::from_value::<Place>(json!(text));
        for (text, secure, at) in [
            ("10.0.0.2", true, "10.0.0.2:443"),
            ("10.0.0.2:8443", true, "10.0.0.2:8443"),
            ("10.0.0.2:8443", false, "10.0.0.2:80"),
            ("fd00::2", true, "[fd00::2]:443"),
            ("[fd00::2]:8443", true, "[fd00::2]:8443"),
        ] {
            let port = if secure { 443 } else { 80 };
            assert_eq!(
                place(text).unwrap().socket(secure, port),
                at.parse().unwrap()
            );
        }
        let named = place("10.0.0.2:8443").unwrap().socket(true, 3000);
        assert_eq!(named, "10.0.0.2:3000".parse().unwrap());
        for text in ["", "a.test", "10.0.0.2:", "10.0.0.2:99999", "fd00::2:x"] {
            let said = place(text).unwrap_err().to_string();
            assert!(
                said.starts_with(&format!("{text:?} is no place: give an address")),
                "{said}"
            );
        }
    }
}

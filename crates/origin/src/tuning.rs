//! The settings of the `tune` command. No setting is ever replaced by a default without notice.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http::HeaderValue;
use quinn::{AckFrequencyConfig, MtuDiscoveryConfig, TransportConfig, VarInt};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};

use crate::algorithms::{Congestion, Ecn, SlowStartExit};
use crate::certs::{Chain, Compression, KeyShare, Kind};
use crate::quic::congestion::{Sending, Steering};
use crate::tcp::fast_open;
use crate::tcp::records::Records;
use crate::telemetry;

/// Largest table of QPACK: the size that Chromium offers.
const LARGEST_TABLE: u64 = 64 << 10;

/// Largest window of HTTP/2 (RFC 9113 section 6.9.1).
const LARGEST_WINDOW: u32 = (1 << 31) - 1;

/// How connections accepted from now on behave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tuning {
    pub tcp: Tcp,
    pub quic: Quic,
    pub tls: Tls,
    pub http: Http,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    pub congestion: Congestion,
    /// The kernel's own pacing (SO_MAX_PACING_RATE without a limit). BBR paces in any case.
    pub pacing: bool,
    /// Take data in the SYN of clients that have a cookie, and give cookies (RFC 7413).
    pub fast_open: bool,
    /// Most bytes that the kernel holds unsent. The kernel asks for more when it has less than half
    /// of this (TCP_NOTSENT_LOWAT). No urgent answer overtakes these bytes.
    pub unsent_bytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quic {
    pub congestion: Congestion,
    /// Initial congestion window, in full packets of `udp_payload_bytes` (RFC 9002 section 7.2).
    pub initial_window_packets: u64,
    pub pacing: bool,
    pub slow_start_exit: SlowStartExit,
    /// Send ECT(0) as long as the client confirms it (RFC 9000 section 13.4).
    pub ecn: bool,
    /// Send ECT(1) instead of ECT(0) (RFC 9331). Only Prague may.
    pub l4s: bool,
    /// Round trip assumed until the first one is measured. RFC 9002 section 6.2.2 recommends 333 ms,
    /// and the last connection's for a resumed one.
    pub initial_rtt_ms: f64,
    /// Size of a full UDP payload. Nothing is probed unless a connection begins with less.
    pub udp_payload_bytes: u16,
    /// Size with which a connection begins. It searches the path for `udp_payload_bytes` from there
    /// on (RFC 9000 section 14.3, RFC 8899); None begins with that and does not search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp_start_bytes: Option<u16>,
    /// Ask the client to acknowledge only every Nth packet (draft-ietf-quic-ack-frequency); None
    /// asks for nothing.
    pub ack_every_packets: Option<u32>,
    /// Follow a client whose address or port changes (RFC 9000 section 9), and give it spare
    /// connection ids with which to change them itself.
    pub migration: bool,
    /// Ask every client without a token for one before anything else (RFC 9000 section 8.1.2).
    pub retry: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    pub version: TlsVersion,
    /// Give tickets to clients, and take them.
    pub resumption: bool,
    /// Take TLS 1.3 early data over TCP, 0-RTT over QUIC, on resumed connections.
    pub early_data: bool,
    /// Sizes of the TLS records in which answers leave over TCP. QUIC has no such records.
    pub records: Records,
    pub key_share: KeyShare,
    pub chain: Chain,
    /// Compress certificates for clients that can read it (RFC 8879).
    pub certificate_compression: Compression,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TlsVersion {
    #[serde(rename = "1.2")]
    V1_2,
    #[serde(rename = "1.3")]
    V1_3,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// Obey the client's priorities (RFC 9218).
    pub priorities: bool,
    /// Bytes of an h2 answer that are sent before the next answer of equal rank has its turn. quinn
    /// sends a packet of each.
    pub interleave_bytes: u16,
    /// Bytes that a client may send without further permission, per connection. One stream may use
    /// all of them. h1 has no such window.
    pub receive_window_bytes: u32,
    /// Requests that a client may have open at once on a connection of h2 or h3.
    pub streams_at_once: u32,
    /// Announce h3 on the same port to clients of h1 and h2 (RFC 7838). Clients of h3 always get
    /// the announcement.
    pub alt_svc: bool,
    /// Size of QPACK's dynamic table, each way (RFC 9204); 0 is none.
    pub qpack_table_bytes: u64,
    /// Delay of all answers on a connection, counted from its first request, as if its handshake
    /// took that much longer: an effect of known size.
    pub hold_ms: f64,
    /// Hosts for which TLS offers HTTP/1.1 and nothing else.
    pub h1_only: Vec<String>,
    /// Values of `link`, by URL, that an answer with status 103 (RFC 8297) gives at once over h2
    /// and h3, before its server thinks.
    pub early_hints: BTreeMap<String, Vec<String>>,
    /// Let clients of h2 open WebSockets on their connection (RFC 8441).
    pub extended_connect: bool,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            congestion: Congestion::Cubic,
            pacing: false,
            fast_open: false,
            unsent_bytes: 4 << 10,
        }
    }
}

impl Default for Quic {
    fn default() -> Self {
        Self {
            congestion: Congestion::Cubic,
            initial_window_packets: 32,
            pacing: true,
            slow_start_exit: SlowStartExit::Hystart,
            ecn: false,
            l4s: false,
            initial_rtt_ms: 333.0,
            // 1500 bytes minus IPv6 (40) and UDP (8).
            udp_payload_bytes: 1452,
            udp_start_bytes: None,
            ack_every_packets: None,
            migration: false,
            retry: false,
        }
    }
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            version: TlsVersion::V1_3,
            resumption: true,
            early_data: false,
            records: Records::default(),
            key_share: KeyShare::default(),
            chain: Chain::default(),
            certificate_compression: Compression::default(),
        }
    }
}

impl TlsVersion {
    pub(crate) const ALL: [Self; 2] = [Self::V1_2, Self::V1_3];
}

impl Tls {
    fn check(&self) -> Result<()> {
        let new = self.version == TlsVersion::V1_3;
        ensure!(
            !self.early_data || (self.resumption && new),
            "early_data: needs version \"1.3\" and resumption"
        );
        ensure!(
            new || self.key_share != KeyShare::X25519MLKEM768,
            "key_share: X25519MLKEM768 needs version \"1.3\""
        );
        ensure!(
            new || self.certificate_compression == Compression::None,
            "certificate_compression: needs version \"1.3\""
        );
        ensure!(
            new || !matches!(self.chain.kind, Kind::MlDsa44 | Kind::MlDsa65),
            "chain.kind: ML-DSA needs version \"1.3\""
        );
        self.records.check()?;
        self.chain.check().context("chain")
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            priorities: true,
            // In a separate record it fits a packet, as records::SMALL does.
            interleave_bytes: 1360,
            receive_window_bytes: 15 << 20,
            streams_at_once: 256,
            alt_svc: false,
            qpack_table_bytes: 0,
            hold_ms: 0.0,
            h1_only: Vec::new(),
            early_hints: BTreeMap::new(),
            extended_connect: false,
        }
    }
}

impl Tuning {
    /// Returns an error if this machine lacks something that the tuning needs.
    pub fn check(&self) -> Result<()> {
        let probe = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        self.tcp.apply(&probe)?;
        if self.tcp.fast_open {
            fast_open::check()?;
        }
        self.quic.steering(None)?;
        self.transport()?;
        self.tls.check().context("tune.tls")?;
        self.http.check()
    }

    /// Settings for quinn, except those that `steering` decides.
    pub(crate) fn transport(&self) -> Result<TransportConfig> {
        let mut config = self.quic.transport()?;
        let window = VarInt::from_u32(self.http.receive_window_bytes);
        config
            .receive_window(window)
            .stream_receive_window(window)
            .max_concurrent_bidi_streams(VarInt::from_u32(self.http.streams_at_once));
        Ok(config)
    }
}

impl Http {
    /// Returns the links to send before the answer to a GET of `url`.
    pub(crate) fn hints(&self, url: &str) -> Vec<HeaderValue> {
        let links = self.early_hints.get(url).into_iter().flatten();
        // All of them can be sent: `check` has seen them.
        links
            .filter_map(|link| HeaderValue::from_str(link).ok())
            .collect()
    }

    fn check(&self) -> Result<()> {
        for (url, links) in &self.early_hints {
            let bad = links
                .iter()
                .find(|link| HeaderValue::from_str(link).is_err());
            ensure!(
                bad.is_none(),
                "tune.http.early_hints: {url}: {:?} is not the value of a header",
                bad.unwrap_or(url)
            );
        }
        ensure!(
            (0.0..=60_000.0).contains(&self.hold_ms),
            "tune.http.hold_ms: {} is not between 0 and 60000",
            self.hold_ms
        );
        ensure!(
            self.qpack_table_bytes <= LARGEST_TABLE,
            "tune.http.qpack_table_bytes: {} is more than {LARGEST_TABLE}",
            self.qpack_table_bytes
        );
        ensure!(
            self.interleave_bytes > 0,
            "tune.http.interleave_bytes: 0 sends nothing"
        );
        ensure!(
            (1..=LARGEST_WINDOW).contains(&self.receive_window_bytes),
            "tune.http.receive_window_bytes: {} is not between 1 and {LARGEST_WINDOW}",
            self.receive_window_bytes
        );
        ensure!(
            self.streams_at_once > 0,
            "tune.http.streams_at_once: 0 allows no request"
        );
        Ok(())
    }
}

impl Tcp {
    pub(crate) fn apply(self, socket: &Socket) -> Result<()> {
        let name = self.congestion.kernel_name();
        socket
            .set_tcp_congestion(name.as_bytes())
            .with_context(|| {
                format!(
                    "tune.tcp.congestion: this kernel does not offer {name:?} here; \
                     see net.ipv4.tcp_available_congestion_control"
                )
            })?;
        if self.pacing {
            telemetry::pace(socket).context("tune.tcp.pacing: SO_MAX_PACING_RATE")?;
        }
        ensure!(
            self.unsent_bytes > 0,
            "tune.tcp.unsent_bytes: 0 lets the kernel take everything"
        );
        socket
            .set_tcp_notsent_lowat(self.unsent_bytes)
            .context("tune.tcp.unsent_bytes: TCP_NOTSENT_LOWAT")?;
        Ok(())
    }
}

impl Quic {
    /// Makes a connection's controller. `known_rtt` is from an earlier connection of the client.
    pub(crate) fn steering(&self, known_rtt: Option<Duration>) -> Result<Steering> {
        ensure!(
            (1..=1000).contains(&self.initial_window_packets),
            "tune.quic.initial_window_packets: {} is not between 1 and 1000",
            self.initial_window_packets
        );
        ensure!(
            self.initial_rtt_ms > 0.0 && self.initial_rtt_ms <= 60_000.0,
            "tune.quic.initial_rtt_ms: {} is not a round trip between 0 and 60000 ms",
            self.initial_rtt_ms
        );
        ensure!(
            self.congestion != Congestion::Dctcp,
            "tune.quic.congestion: dctcp is the kernel's and of TCP alone"
        );
        let scalable = self.congestion == Congestion::Prague;
        ensure!(
            self.l4s == scalable && (self.ecn || !self.l4s),
            "tune.quic.l4s: prague needs it, with ecn, and no other congestion control may have it"
        );
        let assumed = Duration::from_secs_f64(self.initial_rtt_ms / 1000.0);
        Ok(Steering::new(Sending {
            congestion: self.congestion,
            initial_window: self.initial_window_packets,
            packet_bytes: self.start_bytes().into(),
            initial_rtt: known_rtt.unwrap_or(assumed),
            pacing: self.pacing || self.congestion.paces(),
            slow_start_exit: self.slow_start_exit,
        }))
    }

    pub(crate) fn marking(&self) -> Ecn {
        match (self.ecn, self.l4s) {
            (false, _) => Ecn::Off,
            (true, false) => Ecn::Classic,
            (true, true) => Ecn::Scalable,
        }
    }

    /// UDP payload of a connection's first packets.
    fn start_bytes(&self) -> u16 {
        self.udp_start_bytes.unwrap_or(self.udp_payload_bytes)
    }

    fn transport(&self) -> Result<TransportConfig> {
        ensure!(
            (1200..=1472).contains(&self.udp_payload_bytes),
            "tune.quic.udp_payload_bytes: {} is not between 1200 and 1472",
            self.udp_payload_bytes
        );
        ensure!(
            (1200..=self.udp_payload_bytes).contains(&self.start_bytes()),
            "tune.quic.udp_start_bytes: {} is not between 1200 and udp_payload_bytes, {}",
            self.start_bytes(),
            self.udp_payload_bytes
        );
        let search = self.udp_start_bytes.map(|_| {
            let mut search = MtuDiscoveryConfig::default();
            search.upper_bound(self.udp_payload_bytes);
            search
        });
        let mut config = TransportConfig::default();
        config
            .initial_mtu(self.start_bytes())
            .mtu_discovery_config(search);
        if let Some(packets) = self.ack_every_packets {
            ensure!(
                packets > 0,
                "tune.quic.ack_every_packets: 0 is no number of packets"
            );
            let mut ask = AckFrequencyConfig::default();
            // The threshold is how many may stay unacknowledged.
            ask.ack_eliciting_threshold(VarInt::from_u32(packets - 1));
            config.ack_frequency_config(Some(ask));
        }
        Ok(config)
    }
}

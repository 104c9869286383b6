//! What the `tune` command sets. Nothing here is ever replaced by a silent default.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use quinn::{AckFrequencyConfig, TransportConfig, VarInt};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};

use crate::quic::congestion::Steering;
use crate::tcp::fast_open;
use crate::tcp::records::Records;
use crate::telemetry;

/// As much as Chromium offers.
const LARGEST_TABLE: u64 = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Congestion {
    Cubic,
    Reno,
    Bbr,
}

impl Congestion {
    /// As the kernel calls it.
    pub fn kernel_name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
            Self::Bbr => "bbr",
        }
    }
}

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
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quic {
    pub congestion: Congestion,
    /// Initial congestion window in full packets of `udp_payload_bytes` (RFC 9002 section 7.2).
    pub initial_window_packets: u64,
    pub pacing: bool,
    /// Round trip assumed until the first one is measured. RFC 9002 section 6.2.2 recommends 333 ms,
    /// and the last connection's for a resumed one.
    pub initial_rtt_ms: f64,
    /// Size of a full UDP payload; nothing is probed.
    pub udp_payload_bytes: u16,
    /// What a client may send without leave, per connection; a stream may take all of it.
    pub receive_window_bytes: u32,
    /// Ask the client to acknowledge only every Nth packet (draft-ietf-quic-ack-frequency); None
    /// asks for nothing.
    pub ack_every_packets: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    pub version: TlsVersion,
    /// Give tickets and take them.
    pub resumption: bool,
    /// Take TLS 1.3 early data over TCP, 0-RTT over QUIC, on resumed connections.
    pub early_data: bool,
    /// Sizes of the records in which answers leave over TCP. QUIC has none.
    pub records: Records,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Tell clients of h1 and h2 that h3 is to be had on the same port (RFC 7838). Those of h3 are
    /// always told.
    pub alt_svc: bool,
    /// Size of QPACK's dynamic table, each way (RFC 9204); 0 is none.
    pub qpack_table_bytes: u64,
    /// Answer nothing on a connection until this long after its first request, as if its handshake
    /// took that much longer: an effect of known size.
    pub hold_ms: f64,
    /// Addresses at which TLS offers HTTP/1.1 and nothing else.
    pub h1_only: Vec<IpAddr>,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            congestion: Congestion::Cubic,
            pacing: false,
            fast_open: false,
        }
    }
}

impl Default for Quic {
    fn default() -> Self {
        Self {
            congestion: Congestion::Cubic,
            initial_window_packets: 32,
            pacing: true,
            initial_rtt_ms: 333.0,
            // 1500 bytes minus IPv6 (40) and UDP (8).
            udp_payload_bytes: 1452,
            receive_window_bytes: 15 << 20,
            ack_every_packets: None,
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
        }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            priorities: true,
            alt_svc: false,
            qpack_table_bytes: 0,
            hold_ms: 0.0,
            h1_only: Vec::new(),
        }
    }
}

impl Tuning {
    /// An error if something cannot be had on this machine.
    pub fn check(&self) -> Result<()> {
        let probe = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        self.tcp.apply(&probe)?;
        if self.tcp.fast_open {
            fast_open::check()?;
        }
        self.quic.steering(None)?;
        self.quic.transport()?;
        ensure!(
            !self.tls.early_data || (self.tls.resumption && self.tls.version == TlsVersion::V1_3),
            "tune.tls.early_data: needs version \"1.3\" and resumption"
        );
        self.tls.records.check()?;
        ensure!(
            (0.0..=60_000.0).contains(&self.http.hold_ms),
            "tune.http.hold_ms: {} is not between 0 and 60000",
            self.http.hold_ms
        );
        ensure!(
            self.http.qpack_table_bytes <= LARGEST_TABLE,
            "tune.http.qpack_table_bytes: {} is more than {LARGEST_TABLE}",
            self.http.qpack_table_bytes
        );
        Ok(())
    }
}

impl Tcp {
    pub(crate) fn apply(&self, socket: &Socket) -> Result<()> {
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
        Ok(())
    }
}

impl Quic {
    /// What makes a connection's controller. `known_rtt` is from an earlier connection of the client.
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
        Ok(Steering::new(
            self.congestion,
            self.initial_window_packets,
            self.udp_payload_bytes.into(),
            known_rtt.unwrap_or(Duration::from_secs_f64(self.initial_rtt_ms / 1000.0)),
            self.pacing,
        ))
    }

    /// Everything but what `steering` decides.
    pub(crate) fn transport(&self) -> Result<TransportConfig> {
        ensure!(
            (1200..=1472).contains(&self.udp_payload_bytes),
            "tune.quic.udp_payload_bytes: {} is not between 1200 and 1472",
            self.udp_payload_bytes
        );
        let mut config = TransportConfig::default();
        config
            .initial_mtu(self.udp_payload_bytes)
            .mtu_discovery_config(None)
            .receive_window(VarInt::from_u32(self.receive_window_bytes))
            .stream_receive_window(VarInt::from_u32(self.receive_window_bytes));
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

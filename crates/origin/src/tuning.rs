//! What the `tune` command sets. Nothing here is ever replaced by a silent default.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use quinn::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};

/// Full-sized packets that windows are counted in, as for TCP (1500 - 40 - 12 of timestamps).
pub const PACKET_BYTES: u64 = 1448;

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

/// How connections accepted from now on send.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tuning {
    pub tcp: Tcp,
    pub quic: Quic,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    pub congestion: Congestion,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quic {
    pub congestion: Congestion,
    /// Initial congestion window in packets of 1448 bytes.
    pub initial_window_packets: u64,
    /// Round trip assumed until the first one is measured; paces a 0-RTT answer. RFC 9002 section
    /// 6.2.2 recommends 333 ms.
    pub initial_rtt_ms: f64,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            congestion: Congestion::Cubic,
        }
    }
}

impl Default for Quic {
    fn default() -> Self {
        Self {
            congestion: Congestion::Cubic,
            initial_window_packets: 32,
            initial_rtt_ms: 333.0,
        }
    }
}

impl Tuning {
    /// An error if something cannot be had on this machine.
    pub fn check(&self) -> Result<()> {
        let probe = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        self.tcp.apply(&probe)?;
        self.quic.controller()?;
        self.quic.initial_rtt()?;
        Ok(())
    }
}

impl Tcp {
    pub(crate) fn apply(&self, socket: &Socket) -> Result<()> {
        let name = self.congestion.kernel_name();
        socket.set_tcp_congestion(name.as_bytes()).with_context(|| {
            format!(
                "tune.tcp.congestion: this kernel does not offer {name:?} here; \
                 see net.ipv4.tcp_available_congestion_control"
            )
        })
    }
}

impl Quic {
    pub(crate) fn initial_rtt(&self) -> Result<Duration> {
        ensure!(
            self.initial_rtt_ms > 0.0 && self.initial_rtt_ms <= 60_000.0,
            "tune.quic.initial_rtt_ms: {} is not a round trip between 0 and 60000 ms",
            self.initial_rtt_ms
        );
        Ok(Duration::from_secs_f64(self.initial_rtt_ms / 1000.0))
    }

    pub(crate) fn controller(&self) -> Result<Arc<dyn ControllerFactory + Send + Sync>> {
        ensure!(
            (1..=1000).contains(&self.initial_window_packets),
            "tune.quic.initial_window_packets: {} is not between 1 and 1000",
            self.initial_window_packets
        );
        let window = self.initial_window_packets * PACKET_BYTES;
        match self.congestion {
            Congestion::Cubic => {
                let mut config = CubicConfig::default();
                config.initial_window(window);
                Ok(Arc::new(config))
            }
            Congestion::Reno => {
                let mut config = NewRenoConfig::default();
                config.initial_window(window);
                Ok(Arc::new(config))
            }
            // quinn's own BBR enters ProbeRTT at its first sample and does not pace at its rate.
            Congestion::Bbr => {
                bail!(
                    "tune.quic.congestion: \"bbr\" is not to be had over QUIC yet; use cubic or reno"
                )
            }
        }
    }
}

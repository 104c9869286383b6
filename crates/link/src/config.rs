//! The settings of a link. docs/reference/network.md gives unit, default and source of every field.

use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};

use crate::model::{LEAST_PERIODS, Pace};
use crate::trace::Trace;

/// One direction of a link, as `dragstrip.model.network.Direction`. The first four fields must be
/// there; another that is absent is an effect that is switched off.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Mbit/s of bytes as `accounting` counts them; None leaves the direction unlimited.
    #[serde(deserialize_with = "required")]
    pub rate_mbps: Option<f64>,
    pub delay_ms: f64,
    /// Share of packets lost at random, 0..=1.
    pub loss: f64,
    /// Queue depth as time at the rate; without any depth the queue is unbounded.
    #[serde(deserialize_with = "required")]
    pub queue_ms: Option<f64>,
    #[serde(default)]
    pub queue_bytes: Option<u64>,
    #[serde(default)]
    pub queue_packets: Option<u64>,
    #[serde(default)]
    pub aqm: Option<Aqm>,
    #[serde(default)]
    pub trace: Option<Trace>,
    #[serde(default)]
    pub trace_offset_ms: f64,
    #[serde(default)]
    pub jitter_ms: f64,
    #[serde(default)]
    pub jitter_shape: JitterShape,
    /// Quantiles of the delay's deviation, ascending, in units of `jitter_ms`; of shape `table`.
    #[serde(default, skip_serializing)]
    pub jitter_table: Vec<f64>,
    #[serde(default)]
    pub jitter_reorders: bool,
    /// Time from one drawn delay to the next, if jitter keeps packets in order; None is the least.
    #[serde(default)]
    pub jitter_period_ms: Option<f64>,
    #[serde(default)]
    pub gilbert_elliott: Option<GilbertElliott>,
    #[serde(default)]
    pub duplicate: f64,
    #[serde(default)]
    pub reorder: f64,
    #[serde(default)]
    pub mtu: Option<u32>,
    /// SYNs that carry data are dropped where the direction begins.
    #[serde(default)]
    pub drops_syn_data: bool,
    #[serde(default)]
    pub hosts: Vec<HostPath>,
    /// The line carries nothing; packets wait in the queue.
    #[serde(default)]
    pub outage: bool,
    /// Order of the stages; None is the side's default order.
    #[serde(default)]
    pub stages: Option<Vec<StageName>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JitterShape {
    #[default]
    Uniform,
    Normal,
    Table,
}

/// Loss in bursts: either `p` and `r`, per packet, or `good_ms` and `bad_ms`, by time.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    #[serde(default)]
    pub p: Option<f64>,
    #[serde(default)]
    pub r: Option<f64>,
    #[serde(default)]
    pub good_ms: Option<f64>,
    #[serde(default)]
    pub bad_ms: Option<f64>,
    pub loss_good: f64,
    pub loss_bad: f64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AqmKind {
    Codel,
    FqCodel,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Aqm {
    pub kind: AqmKind,
    pub target_ms: f64,
    pub interval_ms: f64,
    pub ecn: bool,
    pub flows: usize,
    pub quantum_bytes: u32,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HostPath {
    pub address: IpAddr,
    pub delay_ms: f64,
    pub loss: f64,
}

/// What counts as a packet's length for rate and queue.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Accounting {
    /// The IP packet.
    #[default]
    L3,
    /// The Ethernet frame: 14 bytes more, as netem counts.
    L2,
}

/// A place in a direction's order of stages.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StageName {
    /// Extra delay and loss of single hosts.
    Hosts,
    Mtu,
    /// Queue and rate.
    Queue,
    /// Delay, jitter and reordering.
    Delay,
    Duplicate,
    Loss,
}

impl StageName {
    /// Client to origin: random loss sits at the client's end, what belongs to a host at the other.
    pub const UP: [Self; 6] = [
        Self::Loss,
        Self::Duplicate,
        Self::Mtu,
        Self::Queue,
        Self::Delay,
        Self::Hosts,
    ];
    /// Origin to client.
    pub const DOWN: [Self; 6] = [
        Self::Hosts,
        Self::Mtu,
        Self::Queue,
        Self::Delay,
        Self::Duplicate,
        Self::Loss,
    ];
}

/// The settings of both directions, and the seed of their random streams.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub seed: u64,
    pub up: Direction,
    pub down: Direction,
    #[serde(default)]
    pub accounting: Accounting,
    /// Ports, from and to, whose packets the link shapes; it forwards all others at once. None is
    /// every packet.
    #[serde(default)]
    pub ports: Vec<(u16, u16)>,
    /// File for the fate of every packet: docs/reference/processes.md.
    #[serde(default)]
    pub record: Option<PathBuf>,
}

impl Direction {
    /// Whether jitter keeps packets in order: then the delay follows time.
    pub fn wanders(&self) -> bool {
        self.jitter_ms > 0.0 && !self.jitter_reorders
    }

    pub fn period_ms(&self) -> f64 {
        self.jitter_period_ms
            .unwrap_or(LEAST_PERIODS * self.jitter_ms)
    }
}

impl GilbertElliott {
    /// How the chain of losses moves; None without a complete pair of parameters, or with more than
    /// one pair.
    pub fn pace(&self) -> Option<Pace> {
        match *self {
            Self {
                p: Some(p),
                r: Some(r),
                good_ms: None,
                bad_ms: None,
                ..
            } => Some(Pace::Packets { p, r }),
            Self {
                p: None,
                r: None,
                good_ms: Some(good_ms),
                bad_ms: Some(bad_ms),
                ..
            } => Some(Pace::Time {
                good_ns: good_ms * 1e6,
                bad_ns: bad_ms * 1e6,
            }),
            _ => None,
        }
    }
}

/// A null must be written: an absent field is a mistake, never a silent "unlimited".
fn required<'de, D: Deserializer<'de>>(value: D) -> Result<Option<f64>, D::Error> {
    Option::deserialize(value)
}

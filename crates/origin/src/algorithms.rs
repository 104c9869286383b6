//! Congestion controls, and what ends their slow start.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Congestion {
    Cubic,
    Reno,
    /// Version 1.
    Bbr,
    /// draft-ietf-ccwg-bbr. QUIC.
    Bbr3,
    /// Scalable (RFC 9331), by draft-briscoe-iccrg-prague-congestion-control. QUIC.
    Prague,
    /// RFC 8257, of Linux. TCP.
    Dctcp,
}

impl Congestion {
    /// The kernel's name for this control, even if the kernel lacks it.
    pub fn kernel_name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
            Self::Bbr => "bbr",
            Self::Bbr3 => "bbr3",
            Self::Prague => "prague",
            Self::Dctcp => "dctcp",
        }
    }

    /// Whether this control sets its own rate, so that its packets are always paced.
    pub fn paces(self) -> bool {
        matches!(self, Self::Bbr | Self::Bbr3 | Self::Prague)
    }
}

/// What ends slow start before a loss does. Linux's CUBIC has HyStart; only CUBIC has such an exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlowStartExit {
    #[serde(rename = "hystart")]
    Hystart,
    /// HyStart++ (RFC 9406).
    #[serde(rename = "hystart++")]
    HystartPlusPlus,
    #[serde(rename = "none")]
    None,
}

/// How packets are marked (RFC 3168 section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    Off,
    /// ECT(0).
    Classic,
    /// ECT(1): the sender is scalable (RFC 9331).
    Scalable,
}

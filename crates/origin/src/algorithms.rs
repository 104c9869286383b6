//! Congestion controls, and what ends their slow start.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Congestion {
    Cubic,
    Reno,
    Bbr,
}

impl Congestion {
    /// The kernel's name for it.
    pub fn kernel_name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
            Self::Bbr => "bbr",
        }
    }
}

/// What ends slow start before a loss does. Linux's CUBIC has HyStart; only CUBIC has such an exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlowStartExit {
    #[serde(rename = "hystart")]
    Hystart,
    /// RFC 9406.
    #[serde(rename = "hystart++")]
    HystartPlusPlus,
    #[serde(rename = "none")]
    None,
}

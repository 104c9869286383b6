//! The longest packet a link carries.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Context, DropCause, Effect, Stage};
use crate::model::Packet;

/// Longer than the link carries.
pub const TOO_LONG: DropCause = DropCause::new("mtu");

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    /// Bytes of layer 3.
    #[serde(default)]
    pub mtu: Option<u32>,
}

impl Effect for Asked {
    const CAUSES: &[DropCause] = &[TOO_LONG];

    fn understood(&self, side: &str) -> Result<Self> {
        ensure!(
            self.mtu != Some(0),
            "{side}.mtu is 0: give at least 1, or null for no limit"
        );
        Ok(self.clone())
    }

    fn stage(&self, _context: &Context) -> Option<Box<dyn Stage>> {
        self.mtu.map(|bytes| Box::new(Mtu { bytes }) as _)
    }
}

/// Drops packets above `bytes` (layer 3), as a router that cannot fragment and does not say so.
struct Mtu {
    bytes: u32,
}

impl Stage for Mtu {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        packet.dropped = (packet.bytes > self.bytes).then_some(TOO_LONG);
        Some(packet)
    }
}

//! A middlebox that does not know TCP Fast Open.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Context, DropCause, Effect, Stage};
use crate::model::Packet;

/// A SYN with data, dropped by a middlebox.
pub const SYN_DATA: DropCause = DropCause::new("syn_data");

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    /// SYNs that carry data are dropped where the direction begins.
    #[serde(default)]
    pub drops_syn_data: bool,
}

impl Effect for Asked {
    const CAUSES: &[DropCause] = &[SYN_DATA];

    fn understood(&self, _side: &str) -> Result<Self> {
        Ok(self.clone())
    }

    fn stage(&self, _context: &Context) -> Option<Box<dyn Stage>> {
        self.drops_syn_data.then(|| Box::new(Middlebox) as _)
    }
}

/// Silently drops SYNs that carry data (Honda et al. 2011; RFC 7413 section 7.1).
struct Middlebox;

impl Stage for Middlebox {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        packet.dropped = packet.header.syn_data.then_some(SYN_DATA);
        Some(packet)
    }
}

//! A middlebox that does not know TCP Fast Open.

use super::{DropCause, Packet, Stage};

/// Silently drops SYNs that carry data (Honda et al. 2011; RFC 7413 section 7.1).
pub struct Middlebox;

impl Stage for Middlebox {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        packet.dropped = packet.header.syn_data.then_some(DropCause::SynData);
        Some(packet)
    }
}

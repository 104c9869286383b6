//! The longest packet a link carries.

use super::{DropCause, Packet, Stage};

/// Drops packets above `bytes` (layer 3) silently, like a router that cannot fragment.
pub struct Mtu {
    pub bytes: u32,
}

impl Stage for Mtu {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        packet.dropped = (packet.bytes > self.bytes).then_some(DropCause::Mtu);
        Some(packet)
    }
}

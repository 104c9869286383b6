//! Packets that were on their way when the link changed.

use super::flying::Flying;
use super::{Packet, Stage};

/// Packets that leave when the unchanged link would have released them. Later packets wait behind
/// them, so that a shorter delay does not reorder packets.
pub struct Rest {
    flying: Flying,
    last_ns: u64,
}

impl Rest {
    pub fn new(mut going: Vec<Packet>) -> Self {
        going.sort_by_key(|packet| packet.at_ns);
        let mut flying = Flying::default();
        let last_ns = going.last().map_or(0, |packet| packet.at_ns);
        for packet in going {
            flying.put(Packet {
                straddles: true,
                ..packet
            });
        }
        Self { flying, last_ns }
    }
}

impl Stage for Rest {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        if self.flying.next_ns().is_none() {
            return Some(packet);
        }
        packet.straddles |= packet.at_ns < self.last_ns;
        packet.at_ns = packet.at_ns.max(self.last_ns);
        self.flying.put(packet);
        None
    }

    fn next_ns(&self) -> Option<u64> {
        self.flying.next_ns()
    }

    fn release(&mut self) -> Option<Packet> {
        self.flying.pop()
    }
}

//! A droptail queue in front of a line of fixed rate.

use std::collections::VecDeque;

use super::{DropCause, Packet, Stage};

/// Serialises packets at a rate, layer 3 bytes, first in first out.
///
/// A packet is dropped if it would wait longer than the queue is deep. So the queue never holds
/// more than its depth and the packet at its end.
pub struct Bottleneck {
    bits_per_s: u64,
    depth_ns: Option<u64>,
    /// The line is free from `free_ns` + `remainder` / `bits_per_s` ns: exact, nothing drifts.
    free_ns: u64,
    remainder: u64,
    waiting: VecDeque<Packet>,
}

impl Bottleneck {
    /// `bits_per_s` is at least 1; without `depth_ns` the queue is unbounded.
    pub fn new(bits_per_s: u64, depth_ns: Option<u64>) -> Self {
        Self {
            bits_per_s,
            depth_ns,
            free_ns: 0,
            remainder: 0,
            waiting: VecDeque::new(),
        }
    }
}

impl Stage for Bottleneck {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        let wait_ns = self.free_ns.saturating_sub(packet.at_ns);
        if self.depth_ns.is_some_and(|depth_ns| wait_ns > depth_ns) {
            packet.dropped = Some(DropCause::Queue);
            return Some(packet);
        }
        if packet.at_ns > self.free_ns {
            self.free_ns = packet.at_ns;
            self.remainder = 0;
        }
        let work = u64::from(packet.bytes) * 8 * 1_000_000_000 + self.remainder;
        self.free_ns += work / self.bits_per_s;
        self.remainder = work % self.bits_per_s;
        packet.at_ns = self.free_ns + u64::from(self.remainder > 0); // never a fraction early
        packet.waited_ns = Some(wait_ns);
        self.waiting.push_back(packet);
        None
    }

    fn next_ns(&self) -> Option<u64> {
        self.waiting.front().map(|packet| packet.at_ns)
    }

    fn release(&mut self) -> Option<Packet> {
        self.waiting.pop_front()
    }
}

//! A plain queue, and what active queue management does to packets.

use std::collections::VecDeque;

use crate::model::Packet;
use crate::model::effects::queue::{FULL, MANAGED};

/// Packets in order of arrival. A packet's `at_ns` is the time when it was put in.
#[derive(Default)]
pub struct Fifo {
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl Fifo {
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn put(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.line_bytes);
        self.packets.push_back(packet);
    }

    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.line_bytes);
        Some(packet)
    }

    pub fn drain(&mut self) -> Vec<Packet> {
        self.bytes = 0;
        self.packets.drain(..).collect()
    }

    /// How long the first packet has waited at `now_ns`; 0 if the queue is empty.
    pub fn head_wait_ns(&self, now_ns: u64) -> u64 {
        let head = self.packets.front();
        head.map_or(0, |packet| now_ns.saturating_sub(packet.at_ns))
    }
}

/// Marks a packet if its sender understands ECN (RFC 3168 section 5). Returns whether the packet is
/// marked.
pub fn marks(packet: &mut Packet) -> bool {
    packet.marked |= packet.header.ecn.capable();
    packet.marked
}

/// The packet, dropped at `now_ns` by active queue management.
pub fn drops(packet: Packet, now_ns: u64) -> Packet {
    Packet {
        at_ns: now_ns,
        waited_ns: None,
        line_ns: 0,
        dropped: Some(MANAGED),
        ..packet
    }
}

/// A new packet, dropped because the queue is full.
pub fn refuses(mut packet: Packet) -> Packet {
    packet.dropped = Some(FULL);
    packet
}

/// Ticks of a clock that a controller follows.
pub struct Ticks {
    period_ns: u64,
    next_ns: u64,
}

impl Ticks {
    pub fn new(period_ns: u64) -> Self {
        let next_ns = period_ns;
        Self { period_ns, next_ns }
    }

    /// Sets the clock's time 0 to `epoch_ns`.
    pub fn begin(&mut self, epoch_ns: u64) {
        self.next_ns = epoch_ns + self.period_ns;
    }

    /// The next tick until `now_ns`, once each.
    pub fn tick(&mut self, now_ns: u64) -> Option<u64> {
        (self.next_ns <= now_ns).then(|| {
            self.next_ns += self.period_ns;
            self.next_ns - self.period_ns
        })
    }

    /// Skips the ticks until `now_ns`, because they would change nothing.
    pub fn skip(&mut self, now_ns: u64) {
        if self.next_ns <= now_ns {
            let ticks = (now_ns - self.next_ns) / self.period_ns + 1;
            self.next_ns += ticks * self.period_ns;
        }
    }
}

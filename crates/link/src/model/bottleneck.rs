//! A droptail queue in front of a line.

use std::collections::VecDeque;

use super::effects::queue::FULL;
use super::line::Line;
use super::{Packet, Stage};

/// Capacity of a queue. The packet that the line is carrying is not in the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Depth {
    Unbounded,
    /// No packet waits longer than this many ns for its first byte to leave.
    Time(u64),
    Bytes(u64),
    Packets(u64),
}

/// Serialises packets, first in first out.
///
/// With a depth in time, a packet is dropped if it would wait longer than that. With a depth in
/// bytes or packets, a packet that does not fit is dropped.
pub struct Bottleneck {
    line: Line,
    depth: Depth,
    /// Bytes that are added to a packet's layer 3 length.
    overhead: u32,
    waiting: VecDeque<Packet>,
    /// When each packet in the queue leaves it for the line, and its bytes. It is only kept for
    /// depths that need it.
    queued: VecDeque<(u64, u64)>,
    queued_bytes: u64,
}

impl Bottleneck {
    /// `overhead` bytes are counted with every packet.
    pub fn new(line: Line, depth: Depth, overhead: u32) -> Self {
        Self {
            line,
            depth,
            overhead,
            waiting: VecDeque::new(),
            queued: VecDeque::new(),
            queued_bytes: 0,
        }
    }

    fn full(&mut self, at_ns: u64, wait_ns: u64, bytes: u64) -> bool {
        while let Some(&(start_ns, gone)) = self.queued.front() {
            if start_ns > at_ns {
                break;
            }
            self.queued.pop_front();
            self.queued_bytes -= gone;
        }
        wait_ns > 0
            && match self.depth {
                Depth::Unbounded => false,
                Depth::Time(depth_ns) => wait_ns > depth_ns,
                Depth::Bytes(most) => self.queued_bytes + bytes > most,
                Depth::Packets(most) => self.queued.len() as u64 >= most,
            }
    }
}

impl Stage for Bottleneck {
    fn begin(&mut self, epoch_ns: u64) {
        self.line.begin(epoch_ns);
    }

    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        packet.line_bytes = packet.bytes + self.overhead;
        let bytes = u64::from(packet.line_bytes);
        let start_ns = self.line.start_ns(packet.at_ns);
        let wait_ns = start_ns - packet.at_ns;
        if self.full(packet.at_ns, wait_ns, bytes) {
            packet.dropped = Some(FULL);
            return Some(packet);
        }
        if wait_ns > 0 && matches!(self.depth, Depth::Bytes(_) | Depth::Packets(_)) {
            self.queued.push_back((start_ns, bytes));
            self.queued_bytes += bytes;
        }
        packet.at_ns = self.line.carry(packet.at_ns, packet.line_bytes);
        packet.waited_ns = Some(wait_ns);
        packet.line_ns = packet.at_ns - start_ns;
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

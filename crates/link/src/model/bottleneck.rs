//! A droptail queue in front of a line.

use std::collections::VecDeque;

use super::effects::queue::FULL;
use super::line::Line;
use super::{Held, Packet, Resumed, Stage};

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
    waiting: VecDeque<Served>,
    /// When each packet in the queue leaves it for the line, and the packet's bytes. Only depths
    /// that need this list keep it.
    queued: VecDeque<(u64, u64)>,
    queued_bytes: u64,
}

/// A packet, when it came to the queue, and when it begins to cross the line.
pub struct Served {
    pub came_ns: u64,
    pub start_ns: u64,
    pub packet: Packet,
}

impl Served {
    /// Carries a packet over the line. Its `at_ns` becomes the time when it has crossed.
    pub fn by(line: &mut Line, came_ns: u64, mut packet: Packet) -> Self {
        let start_ns = line.start_ns(packet.at_ns);
        let crossed = packet.crossed();
        let left = packet.line_bytes.saturating_sub(crossed);
        packet.at_ns = line.carry(packet.at_ns, left);
        if crossed == 0 {
            packet.waited_ns = Some(start_ns - came_ns);
        }
        packet.line_ns += packet.at_ns - start_ns;
        Self {
            came_ns,
            start_ns,
            packet,
        }
    }

    /// Returns the packet as it leaves the line.
    pub fn across(self) -> Packet {
        Packet {
            resumed: None,
            ..self.packet
        }
    }

    /// The packet at the moment when the link changes: still in the queue, or across in part.
    pub fn interrupted(self, now_ns: u64) -> Packet {
        let Self {
            came_ns,
            start_ns,
            mut packet,
        } = self;
        let before = packet.crossed();
        let whole_ns = packet.at_ns - start_ns;
        let done_ns = now_ns.saturating_sub(start_ns).min(whole_ns);
        let left = u128::from(packet.line_bytes.saturating_sub(before));
        let crossed = left * u128::from(done_ns) / u128::from(whole_ns.max(1));
        packet.line_ns -= whole_ns - done_ns;
        if start_ns >= now_ns && before == 0 {
            packet.waited_ns = Some(now_ns.saturating_sub(came_ns));
        }
        let on_line = start_ns <= now_ns || before > 0;
        packet.resumed = Some(Resumed {
            came_ns,
            crossed: on_line.then_some(before + crossed as u32),
        });
        packet
    }
}

impl Bottleneck {
    /// Creates a bottleneck that counts `overhead` additional bytes with every packet.
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
        let came_ns = packet
            .resumed
            .map_or(packet.at_ns, |resumed| resumed.came_ns);
        let start_ns = self.line.start_ns(packet.at_ns);
        let wait_ns = start_ns - packet.at_ns;
        if self.full(packet.at_ns, wait_ns, bytes) && packet.resumed.is_none() {
            packet.dropped = Some(FULL);
            return Some(packet);
        }
        if wait_ns > 0 && matches!(self.depth, Depth::Bytes(_) | Depth::Packets(_)) {
            self.queued.push_back((start_ns, bytes));
            self.queued_bytes += bytes;
        }
        let served = Served::by(&mut self.line, came_ns, packet);
        self.waiting.push_back(served);
        None
    }

    fn next_ns(&self) -> Option<u64> {
        self.waiting.front().map(|served| served.packet.at_ns)
    }

    fn release(&mut self) -> Option<Packet> {
        self.waiting.pop_front().map(Served::across)
    }

    fn hand_over(&mut self, now_ns: u64) -> Held {
        let waiting = self.waiting.drain(..);
        Held {
            waiting: waiting.map(|served| served.interrupted(now_ns)).collect(),
            going: Vec::new(),
        }
    }
}

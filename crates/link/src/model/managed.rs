//! A queue under active management in front of a line.

use std::collections::VecDeque;

use super::aqm::Discipline;
use super::bottleneck::Depth;
use super::line::Line;
use super::{Counts, Packet, Stage};

/// Serialises the packets that a [`Discipline`] picks, each when the line becomes free.
///
/// Unlike droptail it decides late: the next packet is chosen only when the line is free.
pub struct Managed {
    line: Line,
    discipline: Box<dyn Discipline>,
    depth: Depth,
    overhead: u32,
    packets: u64,
    bytes: u64,
    /// When the line is free for the next packet, if one waits.
    pick_ns: Option<u64>,
    /// Packets that cross the line or were dropped.
    leaving: VecDeque<Packet>,
    last_ns: u64,
}

impl Managed {
    /// `overhead` bytes are counted with every packet. A depth by time is not possible: convert it.
    pub fn new(line: Line, discipline: Box<dyn Discipline>, depth: Depth, overhead: u32) -> Self {
        Self {
            line,
            discipline,
            depth,
            overhead,
            packets: 0,
            bytes: 0,
            pick_ns: None,
            leaving: VecDeque::new(),
            last_ns: 0,
        }
    }

    fn full(&self, more: u64) -> bool {
        match self.depth {
            Depth::Unbounded | Depth::Time(_) => false,
            Depth::Bytes(most) => self.bytes + more > most,
            Depth::Packets(most) => self.packets >= most,
        }
    }

    fn pick(&mut self, now_ns: u64) {
        let before = self.leaving.len();
        let picked = self.discipline.take(now_ns, &mut self.leaving);
        self.forget(before);
        if let Some(mut packet) = picked {
            self.packets -= 1;
            self.bytes -= u64::from(packet.line_bytes);
            let start_ns = self.line.start_ns(packet.at_ns);
            packet.waited_ns = Some(start_ns - packet.at_ns);
            packet.at_ns = self.line.carry(packet.at_ns, packet.line_bytes);
            packet.line_ns = packet.at_ns - start_ns;
            self.last_ns = packet.at_ns;
            self.leaving.push_back(packet);
        }
        let waits = self.packets > 0;
        self.pick_ns = waits.then(|| self.line.start_ns(self.last_ns));
    }

    /// Removes packets that were dropped since `leaving` had the length `before` from the queue's
    /// size.
    fn forget(&mut self, before: usize) {
        for packet in self.leaving.iter().skip(before) {
            self.packets -= 1;
            self.bytes -= u64::from(packet.line_bytes);
        }
    }
}

impl Stage for Managed {
    fn begin(&mut self, epoch_ns: u64) {
        self.line.begin(epoch_ns);
        self.discipline.begin(epoch_ns);
    }

    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        packet.line_bytes = packet.bytes + self.overhead;
        let bytes = u64::from(packet.line_bytes);
        let (at_ns, full) = (packet.at_ns, self.packets > 0 && self.full(bytes));
        let before = self.leaving.len();
        let refused = self.discipline.put(packet, full, &mut self.leaving);
        if refused.is_some() {
            return refused;
        }
        self.packets += 1;
        self.bytes += bytes;
        self.forget(before);
        if self.pick_ns.is_none() && self.packets > 0 {
            self.pick_ns = Some(self.line.start_ns(at_ns.max(self.last_ns)));
        }
        None
    }

    fn next_ns(&self) -> Option<u64> {
        let leaving = self.leaving.front().map(|packet| packet.at_ns);
        [leaving, self.pick_ns].into_iter().flatten().min()
    }

    fn release(&mut self) -> Option<Packet> {
        match (self.leaving.front(), self.pick_ns) {
            (Some(packet), pick_ns) if pick_ns.is_none_or(|pick_ns| packet.at_ns <= pick_ns) => {
                self.leaving.pop_front()
            }
            (_, pick_ns) => {
                self.pick(pick_ns?);
                None
            }
        }
    }

    fn count(&self, counts: &mut Counts) {
        self.discipline.count(counts);
    }
}

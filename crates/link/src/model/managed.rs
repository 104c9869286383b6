//! A queue under active management in front of a line.

use std::collections::VecDeque;

use super::bottleneck::{Depth, Served};
use super::codel::Codel;
use super::fq_codel::FqCodel;
use super::line::Line;
use super::{DropCause, Held, Packet, Resumed, Stage};

pub enum Discipline {
    Codel(Codel),
    FqCodel(FqCodel),
}

/// Serialises the packets that a [`Discipline`] picks, each when the line becomes free.
///
/// Unlike droptail it decides late: the next packet is chosen only when the line is free.
pub struct Managed {
    line: Line,
    discipline: Discipline,
    depth: Depth,
    overhead: u32,
    packets: u64,
    bytes: u64,
    /// When the line is free for the next packet, if one waits.
    pick_ns: Option<u64>,
    /// Packets that cross the line or were dropped.
    leaving: VecDeque<Packet>,
    last_ns: u64,
    /// When the packet on the line came to the queue, and began to cross.
    crossing: (u64, u64),
    /// Nothing crosses earlier.
    since_ns: u64,
}

impl Managed {
    /// `overhead` bytes are counted with every packet. A depth by time is not possible: convert it.
    pub fn new(line: Line, discipline: Discipline, depth: Depth, overhead: u32) -> Self {
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
            crossing: (0, 0),
            since_ns: 0,
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
        let picked = match &mut self.discipline {
            Discipline::Codel(codel) => codel.take(now_ns, &mut self.leaving),
            Discipline::FqCodel(flows) => flows.take(now_ns, &mut self.leaving),
        };
        self.forget(before);
        if let Some(mut packet) = picked {
            self.packets -= 1;
            self.bytes -= u64::from(packet.line_bytes);
            let came_ns = packet.at_ns;
            packet.at_ns = came_ns.max(self.since_ns);
            let served = Served::by(&mut self.line, came_ns, packet);
            self.crossing = (came_ns, served.start_ns);
            self.last_ns = served.packet.at_ns;
            self.leaving.push_back(served.packet);
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
    }

    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        packet.line_bytes = packet.bytes + self.overhead;
        let bytes = u64::from(packet.line_bytes);
        let at_ns = packet.at_ns;
        let mut full = self.packets > 0 && self.full(bytes);
        if let Some(resumed) = packet.resumed {
            self.since_ns = at_ns;
            packet.at_ns = resumed.came_ns;
            full = false;
        }
        match &mut self.discipline {
            Discipline::Codel(_) if full => {
                packet.dropped = Some(DropCause::Queue);
                return Some(packet);
            }
            Discipline::Codel(codel) => codel.put(packet),
            Discipline::FqCodel(flows) => flows.put(packet),
        }
        self.packets += 1;
        self.bytes += bytes;
        if let (true, Discipline::FqCodel(flows)) = (full, &mut self.discipline) {
            let before = self.leaving.len();
            flows.shed(at_ns, &mut self.leaving);
            self.forget(before);
        }
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
    fn hand_over(&mut self, now_ns: u64) -> Held {
        let mut held = Held::default();
        for packet in self.leaving.drain(..) {
            if packet.dropped.is_some() || packet.at_ns <= now_ns {
                held.going.push(packet);
                continue;
            }
            let (came_ns, start_ns) = self.crossing;
            let served = Served {
                came_ns,
                start_ns,
                packet,
            };
            held.waiting.push(served.interrupted(now_ns));
        }
        let mut queued = match &mut self.discipline {
            Discipline::Codel(codel) => std::iter::from_fn(|| codel.pop()).collect(),
            Discipline::FqCodel(flows) => flows.drain(),
        };
        queued.sort_by_key(|packet| (packet.at_ns, packet.index, packet.copy));
        held.waiting.extend(queued.into_iter().map(|packet| Packet {
            resumed: Some(Resumed {
                came_ns: packet.at_ns,
                crossed: packet.resumed.map_or(0, |resumed| resumed.crossed),
            }),
            ..packet
        }));
        held
    }
}

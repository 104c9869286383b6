//! A queue under active management in front of a line.

use std::collections::VecDeque;

use super::aqm::Discipline;
use super::bottleneck::{Depth, Served};
use super::line::Line;
use super::{Counts, Held, Packet, Resumed, Stage};

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
    leaving: VecDeque<Served>,
    last_ns: u64,
    /// Time before which nothing crosses, because the link changed then.
    since_ns: u64,
}

impl Managed {
    /// Creates the queue. `overhead` additional bytes are counted with every packet. A depth by
    /// time is not possible: convert it first.
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
        let mut gone = VecDeque::new();
        let picked = self.discipline.take(now_ns, &mut gone);
        self.drop_all(gone);
        if let Some(packet) = picked {
            self.packets -= 1;
            self.bytes -= u64::from(packet.line_bytes);
            self.cross(packet.at_ns, packet);
        }
        let waits = self.packets > 0;
        self.pick_ns = waits.then(|| self.line.start_ns(self.last_ns));
    }

    /// Puts a packet that came to the queue at `came_ns` onto the line.
    fn cross(&mut self, came_ns: u64, mut packet: Packet) {
        packet.at_ns = packet.at_ns.max(self.since_ns);
        let served = Served::by(&mut self.line, came_ns, packet);
        self.last_ns = served.packet.at_ns;
        self.leaving.push_back(served);
    }

    /// Removes the packets that the discipline dropped from the queue.
    fn drop_all(&mut self, gone: VecDeque<Packet>) {
        for packet in gone {
            self.packets -= 1;
            self.bytes -= u64::from(packet.line_bytes);
            self.leaving.push_back(Served {
                came_ns: packet.at_ns,
                start_ns: packet.at_ns,
                packet,
            });
        }
    }

    fn put(&mut self, packet: Packet) -> Option<Packet> {
        let bytes = u64::from(packet.line_bytes);
        let full = self.packets > 0 && self.full(bytes);
        let mut gone = VecDeque::new();
        let refused = self.discipline.put(packet, full, &mut gone);
        if refused.is_none() {
            self.packets += 1;
            self.bytes += bytes;
        }
        self.drop_all(gone);
        refused
    }

    /// Accepts a packet that waited for the line, or was crossing it, when the link changed.
    fn resume(&mut self, mut packet: Packet, resumed: Resumed) {
        self.since_ns = packet.at_ns;
        if resumed.crossed.is_some() {
            self.cross(resumed.came_ns, packet);
            return;
        }
        packet.at_ns = resumed.came_ns;
        self.packets += 1;
        self.bytes += u64::from(packet.line_bytes);
        self.discipline.resume(packet, self.since_ns);
    }
}

impl Stage for Managed {
    fn begin(&mut self, epoch_ns: u64) {
        self.line.begin(epoch_ns);
        self.discipline.begin(epoch_ns);
    }

    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        packet.line_bytes = packet.bytes + self.overhead;
        let at_ns = packet.at_ns;
        let refused = match packet.resumed {
            Some(resumed) => {
                self.resume(packet, resumed);
                None
            }
            None => self.put(packet),
        };
        if self.pick_ns.is_none() && self.packets > 0 {
            self.pick_ns = Some(self.line.start_ns(at_ns.max(self.last_ns)));
        }
        refused
    }

    fn next_ns(&self) -> Option<u64> {
        let leaving = self.leaving.front().map(|served| served.packet.at_ns);
        [leaving, self.pick_ns].into_iter().flatten().min()
    }

    fn release(&mut self) -> Option<Packet> {
        match (self.leaving.front(), self.pick_ns) {
            (Some(served), pick_ns)
                if pick_ns.is_none_or(|pick_ns| served.packet.at_ns <= pick_ns) =>
            {
                self.leaving.pop_front().map(Served::across)
            }
            (_, pick_ns) => {
                self.pick(pick_ns?);
                None
            }
        }
    }

    fn hand_over(&mut self, now_ns: u64) -> Held {
        let mut held = Held::default();
        for served in self.leaving.drain(..) {
            if served.packet.dropped.is_some() || served.packet.at_ns <= now_ns {
                held.going.push(served.across());
            } else {
                // This packet had its turn already, even if none of its bytes has crossed yet.
                let mut packet = served.interrupted(now_ns);
                let crossed = packet.crossed();
                packet.resumed = packet.resumed.map(|resumed| Resumed {
                    crossed: Some(crossed),
                    ..resumed
                });
                held.waiting.push(packet);
            }
        }
        let mut queued = self.discipline.drain();
        queued.sort_by_key(|packet| (packet.at_ns, packet.index, packet.copy));
        held.waiting.extend(queued.into_iter().map(|packet| Packet {
            resumed: Some(Resumed {
                came_ns: packet.at_ns,
                crossed: None,
            }),
            waited_ns: Some(now_ns.saturating_sub(packet.at_ns)),
            ..packet
        }));
        held
    }

    fn count(&self, counts: &mut Counts) {
        self.discipline.count(counts);
    }
}

//! RED: Floyd and Jacobson, Random early detection gateways for congestion avoidance, IEEE/ACM
//! Transactions on Networking 1 (1993).

use std::collections::VecDeque;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::fifo::{Fifo, drops, marks, refuses};
use super::{Context, Discipline, Kind, Packet};
use crate::check::check_share;
use crate::model::draw::{Draws, Stream};

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    pub min_bytes: u64,
    pub max_bytes: u64,
    pub max_share: f64,
    pub weight: f64,
    pub ecn: bool,
}

impl Kind for Asked {
    fn check(&self, place: &str) -> Result<()> {
        ensure!(
            0 < self.min_bytes && self.min_bytes < self.max_bytes,
            "{place}.min_bytes is {} and max_bytes {}: give more than 0, and a larger maximum",
            self.min_bytes,
            self.max_bytes
        );
        for (field, share) in [("max_share", self.max_share), ("weight", self.weight)] {
            check_share(place, field, share)?;
            ensure!(share > 0.0, "{place}.{field} is 0: give more");
        }
        Ok(())
    }

    fn discipline(&self, context: &Context) -> Box<dyn Discipline> {
        let draws = Draws::new(context.seed, context.direction, Stream::Named("red"));
        Box::new(Red::new(self.clone(), draws))
    }
}

/// A queue that drops new packets more often the longer it has been on average.
///
/// Names are those of the paper's figure 2.
struct Red {
    asked: Asked,
    draws: Draws,
    queue: Fifo,
    avg: f64,
    /// Packets since the last drop or mark; None below the lower threshold (-1 in the paper).
    count: Option<u64>,
    /// When the queue emptied.
    q_time_ns: Option<u64>,
    /// Time in ns that the line took for the last packet that had another one behind it: the
    /// paper's s.
    packet_ns: u64,
    taken_ns: Option<u64>,
}

impl Red {
    fn new(asked: Asked, draws: Draws) -> Self {
        Self {
            asked,
            draws,
            queue: Fifo::default(),
            avg: 0.0,
            count: None,
            q_time_ns: None,
            packet_ns: 0,
            taken_ns: None,
        }
    }

    fn average(&mut self, now_ns: u64) {
        let weight = self.asked.weight;
        match self.q_time_ns.take() {
            None => self.avg += weight * (self.queue.bytes() as f64 - self.avg),
            // As if m small packets had come to an empty queue. m is no whole number: newcomers that
            // are dropped end an idle time each, and its fractions add up.
            Some(since_ns) if self.packet_ns > 0 => {
                let m = now_ns.saturating_sub(since_ns) as f64 / self.packet_ns as f64;
                self.avg *= libm::pow(1.0 - weight, m);
            }
            Some(_) => (),
        }
    }

    /// Whether the new packet is to be marked or dropped.
    fn meets(&mut self, packet: &Packet) -> bool {
        let (least, most) = (self.asked.min_bytes as f64, self.asked.max_bytes as f64);
        if self.avg < least {
            self.count = None;
            return false;
        }
        if self.avg >= most {
            self.count = Some(0);
            return true;
        }
        let count = self.count.map_or(0, |count| count + 1);
        let pb = self.asked.max_share * (self.avg - least) / (most - least);
        let rest = 1.0 - count as f64 * pb;
        let met = rest <= 0.0 || self.draws.of(packet) < pb / rest;
        self.count = Some(if met { 0 } else { count });
        met
    }
}

impl Discipline for Red {
    fn put(&mut self, mut packet: Packet, full: bool, _: &mut VecDeque<Packet>) -> Option<Packet> {
        let now_ns = packet.at_ns;
        self.average(now_ns);
        if full {
            self.count = Some(0);
            return Some(refuses(packet));
        }
        if self.meets(&packet) && !(self.asked.ecn && marks(&mut packet)) {
            if self.queue.is_empty() {
                self.q_time_ns = Some(now_ns);
            }
            return Some(drops(packet, now_ns));
        }
        self.queue.put(packet);
        None
    }

    fn take(&mut self, now_ns: u64, _: &mut VecDeque<Packet>) -> Option<Packet> {
        let packet = self.queue.pop()?;
        if let Some(since_ns) = self.taken_ns.filter(|since_ns| *since_ns < now_ns) {
            self.packet_ns = now_ns - since_ns;
        }
        let more = !self.queue.is_empty();
        self.taken_ns = more.then_some(now_ns);
        self.q_time_ns = (!more).then_some(now_ns);
        Some(packet)
    }

    fn resume(&mut self, packet: Packet, _now_ns: u64) {
        self.queue.put(packet);
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.queue.drain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Ecn;

    const MS: u64 = 1_000_000;

    fn red(ecn: bool) -> Red {
        let asked = Asked {
            min_bytes: 30_000,
            max_bytes: 90_000,
            max_share: 0.1,
            weight: 0.002,
            ecn,
        };
        Red::new(asked, Draws::new(1, 1, Stream::Named("red")))
    }

    #[test]
    fn gaps_between_drops_are_evenly_spread() {
        // Section VII, method 2. Figure 2 counts a packet before it looks at the count, so gaps are
        // uniform on 1 to 1 / pb - 1, with a mean of 1 / pb / 2.
        let mut red = red(false);
        red.avg = 60_000.0; // halfway: pb is 0.05
        let met: Vec<u64> = (0..100_000)
            .filter(|&index| red.meets(&Packet::new(index, 1000, 0, 0)))
            .collect();
        let gaps: Vec<u64> = met.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps.iter().max(), Some(&19));
        assert_eq!(gaps.iter().min(), Some(&1));
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((mean - 10.0).abs() < 0.2, "{mean}");
    }

    #[test]
    fn the_average_follows_the_queue_slowly_and_decays_while_the_line_is_idle() {
        let mut red = red(false);
        let mut gone = VecDeque::new();
        for index in 0..20 {
            red.put(Packet::new(index, 1000, 0, 0), false, &mut gone);
        }
        // Sum of w (1 - w)^k q over queues of 0, 1000, ... 19000 bytes.
        let expected = (0..20).fold(0.0, |avg, n| avg + 0.002 * (f64::from(n) * 1000.0 - avg));
        assert!((red.avg - expected).abs() < 1e-9);
        for ms in 1..=20 {
            red.take(ms * MS, &mut gone).unwrap();
        }
        red.put(Packet::new(20, 1000, 1020 * MS, 0), false, &mut gone);
        // 1000 ms idle at 1 ms a packet.
        assert!((red.avg - expected * 0.998f64.powi(1000)).abs() < 1e-9);
    }

    #[test]
    fn an_average_comes_down_however_fast_packets_come_to_an_empty_queue() {
        // From twice the upper threshold to it: 0.998^m is a half after 346.2 packets' time. All are
        // dropped until then, with less than a packet's time between them.
        for gap_ns in [10_000, 300_000, 700_000] {
            let mut red = red(false);
            (red.avg, red.packet_ns, red.q_time_ns) = (180_000.0, MS, Some(0));
            let mut dropped = 0;
            for index in 1..100_000 {
                let packet = Packet::new(index, 1000, index * gap_ns, 0);
                let refused = red.put(packet, false, &mut VecDeque::new());
                if red.avg < 90_000.0 {
                    break;
                }
                assert!(refused.is_some());
                dropped += 1;
            }
            assert_eq!(dropped, 346_226_000 / gap_ns, "{gap_ns}");
        }
    }

    #[test]
    fn above_the_upper_threshold_every_packet_is_met() {
        for (ecn, sender) in [(true, Ecn::Ect1), (true, Ecn::NotEct), (false, Ecn::Ect0)] {
            let mut red = red(ecn);
            red.avg = 1e9;
            let mut packet = Packet::new(0, 1000, 0, 0);
            packet.header.ecn = sender;
            let left = red.put(packet, false, &mut VecDeque::new());
            assert_eq!(left.is_none(), ecn && sender.capable());
        }
    }
}

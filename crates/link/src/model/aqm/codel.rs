//! CoDel: RFC 8289.

use std::collections::VecDeque;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::fair::check_turns;
use super::fifo::{Fifo, drops, marks, refuses};
use super::{Context, Discipline, Kind, Packet};
use crate::check::{check_ms, check_positive_ms};
use crate::units::ns;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    pub target_ms: f64,
    pub interval_ms: f64,
    pub ecn: bool,
    /// Number of FQ-CoDel's queues, and bytes per turn in the next field. Study files have both for
    /// CoDel, too.
    pub flows: usize,
    pub quantum_bytes: u32,
    /// Marks every packet that waited longer than this, as Linux's `ce_threshold` does.
    #[serde(default)]
    pub ce_threshold_ms: Option<f64>,
    /// Whether the threshold holds only for scalable senders: ECT(1) and CE.
    #[serde(default)]
    pub ce_threshold_l4s: bool,
}

impl Asked {
    pub fn parameters(&self) -> Parameters {
        Parameters {
            target_ns: ns(self.target_ms),
            interval_ns: ns(self.interval_ms),
            ecn: self.ecn,
            ce_threshold_ns: self.ce_threshold_ms.map(ns),
            ce_scalable: self.ce_threshold_l4s,
        }
    }
}

impl Kind for Asked {
    fn check(&self, place: &str) -> Result<()> {
        check_positive_ms(place, "target_ms", self.target_ms)?;
        check_positive_ms(place, "interval_ms", self.interval_ms)?;
        check_turns(place, self.flows, self.quantum_bytes)?;
        if let Some(ms) = self.ce_threshold_ms {
            check_ms(place, "ce_threshold_ms", ms)?;
        }
        ensure!(
            self.ce_threshold_ms.is_some() || !self.ce_threshold_l4s,
            "{place}.ce_threshold_l4s is of a threshold: give ce_threshold_ms too"
        );
        Ok(())
    }

    fn discipline(&self, _context: &Context) -> Box<dyn Discipline> {
        Box::new(Codel::new(self.parameters()))
    }
}

/// RFC 8289 section 4.2 and 4.3 advise a target of 5 ms and an interval of 100 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    pub target_ns: u64,
    pub interval_ns: u64,
    /// Mark packets whose sender understands ECN instead of dropping them.
    pub ecn: bool,
    /// Marks packets that waited longer than this: of scalable senders only, or of all senders that
    /// understand ECN.
    pub ce_threshold_ns: Option<u64>,
    pub ce_scalable: bool,
}

/// Bytes of a full packet. Section 5.2: with at most one packet queued there is nothing to control.
const MAX_PACKET: u64 = 1514;

/// A queue that drops at its head when even the shortest wait of an interval was too long.
///
/// A packet's `at_ns` is when it was put in. Names are those of the annotated pseudocode in
/// section 5.
pub struct Codel {
    parameters: Parameters,
    /// The waiting packets. Public for FQ-CoDel, which drops from its longest queue.
    pub fifo: Fifo,
    first_above_ns: Option<u64>,
    drop_next_ns: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Codel {
    pub fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            fifo: Fifo::default(),
            first_above_ns: None,
            drop_next_ns: 0,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// Takes the packet to send at `now_ns` (section 5.5); dropped packets are put into `gone`.
    ///
    /// RFC 8289 leaves ECN open; RFC 8290 section 5.2.6 marks instead of dropping. A marked packet
    /// counts as a drop in the control law, and it is the packet to send.
    fn pick(&mut self, now_ns: u64, gone: &mut VecDeque<Packet>) -> Option<Packet> {
        let (mut packet, mut ok_to_drop) = self.next(now_ns);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now_ns >= self.drop_next_ns {
                self.count += 1;
                if self.marks(&mut packet) {
                    self.drop_next_ns = self.control_law(self.drop_next_ns);
                    break;
                }
                gone.extend(packet.map(|packet| drops(packet, now_ns)));
                (packet, ok_to_drop) = self.next(now_ns);
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next_ns = self.control_law(self.drop_next_ns);
                }
            }
        } else if ok_to_drop {
            if !self.marks(&mut packet) {
                gone.extend(packet.map(|packet| drops(packet, now_ns)));
                (packet, _) = self.next(now_ns);
            }
            self.dropping = true;
            // Section 5.5: if dropping ended only recently, it resumes at its last rate.
            let delta = self.count - self.last_count;
            let lately =
                now_ns.saturating_sub(self.drop_next_ns) < 16 * self.parameters.interval_ns;
            self.count = if delta > 1 && lately { delta } else { 1 };
            self.drop_next_ns = self.control_law(now_ns);
            self.last_count = self.count;
        }
        packet
    }

    /// Section 5.6, `dodequeue`: the head, and whether it waited too long for an interval.
    fn next(&mut self, now_ns: u64) -> (Option<Packet>, bool) {
        let Some(packet) = self.fifo.pop() else {
            self.first_above_ns = None;
            return (None, false);
        };
        let sojourn_ns = now_ns.saturating_sub(packet.at_ns);
        let mut ok_to_drop = false;
        if sojourn_ns < self.parameters.target_ns || self.fifo.bytes() <= MAX_PACKET {
            self.first_above_ns = None;
        } else {
            match self.first_above_ns {
                None => self.first_above_ns = Some(now_ns + self.parameters.interval_ns),
                Some(first_above_ns) => ok_to_drop = now_ns >= first_above_ns,
            }
        }
        (Some(packet), ok_to_drop)
    }

    fn control_law(&self, from_ns: u64) -> u64 {
        let interval_ns = self.parameters.interval_ns as f64;
        from_ns + (interval_ns / f64::from(self.count).sqrt()).round() as u64
    }

    fn marks(&self, packet: &mut Option<Packet>) -> bool {
        self.parameters.ecn && packet.as_mut().is_some_and(marks)
    }
}

impl Discipline for Codel {
    /// A full queue drops the newcomer.
    fn put(&mut self, packet: Packet, full: bool, _: &mut VecDeque<Packet>) -> Option<Packet> {
        if full {
            return Some(refuses(packet));
        }
        self.fifo.put(packet);
        None
    }

    fn take(&mut self, now_ns: u64, gone: &mut VecDeque<Packet>) -> Option<Packet> {
        let mut packet = self.pick(now_ns, gone)?;
        let limit_ns = self.parameters.ce_threshold_ns.unwrap_or(u64::MAX);
        let meant = packet.header.ecn.scalable() || !self.parameters.ce_scalable;
        if meant && now_ns.saturating_sub(packet.at_ns) > limit_ns {
            marks(&mut packet);
        }
        Some(packet)
    }

    fn resume(&mut self, packet: Packet, _now_ns: u64) {
        self.fifo.put(packet);
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.fifo.drain()
    }
}

//! DualPI2: RFC 9332, appendix A.

use std::collections::VecDeque;

use anyhow::{Result, ensure};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::fifo::{Fifo, Ticks, drops, marks, refuses};
use super::pie::{check_gains, check_update};
use super::{Context, Discipline, Kind, Packet};
use crate::check::{check_ms, check_positive_ms};
use crate::model::{Counts, QueueCount};
use crate::units::{ns, times};

/// The threshold `Th_len` (lines 5a to 5d of `dualpi2_dequeue`): a packet alone in its queue is not
/// marked by the L4S queue's own threshold.
const ALONE: usize = 1;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    pub target_ms: f64,
    pub update_ms: f64,
    /// Gain in 1/s.
    pub alpha: f64,
    pub beta: f64,
    /// The coupling factor k.
    pub coupling: f64,
    /// The L4S queue marks all packets that waited `step_ms` and `ramp_ms`, none that waited less
    /// than `step_ms`, and a growing share in between: the RFC's minTh and range.
    pub step_ms: f64,
    pub ramp_ms: f64,
    /// Least percentage of the line for the classic queue.
    pub classic_percent: u32,
}

impl Kind for Asked {
    fn check(&self, place: &str) -> Result<()> {
        check_positive_ms(place, "target_ms", self.target_ms)?;
        check_update(place, self.update_ms)?;
        check_positive_ms(place, "step_ms", self.step_ms)?;
        check_ms(place, "ramp_ms", self.ramp_ms)?;
        check_gains(place, self.alpha, self.beta)?;
        ensure!(
            (1.0..=100.0).contains(&self.coupling),
            "{place}.coupling is {}: give 1 to 100",
            self.coupling
        );
        ensure!(
            (1..=99).contains(&self.classic_percent),
            "{place}.classic_percent is {}: give 1 to 99",
            self.classic_percent
        );
        Ok(())
    }

    fn discipline(&self, _context: &Context) -> Box<dyn Discipline> {
        Box::new(DualPi2::new(self.clone()))
    }
}

/// One of the two queues, and what it counts.
struct Queue {
    fifo: Fifo,
    /// The rest of the probability until the next packet is picked (appendix A, `recur`).
    count: f64,
    told: QueueCount,
    waits_ns: Histogram<u64>,
}

impl Queue {
    fn new(name: &'static str) -> Self {
        Self {
            fifo: Fifo::default(),
            count: 0.0,
            told: QueueCount {
                queue: name,
                ..QueueCount::default()
            },
            waits_ns: times(),
        }
    }

    /// Picks a share of the packets, evenly spread (appendix A, `recur`).
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let meets = self.count > 1.0;
        self.count -= f64::from(u8::from(meets));
        meets
    }

    fn marks(&mut self, packet: &mut Packet) {
        self.told.marked += u64::from(marks(packet));
    }

    fn drops(&mut self, packet: Packet, now_ns: u64) -> Packet {
        self.told.dropped += 1;
        drops(packet, now_ns)
    }

    fn sends(&mut self, packet: &Packet, now_ns: u64) {
        self.told.packets += 1;
        self.told.bytes += u64::from(packet.line_bytes);
        let waited_ns = now_ns.saturating_sub(packet.at_ns);
        self.waits_ns.saturating_record(waited_ns);
        self.told.max_ns = self.told.max_ns.max(waited_ns);
    }

    fn told(&self) -> QueueCount {
        let at = |share| self.waits_ns.value_at_quantile(share).min(self.told.max_ns);
        QueueCount {
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            ..self.told
        }
    }
}

/// Two queues for one line: packets of scalable senders (ECT(1) and CE) wait in the L4S queue, all
/// others in the classic one. A controller of the classic queue's delay drops or marks in that
/// queue, and marks in the L4S queue in proportion.
///
/// Names are those of the pseudocode of appendix A.1 and A.2. The scheduler is weighted round
/// robin, as Linux has it: section 2.5.1 only asks that classic packets are not starved.
pub struct DualPi2 {
    asked: Asked,
    ticks: Ticks,
    lq: Queue,
    cq: Queue,
    /// The controller's probability p'.
    p: f64,
    prevq_ms: f64,
    /// Bytes times weight by which the classic queue is ahead of its share.
    credit: i64,
}

impl DualPi2 {
    pub fn new(asked: Asked) -> Self {
        Self {
            ticks: Ticks::new(ns(asked.update_ms).max(1)),
            asked,
            lq: Queue::new("l4s"),
            cq: Queue::new("classic"),
            p: 0.0,
            prevq_ms: 0.0,
            credit: 0,
        }
    }

    fn advance(&mut self, now_ns: u64) {
        while let Some(tick_ns) = self.ticks.tick(now_ns) {
            self.update(tick_ns);
            if self.is_empty() && self.p == 0.0 && self.prevq_ms == 0.0 {
                self.ticks.skip(now_ns);
            }
        }
    }

    /// Appendix A.1, `dualpi2_enqueue`: by the last bit of the ECN field, ECT(1) and CE are of
    /// scalable senders.
    fn queue_of(&mut self, packet: &Packet) -> &mut Queue {
        if packet.header.ecn.scalable() {
            &mut self.lq
        } else {
            &mut self.cq
        }
    }

    fn is_empty(&self) -> bool {
        self.lq.fifo.is_empty() && self.cq.fifo.is_empty()
    }

    /// Appendix A.2, `dualpi2_update`: the longer wait of both queues counts.
    fn update(&mut self, now_ns: u64) {
        let longest_ns = [&self.cq, &self.lq].map(|queue| queue.fifo.head_wait_ns(now_ns));
        let curq_ms = longest_ns.into_iter().fold(0, u64::max) as f64 / 1e6;
        let seconds = |ms: f64| ms / 1e3;
        self.p += self.asked.alpha * seconds(curq_ms - self.asked.target_ms)
            + self.asked.beta * seconds(curq_ms - self.prevq_ms);
        self.p = self.p.clamp(0.0, 1.0);
        self.prevq_ms = curq_ms;
    }

    /// Appendix A.1, `laqm`: the L4S queue's own threshold, a step or a ramp.
    fn laqm(&self, wait_ns: u64) -> f64 {
        let over_ms = wait_ns as f64 / 1e6 - self.asked.step_ms;
        if over_ms >= self.asked.ramp_ms {
            1.0
        } else {
            (over_ms / self.asked.ramp_ms).max(0.0)
        }
    }

    /// Whether it is the L4S queue's turn, by credits as in Linux's sch_dualpi2.
    fn scalable_goes(&self) -> bool {
        let (l4s, classic) = (!self.lq.fifo.is_empty(), !self.cq.fifo.is_empty());
        l4s && (!classic || self.credit <= 0)
    }

    /// Picks one packet (appendix A.2, `dualpi2_dequeue` with overload protection). Err is a
    /// dropped packet.
    fn pick(&mut self, now_ns: u64) -> Option<Result<Packet, Packet>> {
        let (p_c, p_cl) = (self.p * self.p, self.asked.coupling * self.p);
        let share = i64::from(self.asked.classic_percent);
        let contended = !self.lq.fifo.is_empty() && !self.cq.fifo.is_empty();
        if self.scalable_goes() {
            let queued = self.lq.fifo.len();
            let mut packet = self.lq.fifo.pop()?;
            let bytes = i64::from(packet.line_bytes);
            self.credit += if contended { share * bytes } else { 0 };
            if p_cl < 1.0 {
                let wait_ns = now_ns.saturating_sub(packet.at_ns);
                let own = if queued > ALONE {
                    self.laqm(wait_ns)
                } else {
                    0.0
                };
                if self.lq.recur(own.max(p_cl)) {
                    self.lq.marks(&mut packet);
                }
            } else if self.lq.recur(p_c) {
                return Some(Err(self.lq.drops(packet, now_ns))); // back to drops, as classic
            } else {
                self.lq.marks(&mut packet); // p_CL has reached 1
            }
            self.lq.sends(&packet, now_ns);
            return Some(Ok(packet));
        }
        let mut packet = self.cq.fifo.pop()?;
        let bytes = i64::from(packet.line_bytes);
        self.credit -= if contended { (100 - share) * bytes } else { 0 };
        if self.cq.recur(p_c) {
            // p_Cmax is 1 / k^2, where p_CL reaches 1: overload disables ECN.
            if !packet.header.ecn.capable() || p_cl >= 1.0 {
                return Some(Err(self.cq.drops(packet, now_ns)));
            }
            self.cq.marks(&mut packet);
        }
        self.cq.sends(&packet, now_ns);
        Some(Ok(packet))
    }
}

impl Discipline for DualPi2 {
    fn begin(&mut self, epoch_ns: u64) {
        self.ticks.begin(epoch_ns);
    }

    fn put(&mut self, packet: Packet, full: bool, _: &mut VecDeque<Packet>) -> Option<Packet> {
        self.advance(packet.at_ns);
        let queue = self.queue_of(&packet);
        if full {
            queue.told.dropped += 1;
            return Some(refuses(packet));
        }
        queue.fifo.put(packet);
        None
    }

    fn take(&mut self, now_ns: u64, gone: &mut VecDeque<Packet>) -> Option<Packet> {
        self.advance(now_ns);
        loop {
            match self.pick(now_ns) {
                Some(Err(dropped)) => gone.push_back(dropped),
                picked => {
                    if self.is_empty() {
                        self.credit = 0;
                    }
                    return picked.and_then(Result::ok);
                }
            }
        }
    }

    fn count(&self, counts: &mut Counts) {
        counts.queues.extend([self.cq.told(), self.lq.told()]);
    }

    fn resume(&mut self, packet: Packet, now_ns: u64) {
        self.advance(now_ns);
        self.queue_of(&packet).fifo.put(packet);
    }

    fn drain(&mut self) -> Vec<Packet> {
        let queues = [&mut self.cq, &mut self.lq];
        queues
            .into_iter()
            .flat_map(|queue| queue.fifo.drain())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Ecn;

    const MS: u64 = 1_000_000;

    fn dual(ramp_ms: f64) -> DualPi2 {
        DualPi2::new(Asked {
            target_ms: 15.0,
            update_ms: 16.0,
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step_ms: 1.0,
            ramp_ms,
            classic_percent: 10,
        })
    }

    fn put(dual: &mut DualPi2, ecn: Ecn, at_ns: u64, count: usize) {
        for index in 0..count {
            let mut packet = Packet::new(index as u64, 1000, at_ns, 0);
            packet.header.ecn = ecn;
            dual.put(packet, false, &mut VecDeque::new());
        }
    }

    /// Marks and drops among `count` packets of one sender that leave at once, under a fixed p'.
    fn met(ecn: Ecn, p: f64, count: usize) -> (usize, usize) {
        let mut dual = dual(0.0);
        put(&mut dual, ecn, 0, count);
        dual.p = p;
        let mut gone = VecDeque::new();
        let left = std::iter::from_fn(|| dual.take(0, &mut gone));
        (left.filter(|packet| packet.marked).count(), gone.len())
    }

    #[test]
    fn the_last_bit_of_ecn_chooses_the_queue() {
        let mut dual = dual(0.0);
        for (ecn, queued) in [
            (Ecn::NotEct, (1, 0)),
            (Ecn::Ect1, (1, 1)),
            (Ecn::Ect0, (2, 1)),
            (Ecn::Ce, (2, 2)),
        ] {
            put(&mut dual, ecn, 0, 1);
            assert_eq!((dual.cq.fifo.len(), dual.lq.fifo.len()), queued);
        }
    }

    #[test]
    fn the_base_probability_follows_the_wait_and_its_change() {
        // dualpi2_update: p' += alpha (curq - target) + beta (curq - prevq).
        let mut dual = dual(0.0);
        put(&mut dual, Ecn::NotEct, 0, 1);
        dual.update(25 * MS);
        let first = 0.16 * 0.010 + 3.2 * 0.025;
        assert!((dual.p - first).abs() < 1e-12);
        dual.update(41 * MS);
        assert!((dual.p - first - 0.16 * 0.026 - 3.2 * 0.016).abs() < 1e-12);
        // The longer wait of both counts, and an empty queue waits 0.
        dual.ticks.begin(MS * MS); // not by the clock
        dual.take(41 * MS, &mut VecDeque::new());
        let before = dual.p;
        dual.update(57 * MS);
        assert!((dual.p - (before - 0.16 * 0.015 - 3.2 * 0.041).max(0.0)).abs() < 1e-12);
    }

    #[test]
    fn scalable_senders_meet_k_times_p_and_classic_ones_its_square() {
        // Lines 4 and 5 of dualpi2_update: p_CL = k p', p_C = p'^2; here 0.4 and 0.04.
        // The sum of fractions may fall short of a whole by a last bit.
        let about = |(marked, dropped): (usize, usize)| (marked / 10, dropped / 2);
        assert_eq!(about(met(Ecn::Ect1, 0.2, 1009)), (40, 0));
        assert_eq!(about(met(Ecn::Ect0, 0.2, 1009)), (4, 0));
        assert_eq!(about(met(Ecn::NotEct, 0.2, 1020)), (0, 20));
    }

    #[test]
    fn overload_drops_in_both_queues() {
        // p_CL has reached 1: p_C drops, also what understands ECN; the rest of L4S is marked.
        let (marked, dropped) = met(Ecn::Ect1, 0.6, 1000);
        assert!((355..=365).contains(&dropped), "{dropped}");
        assert_eq!(marked + dropped, 1000);
        let (marked, dropped) = met(Ecn::Ect0, 0.6, 1000);
        assert_eq!(marked, 0);
        assert!((355..=365).contains(&dropped), "{dropped}");
    }

    #[test]
    fn a_step_marks_all_that_waited_and_a_ramp_more_and_more() {
        let step = dual(0.0);
        let ramp = dual(0.4);
        for (wait_us, by_step, by_ramp) in [
            (999, 0.0, 0.0),
            (1000, 1.0, 0.0),
            (1100, 1.0, 0.25),
            (1300, 1.0, 0.75),
            (1400, 1.0, 1.0),
        ] {
            assert_eq!(step.laqm(wait_us * 1000), by_step, "{wait_us}");
            assert!(
                (ramp.laqm(wait_us * 1000) - by_ramp).abs() < 1e-9,
                "{wait_us}"
            );
        }
        // Alone in its queue a packet may wait: lines 5a to 5d.
        let mut dual = dual(0.0);
        put(&mut dual, Ecn::Ect1, 0, 3);
        let mut gone = VecDeque::new();
        let mut take = || dual.take(2 * MS, &mut gone).unwrap().marked;
        // recur meets the second of two certain marks: its count must exceed 1.
        assert_eq!([take(), take(), take()], [false, true, false]);
    }

    #[test]
    fn both_queues_full_the_classic_one_gets_its_share() {
        let mut dual = dual(0.0);
        put(&mut dual, Ecn::Ect1, 0, 1000);
        put(&mut dual, Ecn::NotEct, 0, 1000);
        let mut gone = VecDeque::new();
        let left = std::iter::from_fn(|| dual.take(0, &mut gone)).take(1000);
        let classic = left.filter(|packet| !packet.header.ecn.scalable()).count();
        assert!((99..=101).contains(&classic), "{classic}");
    }

    #[test]
    fn a_long_silence_is_skipped_and_begins_anew() {
        let mut dual = dual(0.0);
        put(&mut dual, Ecn::NotEct, 0, 100);
        let mut gone = VecDeque::new();
        while dual.take(400 * MS, &mut gone).is_some() {}
        assert!(dual.p > 0.1);
        dual.advance(3_600_000 * MS);
        assert_eq!((dual.p, dual.prevq_ms, dual.credit), (0.0, 0.0, 0));
    }
}

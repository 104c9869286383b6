//! PIE: RFC 8033.

use std::collections::VecDeque;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::fifo::{Fifo, Ticks, drops, marks, refuses};
use super::{Context, Discipline, Kind, Packet};
use crate::check::{MAX_MS, check_positive_ms, check_share};
use crate::model::draw::{Draws, Stream};
use crate::units::ns;

/// Bytes of two packets. Section 4.1: with at most two packets queued none is dropped.
const FEW_BYTES: u64 = 2 * 1500;
/// Least sum of probabilities for a drop (sections 4.1 and 5.4); the next constant is the sum that
/// drops for certain.
const LEAST_SUM: f64 = 0.85;
const MOST_SUM: f64 = 8.5;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    pub target_ms: f64,
    pub update_ms: f64,
    /// Gain in 1/s; so is `beta`.
    pub alpha: f64,
    pub beta: f64,
    pub burst_ms: f64,
    pub ecn: bool,
    /// Probability above which packets are dropped even if their sender understands ECN.
    pub mark_share: f64,
}

impl Kind for Asked {
    fn check(&self, place: &str) -> Result<()> {
        check_positive_ms(place, "target_ms", self.target_ms)?;
        check_update(place, self.update_ms)?;
        check_positive_ms(place, "burst_ms", self.burst_ms)?;
        check_share(place, "mark_share", self.mark_share)?;
        check_gains(place, self.alpha, self.beta)
    }

    fn discipline(&self, context: &Context) -> Box<dyn Discipline> {
        Box::new(Pie::new(self.clone(), Pie::draws(context)))
    }
}

/// Shortest period of a controller in ms. A shorter period would keep the link busy.
const LEAST_UPDATE_MS: f64 = 0.1;

/// Checks the period of a controller.
pub fn check_update(place: &str, update_ms: f64) -> Result<()> {
    ensure!(
        (LEAST_UPDATE_MS..=MAX_MS).contains(&update_ms),
        "{place}.update_ms is {update_ms}: give {LEAST_UPDATE_MS} to {MAX_MS}"
    );
    Ok(())
}

/// Checks the gains of a controller, in units of 1/s.
pub fn check_gains(place: &str, alpha: f64, beta: f64) -> Result<()> {
    for (field, gain) in [("alpha", alpha), ("beta", beta)] {
        ensure!(
            (0.0..=1000.0).contains(&gain),
            "{place}.{field} is {gain}: give 0 to 1000"
        );
    }
    Ok(())
}

/// A queue that drops newcomers with a probability that a controller changes with the delay.
///
/// Names are those of the pseudocode in appendix A. The delay is that of the packet that left last
/// (section 5.2 allows timestamps), and 0 once the queue is empty.
pub struct Pie {
    asked: Asked,
    draws: Draws,
    ticks: Ticks,
    queue: Fifo,
    drop_prob: f64,
    accu_prob: f64,
    burst_allowance_ms: f64,
    qdelay_ms: f64,
    qdelay_old_ms: f64,
}

impl Pie {
    /// The random numbers of a direction.
    pub fn draws(context: &Context) -> Draws {
        Draws::new(context.seed, context.direction, Stream::Named("pie"))
    }

    pub fn new(asked: Asked, draws: Draws) -> Self {
        Self {
            ticks: Ticks::new(ns(asked.update_ms).max(1)),
            burst_allowance_ms: asked.burst_ms,
            asked,
            draws,
            queue: Fifo::default(),
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay_ms: 0.0,
            qdelay_old_ms: 0.0,
        }
    }

    /// Lets the controller run until `now_ns`.
    fn advance(&mut self, now_ns: u64) {
        while self.ticks.tick(now_ns).is_some() {
            self.calculate_drop_prob();
            if self.at_rest() {
                self.ticks.skip(now_ns);
            }
        }
    }

    /// Whether nothing would change from tick to tick.
    fn at_rest(&self) -> bool {
        self.queue.is_empty()
            && self.drop_prob == 0.0
            && self.qdelay_ms == 0.0
            && self.qdelay_old_ms == 0.0
            && self.burst_allowance_ms >= self.asked.burst_ms
    }

    /// Appendix A, `calculate_drop_prob`.
    fn calculate_drop_prob(&mut self) {
        let seconds = |ms: f64| ms / 1e3;
        let mut p = self.asked.alpha * seconds(self.qdelay_ms - self.asked.target_ms)
            + self.asked.beta * seconds(self.qdelay_ms - self.qdelay_old_ms);
        // Section 4.2: the smaller the probability, the smaller the step.
        p /= match self.drop_prob {
            small if small < 0.000_001 => 2048.0,
            small if small < 0.000_01 => 512.0,
            small if small < 0.000_1 => 128.0,
            small if small < 0.001 => 32.0,
            small if small < 0.01 => 8.0,
            small if small < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.drop_prob >= 0.1 {
            p = p.min(0.02); // section 5.5
        }
        self.drop_prob += p;
        if self.qdelay_ms == 0.0 && self.qdelay_old_ms == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        // Section 4.4.
        let calm = 0.5 * self.asked.target_ms;
        self.burst_allowance_ms = (self.burst_allowance_ms - self.asked.update_ms).max(0.0);
        if self.drop_prob == 0.0 && self.qdelay_ms < calm && self.qdelay_old_ms < calm {
            self.burst_allowance_ms = self.asked.burst_ms;
        }
        self.qdelay_old_ms = self.qdelay_ms;
    }

    /// Appendix A, `drop_early`.
    fn drops_early(&mut self, packet: &Packet) -> bool {
        let calm = self.qdelay_old_ms < 0.5 * self.asked.target_ms && self.drop_prob < 0.2;
        if self.burst_allowance_ms > 0.0 || calm || self.queue.bytes() <= FEW_BYTES {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        let drops = self.accu_prob >= LEAST_SUM
            && (self.accu_prob >= MOST_SUM || self.draws.of(packet) < self.drop_prob);
        if drops {
            self.accu_prob = 0.0;
        }
        drops
    }
}

impl Discipline for Pie {
    fn begin(&mut self, epoch_ns: u64) {
        self.ticks.begin(epoch_ns);
    }

    fn put(&mut self, mut packet: Packet, full: bool, _: &mut VecDeque<Packet>) -> Option<Packet> {
        let now_ns = packet.at_ns;
        self.advance(now_ns);
        if full {
            return Some(refuses(packet));
        }
        if self.drops_early(&packet) {
            let marked =
                self.asked.ecn && self.drop_prob < self.asked.mark_share && marks(&mut packet);
            if !marked {
                return Some(drops(packet, now_ns));
            }
        }
        self.queue.put(packet);
        None
    }

    fn take(&mut self, now_ns: u64, _: &mut VecDeque<Packet>) -> Option<Packet> {
        self.advance(now_ns);
        let packet = self.queue.pop()?;
        let waited_ns = now_ns.saturating_sub(packet.at_ns);
        let more = !self.queue.is_empty();
        self.qdelay_ms = if more { waited_ns as f64 / 1e6 } else { 0.0 };
        Some(packet)
    }

    fn resume(&mut self, packet: Packet, now_ns: u64) {
        self.advance(now_ns);
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

    fn pie(ecn: bool) -> Pie {
        let asked = Asked {
            target_ms: 15.0,
            update_ms: 15.0,
            alpha: 0.125,
            beta: 1.25,
            burst_ms: 150.0,
            ecn,
            mark_share: 0.1,
        };
        Pie::new(asked, Draws::new(1, 1, Stream::Named("pie")))
    }

    /// `count` packets for each that leaves, one of which leaves every ms until `until_ms`.
    fn overload(pie: &mut Pie, until_ms: u64, count: u64, ecn: Ecn) -> (Vec<u64>, Vec<u64>) {
        let (mut dropped, mut marked) = (Vec::new(), Vec::new());
        for ms in 1..until_ms {
            for _ in 0..count {
                let mut packet = Packet::new(ms, 1000, ms * MS, 0);
                packet.header.ecn = ecn;
                let left = pie.put(packet, false, &mut VecDeque::new());
                dropped.extend(left.map(|_| ms));
            }
            let left = pie.take(ms * MS, &mut VecDeque::new()).unwrap();
            marked.extend(left.marked.then_some(left.index));
        }
        (dropped, marked)
    }

    #[test]
    fn a_step_of_the_controller_is_that_of_the_appendix() {
        let mut pie = pie(false);
        (pie.drop_prob, pie.qdelay_ms, pie.qdelay_old_ms) = (0.2, 35.0, 25.0);
        pie.calculate_drop_prob();
        // 0.125 * 0.020 + 1.25 * 0.010, and the probability is above 0.1: no scaling.
        assert!((pie.drop_prob - 0.215).abs() < 1e-12);
        assert_eq!(pie.qdelay_old_ms, 35.0);
        // Section 4.2: a probability below 0.01 takes an eighth of the step.
        (pie.drop_prob, pie.qdelay_ms, pie.qdelay_old_ms) = (0.005, 35.0, 25.0);
        pie.calculate_drop_prob();
        assert!((pie.drop_prob - (0.005 + 0.015 / 8.0)).abs() < 1e-12);
        // Section 5.5: never more than 2 % at once, from 10 % on.
        (pie.drop_prob, pie.qdelay_ms, pie.qdelay_old_ms) = (0.1, 500.0, 0.0);
        pie.calculate_drop_prob();
        assert!((pie.drop_prob - 0.12).abs() < 1e-12);
        // Two delays of 0: 98 % of what the controller leaves.
        (pie.drop_prob, pie.qdelay_ms, pie.qdelay_old_ms) = (0.5, 0.0, 0.0);
        pie.calculate_drop_prob();
        assert!((pie.drop_prob - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12);
    }

    #[test]
    fn a_burst_is_allowed_and_then_the_delay_comes_down() {
        let mut pie = pie(false);
        let (dropped, _) = overload(&mut pie, 30_000, 2, Ecn::NotEct);
        assert!(dropped[0] >= 150, "{}", dropped[0]);
        assert!((1.0..60.0).contains(&pie.qdelay_ms), "{}", pie.qdelay_ms);
        let late = dropped.iter().filter(|ms| **ms >= 20_000).count();
        assert!((9_800..10_200).contains(&late), "{late}"); // every second packet of 20,000
    }

    #[test]
    fn marks_stop_where_the_probability_is_high() {
        let mut pie = pie(true);
        let (dropped, marked) = overload(&mut pie, 3000, 2, Ecn::Ect0);
        // Senders that do not slow down: first marks, and drops above 10 %.
        assert!(marked.len() > 5 && dropped.len() > 500);
        assert!(marked[0] < dropped[0]);
        assert!(pie.drop_prob > 0.1);
    }

    #[test]
    fn a_long_silence_is_skipped_and_begins_anew() {
        let mut pie = pie(false);
        overload(&mut pie, 1000, 2, Ecn::NotEct);
        while pie.take(1000 * MS, &mut VecDeque::new()).is_some() {}
        pie.advance(3_600_000 * MS);
        assert!(pie.at_rest());
    }
}

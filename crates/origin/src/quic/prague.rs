//! Prague, from draft-briscoe-iccrg-prague-congestion-control: a scalable congestion control (RFC
//! 9331 section 4) for the low-latency queue of a dual-queue bottleneck.
//!
//! Packets are ECT(1), and the client counts those that were marked. Where the draft leaves a
//! choice, or this departs from it:
//! - A loss shows a classic bottleneck, so the window then grows as CUBIC's until the next mark.
//! - Slow start sends trains, and ends below the line's rate if they tell it.
//! - A mark before that ends it with half of the window, as the draft's share of 1 does. That
//!   lasts for a round trip, in which the queue drains and packets of the whole window arrive. Then
//!   the window is what the path carries in a round trip without a queue, and the average of marked
//!   shares begins with 0, as in UDP Prague of the draft's authors. From 1 it would fall for 40 round
//!   trips to where a coupled queue holds it, and each of them would cost up to half of the window.
//!
//! Pure: time is an argument. Windows are bytes.

use std::time::{Duration, Instant};

use crate::algorithms::Congestion;
use crate::quic::cubic::Cubic;
use crate::quic::law::{Batch, Law, Loss};
use crate::quic::train::Trains;
use crate::quic::usage::Usage;

/// Gain of the average of marked shares, as DCTCP's g (RFC 8257 section 4.2).
const GAIN: f64 = 1.0 / 16.0;
/// Flows with a shorter round trip grow and react as if they had this one, so that they leave room
/// for those with longer ones.
const REFERENCE_RTT: Duration = Duration::from_millis(25);
/// Three windows in a round trip, where Linux has two: a window that leaves in a third of a round
/// trip finds the queue when it is a third of what the path carries, and overshoots by less.
const SLOW_START_GAIN: f64 = 3.0;
/// Marked packets in a row that tell the line's rate.
const FULL_PACKETS: u64 = 8;
/// Share of the largest packet that is enough for a packet to be full.
const FULL_SHARE: f64 = 0.9;
/// RFC 9002 section 7.2.
const LEAST_PACKETS: f64 = 2.0;

#[derive(Debug, Clone)]
pub(crate) struct Prague {
    mtu: f64,
    initial: u64,
    window: f64,
    threshold: f64,
    /// Average share of marked packets since slow start.
    alpha: f64,
    round: Round,
    /// The trains of the first slow start.
    trains: Trains,
    drain: Option<Drain>,
    /// The last reduction for a mark.
    reduced: Option<Instant>,
    /// The last reduction for a loss.
    lost: Option<Instant>,
    /// Grows the window after a loss, until the next mark.
    classic: Option<Cubic>,
    usage: Usage,
    srtt: Option<Duration>,
    least_rtt: Duration,
    newest: Option<Instant>,
    /// Marks counted so far.
    marks: u64,
    /// Bytes and packets of the batch that is not complete.
    acked: f64,
    packets: u64,
}

/// The round over which the share of marked packets is counted.
#[derive(Debug, Clone, Copy)]
struct Round {
    /// The round is over when a packet made later is acknowledged, and a virtual round trip has passed.
    began: Instant,
    packets: u64,
    marks: u64,
}

/// The round trip after the mark that ended slow start.
#[derive(Debug, Clone, Copy)]
struct Drain {
    /// The drain is over when a packet made later is acknowledged.
    began: Instant,
    /// The window that the mark met.
    window: f64,
    /// What has arrived since.
    arrived: Arrived,
    /// The beginning of it, as long as most packets are marked.
    marked: Arrived,
    /// Whether packets without marks came.
    unmarked: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Arrived {
    bytes: f64,
    packets: u64,
    took: Duration,
}

impl Arrived {
    fn in_time(&self, time: Duration) -> f64 {
        self.bytes * time.as_secs_f64() / self.took.as_secs_f64().max(1e-6)
    }
}

impl Drain {
    /// What the path carries in a round trip. Marked packets in a row leave a queue, at the line's
    /// rate. Without them nothing says that the line was busy.
    fn carried(&self, rtt: Duration) -> f64 {
        let queued = self.marked.packets >= FULL_PACKETS;
        let arrived = if queued { self.marked } else { self.arrived };
        arrived.in_time(rtt)
    }
}

impl Prague {
    pub fn new(now: Instant, mtu: u64, initial: u64) -> Self {
        Self {
            mtu: mtu as f64,
            initial,
            window: initial as f64,
            threshold: f64::INFINITY,
            alpha: 0.0,
            round: Round {
                began: now,
                packets: 0,
                marks: 0,
            },
            trains: Trains::default(),
            drain: None,
            reduced: None,
            lost: None,
            classic: None,
            usage: Usage::new(now),
            srtt: None,
            least_rtt: Duration::MAX,
            newest: None,
            marks: 0,
            acked: 0.0,
            packets: 0,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    fn least(&self) -> f64 {
        LEAST_PACKETS * self.mtu
    }

    fn virtual_rtt(&self) -> Duration {
        self.srtt.unwrap_or_default().max(REFERENCE_RTT)
    }

    /// Whether a round trip has passed since then, by the packets and by the virtual clock.
    fn is_over(&self, now: Instant, since: Instant) -> bool {
        self.newest.is_some_and(|newest| newest > since)
            && now.saturating_duration_since(since) >= self.virtual_rtt()
    }

    fn end_round(&mut self, now: Instant) {
        if !self.is_over(now, self.round.began) {
            return;
        }
        if self.round.packets > 0 {
            let share = (self.round.marks as f64 / self.round.packets as f64).min(1.0);
            self.alpha += GAIN * (share - self.alpha);
        }
        self.begin_round(now);
    }

    fn begin_round(&mut self, now: Instant) {
        self.round = Round {
            began: now,
            packets: 0,
            marks: 0,
        };
    }

    /// Reduces the window by half of the average share of marked packets, at most once in a virtual
    /// round trip.
    fn reduce(&mut self, now: Instant) {
        self.classic = None;
        let lately = |last: Option<Instant>| last.is_some_and(|last| !self.is_over(now, last));
        if lately(self.reduced) || lately(self.lost) {
            return;
        }
        self.set_window(self.window * (1.0 - self.alpha / 2.0));
        self.reduced = Some(now);
    }

    /// Sets the window, and ends slow start with it.
    fn set_window(&mut self, window: f64) {
        self.window = window.max(self.least());
        self.threshold = self.window;
    }

    fn leave_slow_start(&mut self, now: Instant) {
        self.drain = Some(Drain {
            began: now,
            window: self.window,
            arrived: Arrived::default(),
            marked: Arrived::default(),
            unmarked: false,
        });
        self.set_window(self.window / 2.0);
    }

    /// Counts what arrives while the queue drains; returns whether this did.
    fn drains(&mut self, now: Instant, bytes: f64, packets: u64, marks: u64) -> bool {
        let Some(drain) = &mut self.drain else {
            return false;
        };
        drain.arrived.bytes += bytes;
        drain.arrived.packets += packets;
        drain.arrived.took = now.saturating_duration_since(drain.began);
        drain.unmarked |= 2 * marks < packets;
        if !drain.unmarked {
            drain.marked = drain.arrived;
        }
        let drain = *drain;
        if self.newest.is_some_and(|newest| newest > drain.began) {
            let carried = drain.carried(self.least_rtt);
            self.set_window(carried.min(drain.window).max(self.window));
            self.drain = None;
            self.begin_round(now);
        }
        true
    }

    /// Whether this is the first slow start.
    fn is_starting(&self) -> bool {
        self.in_slow_start() && self.lost.is_none()
    }

    /// Ends slow start where the line's rate does. Takes the marks of a batch, and returns those that
    /// a reduction is to answer.
    fn hear_trains(&mut self, now: Instant, marks: u64) -> u64 {
        if !self.is_starting() {
            return marks;
        }
        let marks = self.trains.on_acks_end(now, marks);
        if let Some(line) = self.trains.line() {
            let carried = line * self.least_rtt.as_secs_f64();
            self.threshold = carried.max(self.least());
            self.window = self.window.min(self.threshold);
        }
        marks
    }

    /// The share of a virtual round trip that is real.
    fn real_share(&self) -> f64 {
        let rtt = self.srtt.unwrap_or(REFERENCE_RTT).as_secs_f64();
        rtt / self.virtual_rtt().as_secs_f64()
    }

    /// Grows for `acked` bytes that were not marked.
    fn grow(&mut self, now: Instant, acked: f64) {
        if !self.usage.limits(self.window, self.in_slow_start()) {
            return;
        }
        if self.in_slow_start() {
            self.window = (self.window + acked).min(self.threshold);
        } else if let Some(cubic) = &mut self.classic {
            self.window = cubic.grow(now, self.window, acked, self.least_rtt, self.mtu);
        } else {
            self.window += self.real_share().powi(2) * self.mtu * acked / self.window;
        }
    }
}

impl Law for Prague {
    fn congestion(&self) -> Congestion {
        Congestion::Prague
    }

    fn window(&self) -> u64 {
        self.window as u64
    }

    fn initial_window(&self) -> u64 {
        self.initial
    }

    fn threshold(&self) -> Option<u64> {
        self.threshold.is_finite().then_some(self.threshold as u64)
    }

    fn rate(&self, rtt: Duration, in_flight: u64) -> f64 {
        let round = self.window.max(in_flight as f64) / rtt.as_secs_f64().max(1e-6);
        if self.is_starting() {
            self.trains.rate(round, SLOW_START_GAIN)
        } else if self.in_slow_start() {
            SLOW_START_GAIN * round
        } else {
            round
        }
    }

    fn fine(&self) -> bool {
        true
    }

    fn set_mtu(&mut self, mtu: u64) {
        self.mtu = mtu as f64;
        self.window = self.window.max(self.least());
    }

    fn on_sent(&mut self, now: Instant, in_flight: u64, bytes: u64) {
        let out = (in_flight + bytes) as f64;
        let full = out + self.mtu > self.window;
        self.usage.sent(now, out, full, self.newest);
        let is_full = bytes as f64 >= FULL_SHARE * self.mtu;
        if let Some(newest) = self.newest.filter(|_| is_full && self.is_starting()) {
            self.trains.on_sent(now, newest);
        }
    }

    fn on_acked(&mut self, now: Instant, sent: Instant, rtt: Duration, bytes: u64) {
        self.newest = self.newest.max(Some(sent));
        self.least_rtt = self.least_rtt.min(rtt);
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| (7 * srtt + rtt) / 8));
        self.acked += bytes as f64;
        self.packets += 1;
        let left = now.checked_sub(rtt).unwrap_or(sent);
        self.trains.on_acked(sent, left, bytes);
    }

    fn on_acks_end(&mut self, batch: Batch) {
        let acked = std::mem::take(&mut self.acked);
        let packets = std::mem::take(&mut self.packets);
        let marks = batch.marks.saturating_sub(self.marks);
        self.marks = self.marks.max(batch.marks);
        let answered = self.hear_trains(batch.now, marks);
        if self.drains(batch.now, acked, packets, answered) {
            return;
        }
        if answered > 0 && self.in_slow_start() {
            self.leave_slow_start(batch.now);
            return;
        }
        self.round.packets += packets;
        self.round.marks += answered;
        if packets > 0 {
            let marked = (marks.max(answered) as f64 / packets as f64).min(1.0);
            let answering = self.lost.is_some_and(|lost| !self.is_over(batch.now, lost));
            if !answering {
                self.grow(batch.now, acked * (1.0 - marked));
            }
        }
        if answered > 0 {
            self.reduce(batch.now);
        }
        self.end_round(batch.now);
    }

    /// A loss counts as for CUBIC, once in a round trip (RFC 9331 section 4.3).
    fn on_lost(&mut self, loss: Loss) {
        if self.lost.is_none_or(|lost| loss.sent > lost) {
            let mut cubic = self.classic.take().unwrap_or_default();
            self.set_window(cubic.reduce(self.window));
            self.drain = None;
            self.classic = Some(cubic);
            self.lost = Some(loss.now);
        }
        if loss.persistent {
            // RFC 9002 section 7.6.2.
            self.window = self.least();
            self.classic = None;
        }
    }

    fn boxed(&self) -> Box<dyn Law> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
#[path = "prague_tests.rs"]
mod tests;

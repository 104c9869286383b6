//! Congestion control by a window alone: CUBIC and Reno, as Linux's TCP runs them.
//!
//! Slow start, recovery and the definition of a full window follow the kernel, so that a race of
//! TCP against QUIC does not compare two senders. As in QUIC, windows count bytes (RFC 9002 section
//! 7), and losses are detected by RFC 9002 section 6.
//!
//! Pure: time is an argument.

use std::time::{Duration, Instant};

use crate::algorithms::{Congestion, SlowStartExit};
use crate::quic::cubic::Cubic;
use crate::quic::hystart::{Acks, Growth, Watch};
use crate::quic::law::{self, Law, Loss};
use crate::quic::usage::Usage;

/// RFC 5681 section 3.1: the share of Reno's window that remains after a loss.
const RENO_BETA: f64 = 0.5;
/// The smallest window (RFC 9002 section 7.2).
const LEAST_PACKETS: f64 = 2.0;

/// Linux paces at twice the window per round trip until half the slow start threshold, then at 1.2
/// (`tcp_update_pacing_rate`).
const SLOW_START_GAIN: f64 = 2.0;
const AVOIDANCE_GAIN: f64 = 1.2;

#[derive(Debug, Clone)]
pub(crate) struct Window {
    curve: Curve,
    watch: Watch,
    mtu: f64,
    initial: u64,
    /// The congestion window in bytes.
    window: f64,
    threshold: f64,
    usage: Usage,
    recovery: Option<Recovery>,
    least_rtt: Duration,
    /// When the newest packet was made.
    last_sent: Instant,
    batch: Batch,
}

#[derive(Debug, Clone)]
enum Curve {
    Cubic(Cubic),
    Reno,
}

/// Proportional Rate Reduction (RFC 6937, `tcp_cwnd_reduction`). Bytes.
///
/// As TCP's, it lasts until what was lost has arrived, and a retransmission that is lost again counts
/// as the same loss; RFC 9002 section 7.3.2 ends it at the first packet sent after its beginning.
#[derive(Debug, Clone, Copy)]
struct Recovery {
    /// Recovery ends when a packet is acknowledged that was made later.
    since: Instant,
    prior: f64,
    delivered: f64,
    out: f64,
    /// Bytes that were lost and not sent again yet: quinn sends those before anything new.
    missing: f64,
}

/// Acknowledgements that came together, as one batch.
#[derive(Debug, Clone, Copy)]
struct Batch {
    at: Instant,
    /// When the newest packet of the batch was made, and its round trip.
    newest: Option<(Instant, Duration)>,
    packets: u32,
    delivered: f64,
    /// Delivered bytes by which the window may grow.
    grows: f64,
}

impl Window {
    /// `congestion` is CUBIC or Reno; only CUBIC watches for the end of slow start, as in Linux.
    pub fn new(
        congestion: Congestion,
        exit: SlowStartExit,
        paced: bool,
        mtu: u64,
        initial: u64,
        now: Instant,
    ) -> Self {
        let (curve, watch) = match congestion {
            Congestion::Cubic => (Curve::Cubic(Cubic::default()), Watch::new(exit, paced, now)),
            _ => (Curve::Reno, Watch::Nothing),
        };
        Self {
            curve,
            watch,
            mtu: mtu as f64,
            initial,
            window: initial as f64,
            threshold: f64::INFINITY,
            usage: Usage::new(now),
            recovery: None,
            least_rtt: Duration::MAX,
            last_sent: now,
            batch: Batch::new(now),
        }
    }

    /// A packet of `bytes` is made while `in_flight`, without it, are under way.
    pub fn sent(&mut self, now: Instant, in_flight: u64, bytes: u64) {
        if in_flight == 0
            && let Curve::Cubic(cubic) = &mut self.curve
        {
            cubic.idle(now.saturating_duration_since(self.last_sent));
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.out += bytes as f64;
            if recovery.missing > 0.0 {
                recovery.missing -= bytes as f64;
                recovery.since = now;
            }
        }
        let out = (in_flight + bytes) as f64;
        let full = out + self.mtu > self.window;
        let newest = self.batch.newest.map(|(newest, _)| newest);
        self.usage.sent(now, out, full, newest);
        self.last_sent = now;
    }

    /// A packet made at `sent` was acknowledged after `rtt`. Older packets come first.
    pub fn acked(&mut self, now: Instant, sent: Instant, rtt: Duration, bytes: u64) {
        if self.batch.at != now {
            self.batch = Batch {
                newest: self.batch.newest,
                ..Batch::new(now)
            };
        }
        if self.recovery.is_some_and(|recovery| sent > recovery.since) {
            self.recovery = None;
            self.window = self.threshold;
        }
        self.batch.packets += 1;
        self.batch.delivered += bytes as f64;
        if self.recovery.is_none() {
            self.batch.grows += bytes as f64;
        }
        self.batch.newest = self.batch.newest.max(Some((sent, rtt)));
        self.least_rtt = self.least_rtt.min(rtt);
    }

    /// A batch of acknowledgements is complete; `in_flight` is what it left.
    pub fn acks_end(&mut self, now: Instant, in_flight: u64) {
        if self.recovery.is_some() {
            self.reduce(in_flight, true);
            return;
        }
        let Some((sent, rtt)) = self.batch.newest else {
            return;
        };
        let grows = std::mem::take(&mut self.batch.grows);
        if grows == 0.0 {
            return;
        }
        let mut growth = Growth::Over;
        if self.in_slow_start() {
            let acks = Acks {
                now,
                packets: self.batch.packets,
                sent,
                rtt,
                last_sent: self.last_sent,
            };
            growth = self.watch.look(acks, (self.window / self.mtu) as u64);
            if growth == Growth::Over {
                self.threshold = self.window;
            }
        }
        if self.usage.limits(self.window, self.in_slow_start()) {
            let left = self.slow_start(grows, growth);
            self.avoid(now, left);
        }
    }

    /// Handles `lost` bytes, whose newest packet was made at `sent`; with 0, a packet was marked
    /// (RFC 3168). `in_flight` bytes are under way without them.
    pub fn lost(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        lost: u64,
        in_flight: u64,
    ) {
        let known = self.recovery.filter(|recovery| sent <= recovery.since);
        if known.is_none() {
            let prior = self.window;
            let left = match &mut self.curve {
                Curve::Cubic(cubic) => cubic.reduce(prior),
                Curve::Reno => RENO_BETA * prior,
            };
            self.threshold = left.max(self.least());
            self.recovery = Some(Recovery {
                since: now,
                prior,
                delivered: 0.0,
                out: 0.0,
                missing: 0.0,
            });
            if self.batch.at != now {
                self.batch.delivered = 0.0;
            }
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.missing += lost as f64;
        }
        self.reduce(in_flight, false);
        if persistent {
            // RFC 9002 section 7.6.2, as after TCP's timeout.
            self.recovery = None;
            self.window = self.least();
            self.watch.restart(now);
            if let Curve::Cubic(cubic) = &mut self.curve {
                cubic.reset();
            }
        }
    }

    pub fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Grows by `acked` bytes up to the threshold; what is left of them is for congestion avoidance.
    fn slow_start(&mut self, acked: f64, growth: Growth) -> f64 {
        let (divisor, packets) = match growth {
            Growth::Over => return acked,
            Growth::Full { packets } => (1.0, packets),
            Growth::Slow { divisor, packets } => (f64::from(divisor), packets),
        };
        let most = packets.map_or(f64::INFINITY, |packets| f64::from(packets) * self.mtu);
        let grown = self.window + acked.min(most) / divisor;
        let left = (grown - self.threshold).max(0.0);
        self.window = grown.min(self.threshold);
        left
    }

    fn avoid(&mut self, now: Instant, acked: f64) {
        if acked > 0.0 {
            self.window = match &mut self.curve {
                Curve::Cubic(cubic) => {
                    cubic.grow(now, self.window, acked, self.least_rtt, self.mtu)
                }
                Curve::Reno => self.window + self.mtu * acked / self.window,
            };
        }
    }

    /// Sends as much as the reduction allows after the batch's acknowledgements. `intact` says that
    /// the batch brought no loss.
    fn reduce(&mut self, in_flight: u64, intact: bool) {
        let (in_flight, mtu) = (in_flight as f64, self.mtu);
        let newly = std::mem::take(&mut self.batch.delivered);
        let Some(recovery) = &mut self.recovery else {
            return;
        };
        recovery.delivered += newly;
        let mut room = if in_flight > self.threshold {
            let share = self.threshold * recovery.delivered / recovery.prior;
            (share / mtu).ceil() * mtu - recovery.out
        } else {
            let more = (recovery.delivered - recovery.out).max(newly);
            let grace = if intact { mtu } else { 0.0 };
            (more + grace).min(self.threshold - in_flight)
        };
        if recovery.out == 0.0 {
            room = room.max(mtu); // the first retransmission leaves at once
        }
        // Never below RFC 9002's least window, or a lost retransmission would be the last packet.
        self.window = (in_flight + room.max(0.0)).max(LEAST_PACKETS * mtu);
    }

    fn least(&self) -> f64 {
        LEAST_PACKETS * self.mtu
    }
}

impl Law for Window {
    fn congestion(&self) -> Congestion {
        match self.curve {
            Curve::Cubic(_) => Congestion::Cubic,
            Curve::Reno => Congestion::Reno,
        }
    }

    /// None for Reno, which has none.
    fn slow_start_exit(&self) -> Option<SlowStartExit> {
        matches!(self.curve, Curve::Cubic(_)).then(|| self.watch.kind())
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
        let threshold = self.threshold().unwrap_or(u64::MAX);
        let gain = if self.window() < threshold / 2 {
            SLOW_START_GAIN
        } else {
            AVOIDANCE_GAIN
        };
        let bytes = self.window().max(in_flight);
        gain * bytes as f64 / rtt.as_secs_f64().max(1e-6)
    }

    fn set_mtu(&mut self, mtu: u64) {
        self.mtu = mtu as f64;
        self.window = self.window.max(self.least());
    }

    fn on_sent(&mut self, now: Instant, in_flight: u64, bytes: u64) {
        self.sent(now, in_flight, bytes);
    }

    fn on_acked(&mut self, now: Instant, sent: Instant, rtt: Duration, bytes: u64) {
        self.acked(now, sent, rtt, bytes);
    }

    fn on_acks_end(&mut self, batch: law::Batch) {
        self.acks_end(batch.now, batch.in_flight);
    }

    fn on_lost(&mut self, loss: Loss) {
        let Loss {
            now,
            sent,
            persistent,
            bytes,
            in_flight,
        } = loss;
        self.lost(now, sent, persistent, bytes, in_flight);
    }

    /// A mark is a loss of nothing (RFC 3168 section 6.1.2).
    fn on_marked(&mut self, now: Instant, sent: Instant, in_flight: u64) {
        self.lost(now, sent, false, 0, in_flight);
    }

    fn boxed(&self) -> Box<dyn Law> {
        Box::new(self.clone())
    }
}

impl Batch {
    fn new(at: Instant) -> Self {
        Self {
            at,
            newest: None,
            packets: 0,
            delivered: 0.0,
            grows: 0.0,
        }
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;

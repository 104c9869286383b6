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

/// RFC 5681 section 3.1: what a loss leaves of Reno's window.
const RENO_BETA: f64 = 0.5;
/// RFC 9002 section 7.2.
const LEAST_PACKETS: f64 = 2.0;

#[derive(Debug, Clone)]
pub(crate) struct Window {
    law: Law,
    watch: Watch,
    mtu: f64,
    initial: u64,
    /// Bytes.
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
enum Law {
    Cubic(Cubic),
    Reno,
}

/// How full the window was (`tcp_cwnd_validate`): over about a round trip, the strongest sign of it.
#[derive(Debug, Clone, Copy)]
struct Usage {
    /// Whether the window was full.
    full: bool,
    /// Most bytes under way.
    most: f64,
    /// Holds until a packet is acknowledged that was made then or later.
    until: Instant,
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
    /// Lost, and not sent again yet: quinn sends that before anything new.
    missing: f64,
}

/// Acknowledgements that came together.
#[derive(Debug, Clone, Copy)]
struct Batch {
    at: Instant,
    /// When the newest packet of it was made, and its round trip.
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
        let (law, watch) = match congestion {
            Congestion::Cubic => (Law::Cubic(Cubic::default()), Watch::new(exit, paced, now)),
            _ => (Law::Reno, Watch::Nothing),
        };
        Self {
            law,
            watch,
            mtu: mtu as f64,
            initial,
            window: initial as f64,
            threshold: f64::INFINITY,
            usage: Usage {
                full: false,
                most: 0.0,
                until: now,
            },
            recovery: None,
            least_rtt: Duration::MAX,
            last_sent: now,
            batch: Batch::new(now),
        }
    }

    /// The congestion control that runs, which may differ from the requested one.
    pub fn congestion(&self) -> Congestion {
        match self.law {
            Law::Cubic(_) => Congestion::Cubic,
            Law::Reno => Congestion::Reno,
        }
    }

    /// None for Reno, which has none.
    pub fn slow_start_exit(&self) -> Option<SlowStartExit> {
        matches!(self.law, Law::Cubic(_)).then(|| self.watch.kind())
    }

    pub fn window(&self) -> u64 {
        self.window as u64
    }

    pub fn initial_window(&self) -> u64 {
        self.initial
    }

    /// Bytes; None before the first one.
    pub fn threshold(&self) -> Option<u64> {
        self.threshold.is_finite().then_some(self.threshold as u64)
    }

    pub fn set_mtu(&mut self, mtu: u64) {
        self.mtu = mtu as f64;
        self.window = self.window.max(self.least());
    }

    /// A packet of `bytes` is made while `in_flight`, without it, are under way.
    pub fn on_sent(&mut self, now: Instant, in_flight: u64, bytes: u64) {
        if in_flight == 0
            && let Law::Cubic(cubic) = &mut self.law
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
        let usage = &mut self.usage;
        let over = self
            .batch
            .newest
            .is_some_and(|(newest, _)| newest >= usage.until);
        if over || full || (!usage.full && out > usage.most) {
            *usage = Usage {
                full,
                most: out,
                until: now,
            };
        }
        self.last_sent = now;
    }

    /// A packet made at `sent` was acknowledged after `rtt`. Older packets come first.
    pub fn on_acked(&mut self, now: Instant, sent: Instant, rtt: Duration, bytes: u64) {
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
    pub fn on_acks_end(&mut self, now: Instant, in_flight: u64) {
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
        if self.is_limiting() {
            let left = self.slow_start(grows, growth);
            self.avoid(now, left);
        }
    }

    /// `lost` bytes are lost, the newest packet of which was made at `sent`; or none, and one was
    /// marked (RFC 3168). `in_flight` is what is under way without them.
    pub fn on_lost(
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
            let left = match &mut self.law {
                Law::Cubic(cubic) => cubic.reduce(prior),
                Law::Reno => RENO_BETA * prior,
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
            if let Law::Cubic(cubic) = &mut self.law {
                cubic.reset();
            }
        }
    }

    pub fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Whether the window keeps the sender from sending more (`tcp_is_cwnd_limited`). In slow start
    /// it also does if less than half of it would have been enough for what was under way.
    fn is_limiting(&self) -> bool {
        self.usage.full || (self.in_slow_start() && self.window < 2.0 * self.usage.most)
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
            self.window = match &mut self.law {
                Law::Cubic(cubic) => cubic.grow(now, self.window, acked, self.least_rtt, self.mtu),
                Law::Reno => self.window + self.mtu * acked / self.window,
            };
        }
    }

    /// Lets out what the reduction allows after the batch's acknowledgements. `intact` says that it
    /// brought no loss.
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

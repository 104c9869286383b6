//! BBR version 1, from draft-cardwell-iccrg-bbr-congestion-control-00; section numbers are its own.
//!
//! It is pure: time is an argument, so that a test can run it over a simulated path. Where the
//! draft leaves a choice open it follows Linux: it sends 1 % below the estimated bandwidth, so that
//! queues drain. Linux' detection of policers and its allowance for aggregated acknowledgements are
//! left out; the link has neither.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::algorithms::Congestion;
use crate::quic::delivery::{Sample, Sampler};
use crate::quic::law::{Batch, Law, Loss};

/// 2 / ln 2: the least gain that doubles the delivery rate every round (4.1.1.3).
const HIGH_GAIN: f64 = 2.885;
const CWND_GAIN: f64 = 2.0;
/// 4.3.4.2: a round trip of probing, one of draining, six of cruising.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const DRAIN_PHASE: usize = 1;
/// 4.1.1.2: the bandwidth is the maximum over this many rounds.
const BANDWIDTH_ROUNDS: u64 = 10;
/// 4.1.2: the round trip is the minimum over this time, after which it is probed again.
const MIN_RTT_LIFE: Duration = Duration::from_secs(10);
const PROBE_RTT: Duration = Duration::from_millis(200);
const MIN_PIPE_PACKETS: u64 = 4;
/// 4.3.2.2: the pipe is full when three rounds brought less than 25 % more.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
const MARGIN: f64 = 0.99;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw(usize),
    ProbeRtt,
}

/// The largest delivery rate of the last `BANDWIDTH_ROUNDS` rounds, with the round of each
/// candidate.
#[derive(Debug, Clone, Default)]
struct Bandwidth(VecDeque<(u64, f64)>);

impl Bandwidth {
    fn update(&mut self, round: u64, rate: f64) {
        while self.0.back().is_some_and(|&(_, other)| other <= rate) {
            self.0.pop_back();
        }
        self.0.push_back((round, rate));
        while self.0[0].0 + BANDWIDTH_ROUNDS < round {
            self.0.pop_front();
        }
    }

    fn get(&self) -> Option<f64> {
        self.0.front().map(|&(_, rate)| rate)
    }
}

/// Loss recovery (4.2.3.4): for one round, as much is sent as arrived.
#[derive(Debug, Clone, Copy)]
struct Recovery {
    since: Instant,
    conserving: bool,
}

/// BBR's state. Sizes are in bytes, rates in bytes per second.
#[derive(Debug, Clone)]
pub(crate) struct Bbr {
    mode: Mode,
    mtu: u64,
    initial_window: u64,
    window: u64,
    /// The window before recovery or ProbeRTT cut it.
    saved_window: u64,
    pacing_gain: f64,
    window_gain: f64,
    rate: f64,
    bandwidth: Bandwidth,
    min_rtt: Option<Duration>,
    min_rtt_since: Instant,
    probe_rtt_until: Option<Instant>,
    probe_rtt_round: bool,
    round: u64,
    round_ends: u64,
    round_start: bool,
    full_bandwidth: f64,
    full_rounds: u32,
    filled: bool,
    cycle_since: Instant,
    first_phase: usize,
    idle_restart: bool,
    recovery: Option<Recovery>,
    lost: u64,
    in_flight: u64,
    acked: u64,
    sampler: Sampler,
}

impl Bbr {
    /// `rtt` is a guess until the first is seen. `seed` chooses where the gain cycle begins, so that
    /// flows do not probe in step.
    pub fn new(now: Instant, mtu: u64, initial_window: u64, rtt: Duration, seed: u64) -> Self {
        let mut sampler = Sampler::new(now);
        sampler.mark_app_limited(0);
        // Any phase but the one that drains (4.3.4.3).
        let phases = CYCLE.len() - 1;
        let first_phase = (DRAIN_PHASE + 1 + seed as usize % phases) % CYCLE.len();
        Self {
            mode: Mode::Startup,
            mtu,
            initial_window,
            window: initial_window,
            saved_window: 0,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            rate: initial_rate(initial_window, rtt),
            bandwidth: Bandwidth::default(),
            min_rtt: None,
            min_rtt_since: now,
            probe_rtt_until: None,
            probe_rtt_round: false,
            round: 0,
            round_ends: 0,
            round_start: false,
            full_bandwidth: 0.0,
            full_rounds: 0,
            filled: false,
            cycle_since: now,
            first_phase,
            idle_restart: false,
            recovery: None,
            lost: 0,
            in_flight: 0,
            acked: 0,
            sampler,
        }
    }

    /// A packet is sent while `in_flight` bytes, without its own, are under way.
    pub fn sent(&mut self, now: Instant, in_flight: u64) {
        self.sampler.on_sent(now, in_flight, 0);
        if in_flight == 0 && self.sampler.delivered > 0 {
            // 4.3.4.4: after idleness neither probe nor drain.
            self.idle_restart = true;
            if let (Mode::ProbeBw(_), Some(bandwidth)) = (self.mode, self.bandwidth.get()) {
                self.rate = MARGIN * bandwidth;
            }
        }
    }

    pub fn acked(&mut self, now: Instant, sent: Instant, bytes: u64) {
        self.sampler.on_acked(now, sent, bytes);
        self.acked += bytes;
        if self.recovery.is_some_and(|recovery| sent > recovery.since) {
            self.recovery = None;
            self.window = self.window.max(self.saved_window);
        }
    }

    /// One batch of acknowledgements is complete; `in_flight` is what they left.
    pub fn acks_end(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        let before = in_flight + self.acked;
        self.in_flight = in_flight;
        if app_limited {
            self.sampler.mark_app_limited(in_flight);
        }
        let least = self.min_rtt.unwrap_or_default();
        if let Some(sample) = self.sampler.sample(now, least) {
            self.update_round(&sample);
            self.update_bandwidth(&sample);
            self.advance_cycle(now, before);
            self.check_full(&sample);
            self.check_drain(now);
            self.update_min_rtt(now, sample.rtt);
            self.set_rate();
        }
        self.set_window();
        self.acked = 0;
        self.lost = 0;
    }

    pub fn lost(&mut self, now: Instant, persistent: bool, bytes: u64) {
        self.lost += bytes;
        self.in_flight = self.in_flight.saturating_sub(bytes);
        if let Some(recovery) = &mut self.recovery {
            // It lasts until a round trip brings no loss, as TCP's does until no hole is left; were
            // each loss a new recovery, random loss would keep the window from ever growing.
            recovery.since = now;
            self.window = self.window.saturating_sub(bytes);
        } else {
            self.save_window();
            self.window = self.in_flight + self.mtu;
            self.round_ends = self.sampler.delivered;
            self.recovery = Some(Recovery {
                since: now,
                conserving: true,
            });
        }
        // quinn sends while what is in flight stays below the window: one packet needs two.
        let least = 2 * self.mtu;
        self.window = if persistent {
            least
        } else {
            self.window.max(least)
        };
    }

    /// 4.1.1.1: a round ends when a packet sent after its beginning is acknowledged.
    fn update_round(&mut self, sample: &Sample) {
        self.round_start = sample.prior_delivered >= self.round_ends;
        if self.round_start {
            self.round += 1;
            self.round_ends = self.sampler.delivered;
            if let Some(recovery) = &mut self.recovery {
                recovery.conserving = false;
            }
        }
    }

    fn update_bandwidth(&mut self, sample: &Sample) {
        let Some(rate) = sample.rate else { return };
        if !sample.app_limited || self.bandwidth.get().is_none_or(|known| rate >= known) {
            self.bandwidth.update(self.round, rate);
        }
    }

    fn advance_cycle(&mut self, now: Instant, before: u64) {
        let Mode::ProbeBw(phase) = self.mode else {
            return;
        };
        let full = now - self.cycle_since > self.min_rtt.unwrap_or_default();
        let over = if self.pacing_gain > 1.0 {
            full && (self.lost > 0 || before >= self.inflight(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            full || before <= self.inflight(1.0)
        } else {
            full
        };
        if over {
            self.enter_phase(now, (phase + 1) % CYCLE.len());
        }
    }

    fn enter_phase(&mut self, now: Instant, phase: usize) {
        self.mode = Mode::ProbeBw(phase);
        self.pacing_gain = CYCLE[phase];
        self.window_gain = CWND_GAIN;
        self.cycle_since = now;
    }

    fn check_full(&mut self, sample: &Sample) {
        let bandwidth = self.bandwidth.get().unwrap_or_default();
        if self.filled || !self.round_start || sample.app_limited {
            return;
        }
        if bandwidth >= self.full_bandwidth * FULL_GROWTH {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
        } else {
            self.full_rounds += 1;
            self.filled = self.full_rounds >= FULL_ROUNDS;
        }
    }

    fn check_drain(&mut self, now: Instant) {
        if self.mode == Mode::Startup && self.filled {
            self.mode = Mode::Drain;
            self.pacing_gain = 1.0 / HIGH_GAIN;
            self.window_gain = HIGH_GAIN;
        }
        if self.mode == Mode::Drain && self.in_flight <= self.inflight(1.0) {
            self.enter_phase(now, self.first_phase);
        }
    }

    /// Updates the least round trip (4.1.2), and with it when ProbeRTT begins and ends (4.3.5).
    fn update_min_rtt(&mut self, now: Instant, rtt: Duration) {
        if self.min_rtt.is_none() {
            self.rate = initial_rate(self.initial_window, rtt);
        }
        let expired = now > self.min_rtt_since + MIN_RTT_LIFE;
        if expired || self.min_rtt.is_none_or(|known| rtt <= known) {
            self.min_rtt = Some(rtt);
            self.min_rtt_since = now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_window();
            self.mode = Mode::ProbeRtt;
            self.pacing_gain = 1.0;
            self.window_gain = 1.0;
            self.probe_rtt_until = None;
        }
        self.idle_restart = false;
        if self.mode != Mode::ProbeRtt {
            return;
        }
        self.sampler.mark_app_limited(self.in_flight);
        match self.probe_rtt_until {
            None if self.in_flight <= self.least_window() => {
                self.probe_rtt_until = Some(now + PROBE_RTT);
                self.probe_rtt_round = false;
                self.round_ends = self.sampler.delivered;
            }
            None => {}
            Some(until) => {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round && now >= until {
                    self.min_rtt_since = now;
                    self.leave_probe_rtt(now);
                }
            }
        }
    }

    fn leave_probe_rtt(&mut self, now: Instant) {
        self.window = self.window.max(self.saved_window);
        if self.filled {
            self.enter_phase(now, self.first_phase);
        } else {
            self.mode = Mode::Startup;
            self.pacing_gain = HIGH_GAIN;
            self.window_gain = HIGH_GAIN;
        }
    }

    /// Sets the pacing rate (4.2.1).
    fn set_rate(&mut self) {
        let Some(bandwidth) = self.bandwidth.get() else {
            return;
        };
        let rate = self.pacing_gain * bandwidth * MARGIN;
        if self.filled || rate > self.rate {
            self.rate = rate;
        }
    }

    /// Sets the congestion window (4.2.3).
    fn set_window(&mut self) {
        let conserving = self.recovery.is_some_and(|recovery| recovery.conserving);
        let target = self.inflight(self.window_gain) + 3 * self.quantum();
        if conserving {
            self.window = self.window.max(self.in_flight + self.acked);
        } else if self.filled {
            self.window = target.min(self.window + self.acked);
        } else if self.window < target || self.sampler.delivered < self.initial_window {
            self.window += self.acked;
        }
        self.window = self.window.max(self.least_window());
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(self.least_window());
        }
    }

    fn save_window(&mut self) {
        let cut = self.recovery.is_some() || self.mode == Mode::ProbeRtt;
        self.saved_window = if cut {
            self.saved_window.max(self.window)
        } else {
            self.window
        };
    }

    /// Returns the bytes in flight that fill the estimated pipe `gain` times.
    fn inflight(&self, gain: f64) -> u64 {
        match (self.bandwidth.get(), self.min_rtt) {
            (Some(bandwidth), Some(rtt)) => (gain * bandwidth * rtt.as_secs_f64()) as u64,
            _ => (gain * self.initial_window as f64) as u64,
        }
    }

    /// Returns how many bytes may leave at once (4.2.2).
    fn quantum(&self) -> u64 {
        match self.rate * 8.0 {
            slow if slow < 1.2e6 => self.mtu,
            medium if medium < 24e6 => 2 * self.mtu,
            _ => ((self.rate / 1000.0) as u64).min(64 * 1024),
        }
    }

    fn least_window(&self) -> u64 {
        MIN_PIPE_PACKETS * self.mtu
    }
}

impl Law for Bbr {
    fn congestion(&self) -> Congestion {
        Congestion::Bbr
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn rate(&self, _rtt: Duration, _in_flight: u64) -> f64 {
        self.rate
    }

    fn set_mtu(&mut self, mtu: u64) {
        self.mtu = mtu;
    }

    fn on_sent(&mut self, now: Instant, in_flight: u64, _bytes: u64) {
        self.sent(now, in_flight);
    }

    fn on_acked(&mut self, now: Instant, sent: Instant, _rtt: Duration, bytes: u64) {
        self.acked(now, sent, bytes);
    }

    fn on_acks_end(&mut self, batch: Batch) {
        self.acks_end(batch.now, batch.in_flight, batch.app_limited);
    }

    /// Version 1 takes no notice of marks, nor does Linux's.
    fn on_lost(&mut self, loss: Loss) {
        self.lost(loss.now, loss.persistent, loss.bytes);
    }

    fn boxed(&self) -> Box<dyn Law> {
        Box::new(self.clone())
    }
}

/// 4.2.1: as if the initial window filled the pipe.
fn initial_rate(window: u64, rtt: Duration) -> f64 {
    HIGH_GAIN * window as f64 / rtt.as_secs_f64().max(1e-6)
}

#[cfg(test)]
#[path = "bbr_tests.rs"]
mod tests;

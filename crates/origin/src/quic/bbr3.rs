//! BBR version 3, from draft-ietf-ccwg-bbr-05; section numbers are its own.
//!
//! Version 1 sends as its model of the path says, whatever is lost. This one also bounds what is
//! under way by the losses that it caused while it probed, leaves room for others, and probes at
//! longer intervals.
//!
//! Where the draft and Linux's `tcp_bbr.c` of version 3 differ, Linux decides: samples of a probe end
//! with the first round after it. quinn tells of losses by batches, so the newest packet of a
//! batch stands for all of it. Losses that turn out to be none are not undone: quinn does not tell.
//!
//! Pure: time is an argument. Sizes are bytes, rates bytes per second.

use std::time::{Duration, Instant};

use crate::algorithms::Congestion;
use crate::quic::bbr3_bounds::Bounds;
use crate::quic::delivery::{Sample, Sampler};
use crate::quic::law::{Batch, Law, Loss};

/// 5.6.1: gains of the rate and of the window, by state.
const STARTUP_GAIN: f64 = 2.773;
const DRAIN_GAIN: f64 = 0.5;
const DOWN_GAIN: f64 = 0.9;
const UP_GAIN: f64 = 1.25;
const WINDOW_GAIN: f64 = 2.0;
const UP_WINDOW_GAIN: f64 = 2.25;
const PROBE_RTT_WINDOW_GAIN: f64 = 0.5;
/// 5.6.2: packets leave 1 % slower than the estimate, so that queues drain.
const MARGIN: f64 = 0.99;

/// 5.3.1.2: the pipe is full when three rounds brought less than 25 % more.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// 5.3.1.3: losses in a round that end the startup, if there are too many.
const STARTUP_LOSSES: u32 = 6;
const DRAIN_ROUNDS: u64 = 3;

/// 5.3.4: the round trip is the least of this time, and probed after the shorter one.
const MIN_RTT_LIFE: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT: Duration = Duration::from_millis(200);
const MIN_PIPE_PACKETS: u64 = 4;

/// Shortest time between probes for bandwidth, with as much again at random (5.3.3.8). A probe also
/// begins after as many rounds as a Reno flow takes to grow by the bytes under way.
const PROBE_WAIT: Duration = Duration::from_secs(2);
const PROBE_WAIT_CHANCE_MS: u64 = 1000;
const RENO_ROUNDS: u64 = 62;
/// 5.5.9: rounds over which aggregated acknowledgements are remembered.
const AGGREGATION_ROUNDS: u64 = 10;

/// 5.3. `Down` to `Up` are the phases of ProbeBW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// Which part of a probe acknowledgements come from (5.3.3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Init,
    Starting,
    Feedback,
    Stopping,
    Refilling,
}

/// What acknowledgements brought beyond the estimate: a degree of aggregation (5.5.9).
#[derive(Debug, Clone, Copy)]
struct Aggregation {
    since: Instant,
    delivered: u64,
    /// The most of the rounds before `until`, and of those since.
    most: [u64; 2],
    until: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Bbr3 {
    state: State,
    mtu: u64,
    initial_window: u64,
    window: u64,
    /// The window before ProbeRTT cut it.
    saved_window: u64,
    rate: f64,
    sampler: Sampler,
    sample: Option<Sample>,
    /// Most bandwidth of the cycle before, and of this one (5.5.6).
    bandwidths: [f64; 2],
    bounds: Bounds,
    aggregation: Aggregation,
    min_rtt: Option<Duration>,
    min_rtt_since: Instant,
    probe_rtt_min: Option<Duration>,
    probe_rtt_since: Instant,
    probe_rtt_expired: bool,
    probe_rtt_until: Option<Instant>,
    probe_rtt_round: bool,
    round: u64,
    round_ends: u64,
    round_start: bool,
    /// Rounds of loss signals, which begin anew with the first loss.
    loss_round_ends: u64,
    loss_round_start: bool,
    losses: u32,
    recovery: Option<Recovery>,
    full_bandwidth: f64,
    full_rounds: u32,
    full_now: bool,
    /// Whether the pipe was ever full.
    filled: bool,
    drain_round: u64,
    phase: Phase,
    /// Whether packets that are lost now were sent by a probe.
    probing: bool,
    cycle_since: Instant,
    wait: Duration,
    reno_rounds: u64,
    rounds_since_probe: u64,
    limited_in_round: bool,
    /// Whether the window limited the sender in the last round.
    limited: bool,
    idle_restart: bool,
    in_flight: u64,
    acked: u64,
    random: u64,
}

#[derive(Debug, Clone, Copy)]
struct Recovery {
    since: Instant,
    round: u64,
}

impl Bbr3 {
    /// `rtt` is a guess until the first is seen. `seed` decides when flows probe, so that they do
    /// not do it in step.
    pub fn new(now: Instant, mtu: u64, initial_window: u64, rtt: Duration, seed: u64) -> Self {
        let mut sampler = Sampler::remembering(now);
        sampler.mark_app_limited(0);
        Self {
            state: State::Startup,
            mtu,
            initial_window,
            window: initial_window,
            saved_window: 0,
            rate: initial_rate(initial_window, rtt),
            sampler,
            sample: None,
            bandwidths: [0.0; 2],
            bounds: Bounds::default(),
            aggregation: Aggregation {
                since: now,
                delivered: 0,
                most: [0; 2],
                until: 0,
            },
            min_rtt: None,
            min_rtt_since: now,
            probe_rtt_min: None,
            probe_rtt_since: now,
            probe_rtt_expired: false,
            probe_rtt_until: None,
            probe_rtt_round: false,
            round: 0,
            round_ends: 0,
            round_start: false,
            loss_round_ends: 0,
            loss_round_start: false,
            losses: 0,
            recovery: None,
            full_bandwidth: 0.0,
            full_rounds: 0,
            full_now: false,
            filled: false,
            drain_round: 0,
            phase: Phase::Init,
            probing: false,
            cycle_since: now,
            wait: PROBE_WAIT,
            reno_rounds: RENO_ROUNDS,
            rounds_since_probe: 0,
            limited_in_round: false,
            limited: false,
            idle_restart: false,
            in_flight: 0,
            acked: 0,
            random: seed,
        }
    }

    fn is_probe_bw(&self) -> bool {
        use State::{Cruise, Down, Refill, Up};
        matches!(self.state, Down | Cruise | Refill | Up)
    }

    fn rate_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => DRAIN_GAIN,
            State::Down => DOWN_GAIN,
            State::Up => UP_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.state {
            State::Up => UP_WINDOW_GAIN,
            State::ProbeRtt => PROBE_RTT_WINDOW_GAIN,
            _ => WINDOW_GAIN,
        }
    }

    fn max_bandwidth(&self) -> f64 {
        self.bandwidths[0].max(self.bandwidths[1])
    }

    /// What the model allows, with the short term's losses.
    fn bandwidth(&self) -> f64 {
        self.max_bandwidth().min(self.bounds.bandwidth)
    }

    fn least_window(&self) -> u64 {
        MIN_PIPE_PACKETS * self.mtu
    }

    /// 5.6.4.2: bytes that fill the pipe `gain` times at this bandwidth.
    fn product(&self, bandwidth: f64, gain: f64) -> u64 {
        match self.min_rtt {
            Some(rtt) => (gain * bandwidth * rtt.as_secs_f64()) as u64,
            None => (gain * self.initial_window as f64) as u64,
        }
    }

    /// 5.6.4.2: at least what senders and receivers need that handle packets in batches.
    fn with_budget(&self, bytes: u64) -> u64 {
        let more = if self.state == State::Up {
            2 * self.mtu
        } else {
            0
        };
        bytes.max(3 * self.quantum()).max(self.least_window()) + more
    }

    fn inflight(&self, gain: f64) -> u64 {
        self.with_budget(self.product(self.max_bandwidth(), gain))
    }

    fn target_inflight(&self) -> u64 {
        self.product(self.bandwidth(), 1.0).min(self.window)
    }

    /// 5.6.3: what may leave at once.
    fn quantum(&self) -> u64 {
        ((self.rate / 1000.0) as u64)
            .min(64 << 10)
            .max(2 * self.mtu)
    }

    /// Updates the model and the control by a batch of acknowledgements (5.2.3).
    fn update(&mut self, now: Instant, sample: Sample) {
        self.sample = Some(sample);
        self.bounds.saw(&sample);
        self.loss_round_start = sample.prior_delivered >= self.loss_round_ends;
        if self.loss_round_start {
            self.loss_round_ends = self.sampler.delivered;
        }
        self.update_round(&sample);
        self.update_bandwidth(&sample);
        if self.loss_round_start {
            let probes = matches!(self.state, State::Startup | State::Refill | State::Up);
            self.bounds
                .adapt(!probes, self.max_bandwidth(), self.window);
        }
        self.update_aggregation(now);
        self.check_full(&sample);
        self.check_losses(&sample);
        if self.state == State::Startup && self.filled {
            self.state = State::Drain;
            self.drain_round = self.round;
        }
        let drained = self.in_flight <= self.inflight(1.0);
        if self.state == State::Drain && (drained || self.round > self.drain_round + DRAIN_ROUNDS) {
            self.start_down(now);
        }
        self.advance(now, &sample);
        self.update_min_rtt(now, sample.rtt);
        self.check_probe_rtt(now);
        if self.loss_round_start {
            self.bounds.forget_latest(&sample);
        }
    }

    /// 5.5.1: a round ends when a packet sent after its beginning is acknowledged.
    fn update_round(&mut self, sample: &Sample) {
        self.round_start = sample.prior_delivered >= self.round_ends;
        if self.round_start {
            self.start_round();
            self.round += 1;
            self.rounds_since_probe += 1;
            self.limited = std::mem::take(&mut self.limited_in_round);
        }
    }

    fn start_round(&mut self) {
        self.round_ends = self.sampler.delivered;
    }

    /// Updates the estimated bandwidth (5.5.5).
    fn update_bandwidth(&mut self, sample: &Sample) {
        let Some(rate) = sample.rate else { return };
        if rate >= self.max_bandwidth() || !sample.app_limited {
            self.bandwidths[1] = self.bandwidths[1].max(rate);
        }
    }

    /// Updates the degree of aggregation (5.5.9).
    fn update_aggregation(&mut self, now: Instant) {
        let bandwidth = self.bandwidth();
        let of = &mut self.aggregation;
        let expected = |since| {
            let time = now.saturating_duration_since(since).as_secs_f64();
            (bandwidth * time) as u64
        };
        if of.delivered <= expected(of.since) {
            (of.since, of.delivered) = (now, 0);
        }
        of.delivered += self.acked;
        let extra = of.delivered.saturating_sub(expected(of.since));
        let extra = extra.min(self.window);
        if !self.filled {
            of.most = [0, extra]; // of this round alone
        } else if self.round >= of.until {
            of.most = [of.most[1], extra];
            of.until = self.round + AGGREGATION_ROUNDS / 2;
        } else {
            of.most[1] = of.most[1].max(extra);
        }
    }

    /// Checks whether the startup has filled the pipe (5.3.1.2).
    fn check_full(&mut self, sample: &Sample) {
        if self.full_now || !self.round_start || sample.app_limited {
            return;
        }
        let rate = sample.rate.unwrap_or_default();
        if rate >= self.full_bandwidth * FULL_GROWTH {
            self.restart_full(rate);
            return;
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_ROUNDS;
        self.filled |= self.full_now;
    }

    fn restart_full(&mut self, bandwidth: f64) {
        self.full_bandwidth = bandwidth;
        self.full_rounds = 0;
        self.full_now = false;
    }

    fn restart_full_with_sample(&mut self) {
        self.restart_full(
            self.sample
                .and_then(|sample| sample.rate)
                .unwrap_or_default(),
        );
    }

    /// Checks whether losses end the startup (5.3.1.3).
    fn check_losses(&mut self, sample: &Sample) {
        if !self.loss_round_start {
            return;
        }
        let a_round = (self.recovery).is_some_and(|recovery| self.round > recovery.round);
        let losses = std::mem::take(&mut self.losses);
        if !self.filled
            && a_round
            && losses >= STARTUP_LOSSES
            && Bounds::too_high(sample.lost, sample.in_flight)
        {
            let product = self.product(self.max_bandwidth(), 1.0);
            self.bounds.inflight_long = Some(product.max(self.bounds.inflight_latest));
            self.filled = true;
            self.full_now = true;
        }
    }

    /// 5.3.3: the cycle of probes for bandwidth.
    fn advance(&mut self, now: Instant, sample: &Sample) {
        if !self.filled {
            return;
        }
        self.adapt_long(sample);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.probing = true;
                self.start_up();
            }
            State::Up => {
                let filled = self.is_time_to_go_down();
                if filled {
                    self.start_down(now);
                }
            }
            _ => {}
        }
    }

    /// Adapts the long-term bound of bytes under way (5.3.3.6).
    fn adapt_long(&mut self, sample: &Sample) {
        match self.phase {
            Phase::Starting if self.round_start => self.phase = Phase::Feedback,
            Phase::Stopping if self.round_start => {
                self.phase = Phase::Init;
                self.probing = false;
                if self.is_probe_bw() && !sample.app_limited && self.bandwidths[1] > 0.0 {
                    self.bandwidths = [self.bandwidths[1], 0.0];
                }
            }
            _ => {}
        }
        if Bounds::too_high(sample.lost, sample.in_flight) {
            return;
        }
        let up = self.state == State::Up && self.limited;
        self.bounds.raise(
            sample.in_flight,
            self.acked,
            up,
            self.round_start,
            self.window,
            self.mtu,
        );
    }

    fn is_time_to_probe(&self, now: Instant) -> bool {
        let reno = (self.target_inflight() / self.mtu).min(self.reno_rounds);
        now.saturating_duration_since(self.cycle_since) > self.wait
            || (reno > 0 && self.rounds_since_probe >= reno)
    }

    fn is_time_to_cruise(&self) -> bool {
        let room = self.bounds.with_headroom(self.mtu, self.least_window());
        self.in_flight <= room && self.in_flight <= self.inflight(1.0)
    }

    fn is_time_to_go_down(&mut self) -> bool {
        let at_bound = self
            .bounds
            .inflight_long
            .is_some_and(|long| self.window >= long);
        if self.limited && at_bound {
            self.restart_full_with_sample(); // the bound, not the path, holds it back
            return false;
        }
        self.full_now
    }

    fn start_down(&mut self, now: Instant) {
        self.bounds.forget_losses();
        self.cycle_since = now;
        self.rounds_since_probe = self.chance(2);
        self.wait = PROBE_WAIT + Duration::from_millis(self.chance(PROBE_WAIT_CHANCE_MS + 1));
        self.reno_rounds = RENO_ROUNDS + self.chance(2);
        self.phase = Phase::Stopping;
        self.start_round();
        self.state = State::Down;
    }

    fn start_refill(&mut self) {
        self.bounds.forget_short();
        self.phase = Phase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self) {
        self.phase = Phase::Starting;
        self.start_round();
        self.restart_full_with_sample();
        self.state = State::Up;
        self.bounds.start_up(self.window, self.mtu);
    }

    /// Updates the least round trip, and when it is probed (5.3.4.3).
    fn update_min_rtt(&mut self, now: Instant, rtt: Duration) {
        if self.min_rtt.is_none() {
            self.rate = initial_rate(self.initial_window, rtt);
        }
        self.probe_rtt_expired = now > self.probe_rtt_since + PROBE_RTT_INTERVAL;
        if self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|known| rtt < known) {
            self.probe_rtt_min = Some(rtt);
            self.probe_rtt_since = now;
        }
        let expired = now > self.min_rtt_since + MIN_RTT_LIFE;
        if expired
            || self
                .min_rtt
                .is_none_or(|known| self.probe_rtt_min < Some(known))
        {
            self.min_rtt = self.probe_rtt_min;
            self.min_rtt_since = self.probe_rtt_since;
        }
    }

    fn check_probe_rtt(&mut self, now: Instant) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.saved_window = self.window;
            self.state = State::ProbeRtt;
            self.probe_rtt_until = None;
            self.phase = Phase::Stopping;
            self.start_round();
        } else if self.state == State::ProbeRtt {
            self.sampler.mark_app_limited(self.in_flight);
            if self.probe_rtt_until.is_none() && self.in_flight <= self.probe_rtt_window() {
                self.probe_rtt_until = Some(now + PROBE_RTT);
                self.probe_rtt_round = false;
                self.start_round();
            } else if self.probe_rtt_until.is_some() {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.check_probe_rtt_done(now);
                }
            }
        }
        self.idle_restart = false;
    }

    fn probe_rtt_window(&self) -> u64 {
        self.product(self.bandwidth(), PROBE_RTT_WINDOW_GAIN)
            .max(self.least_window())
    }

    fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.probe_rtt_since = now;
        self.window = self.window.max(self.saved_window);
        self.bounds.forget_short();
        if self.filled {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// Sets the pacing rate (5.6.2).
    fn set_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth() * MARGIN;
        if rate > 0.0 && (self.filled || rate > self.rate) {
            self.rate = rate;
        }
    }

    /// Sets the congestion window (5.6.4.6).
    fn set_window(&mut self) {
        let extra = self.aggregation.most[0].max(self.aggregation.most[1]);
        let product = self.product(self.bandwidth(), self.window_gain());
        let most = self.with_budget(product + extra);
        if self.filled {
            self.window = (self.window + self.acked).min(most);
        } else if self.window < most || self.sampler.delivered < self.initial_window {
            self.window += self.acked;
        }
        self.window = self.window.max(self.least_window());
        if self.state == State::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        let long = match self.state {
            State::ProbeRtt | State::Cruise => {
                self.bounds.with_headroom(self.mtu, self.least_window())
            }
            State::Startup | State::Drain => u64::MAX,
            _ => self.bounds.inflight_long.unwrap_or(u64::MAX),
        };
        let short = self.bounds.inflight_short.unwrap_or(u64::MAX);
        let bound = long.min(short).max(self.least_window());
        self.window = self.window.min(bound);
    }

    /// A number below `below`: SplitMix64.
    fn chance(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
}

impl Law for Bbr3 {
    fn congestion(&self) -> Congestion {
        Congestion::Bbr3
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

    fn on_sent(&mut self, now: Instant, in_flight: u64, bytes: u64) {
        // 5.4.1: after idleness neither probe nor drain.
        if in_flight == 0 && self.sampler.is_app_limited() && self.sampler.delivered > 0 {
            self.idle_restart = true;
            self.aggregation.since = now;
            self.aggregation.delivered = 0;
            if self.is_probe_bw() {
                self.set_rate(1.0);
            } else if self.state == State::ProbeRtt {
                self.check_probe_rtt_done(now);
            }
        }
        self.sampler.on_sent(now, in_flight, bytes);
        self.limited_in_round |= in_flight + bytes + self.mtu > self.window;
    }

    fn on_acked(&mut self, now: Instant, sent: Instant, _rtt: Duration, bytes: u64) {
        self.sampler.on_acked(now, sent, bytes);
        self.acked += bytes;
        if self.recovery.is_some_and(|recovery| sent > recovery.since) {
            self.recovery = None;
        }
    }

    fn on_acks_end(&mut self, batch: Batch) {
        self.in_flight = batch.in_flight;
        if batch.app_limited {
            self.sampler.mark_app_limited(batch.in_flight);
        }
        let least = self.min_rtt.unwrap_or_default();
        if let Some(sample) = self.sampler.sample(batch.now, least) {
            self.update(batch.now, sample);
            self.set_rate(self.rate_gain());
        }
        self.set_window();
        self.acked = 0;
    }

    /// Handles a loss, which may end a probe (5.5.10.2).
    fn on_lost(&mut self, loss: Loss) {
        self.in_flight = loss.in_flight;
        let lost = self.sampler.on_lost(loss.sent, loss.bytes);
        if !self.bounds.loss_in_round {
            self.loss_round_ends = self.sampler.delivered;
        }
        self.bounds.loss_in_round = true;
        self.losses += 1;
        if self.recovery.is_none() {
            self.recovery = Some(Recovery {
                since: loss.now,
                round: self.round,
            });
        }
        if let Some(lost) = lost.filter(|_| self.probing)
            && Bounds::too_high(lost.lost, lost.in_flight)
        {
            self.probing = false;
            if !lost.app_limited {
                let target = self.target_inflight();
                self.bounds.cut_long(lost, loss.bytes, target);
            }
            if self.state == State::Up {
                self.start_down(loss.now);
            }
        }
        if loss.persistent {
            self.window = self.least_window();
        }
    }

    fn boxed(&self) -> Box<dyn Law> {
        Box::new(self.clone())
    }
}

/// 5.6.2: as if the initial window filled the pipe.
fn initial_rate(window: u64, rtt: Duration) -> f64 {
    STARTUP_GAIN * window as f64 / rtt.as_secs_f64().max(1e-6)
}

#[cfg(test)]
#[path = "bbr3_tests.rs"]
mod tests;

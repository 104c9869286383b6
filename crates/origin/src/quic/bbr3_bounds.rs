//! What losses say of a path: bounds of BBR version 3 (draft-ietf-ccwg-bbr-05; section numbers are
//! its own). Sizes are bytes, rates bytes per second.

use crate::quic::delivery::{Lost, Sample};

/// 2.7: share of losses up to which a path is well.
const LOSS_SHARE: f64 = 0.02;
/// Share of a bound that remains after a round with losses.
const BETA: f64 = 0.7;
/// Share of the bound that is left to others while cruising.
const HEADROOM: f64 = 0.15;
const MOST_DOUBLINGS: u32 = 30;

#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    /// Bandwidth of the short term; infinite without losses.
    pub bandwidth: f64,
    /// Bytes under way, of the short term and of the last probe; None without a bound.
    pub inflight_short: Option<u64>,
    pub inflight_long: Option<u64>,
    /// The largest values of about the last round trip.
    bandwidth_latest: f64,
    pub inflight_latest: u64,
    pub loss_in_round: bool,
    up: Growth,
}

/// How a probe raises the bound: by one packet in the first round, then by twice as much.
#[derive(Debug, Clone, Copy, Default)]
struct Growth {
    rounds: u32,
    acked: u64,
    /// Acknowledged bytes per byte by which the bound rises.
    each: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            bandwidth: f64::INFINITY,
            inflight_short: None,
            inflight_long: None,
            bandwidth_latest: 0.0,
            inflight_latest: 0,
            loss_in_round: false,
            up: Growth::default(),
        }
    }
}

impl Bounds {
    /// 5.5.10.2: more was lost than a path that is well loses.
    pub fn too_high(lost: u64, in_flight: u64) -> bool {
        lost as f64 > LOSS_SHARE * in_flight as f64
    }

    pub fn saw(&mut self, sample: &Sample) {
        let rate = sample.rate.unwrap_or_default();
        self.bandwidth_latest = self.bandwidth_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
    }

    /// Forgets the latest signals, because a round of loss signals is over.
    pub fn forget_latest(&mut self, sample: &Sample) {
        self.bandwidth_latest = sample.rate.unwrap_or_default();
        self.inflight_latest = sample.delivered;
    }

    /// 5.5.10.3: a round with losses bounds the short term, unless it probed.
    pub fn adapt(&mut self, bounds: bool, bandwidth: f64, window: u64) {
        if std::mem::take(&mut self.loss_in_round) && bounds {
            let known = if self.bandwidth.is_finite() {
                self.bandwidth
            } else {
                bandwidth
            };
            self.bandwidth = self.bandwidth_latest.max(BETA * known);
            let known = self.inflight_short.unwrap_or(window) as f64;
            self.inflight_short = Some(self.inflight_latest.max((BETA * known) as u64));
        }
    }

    pub fn forget_short(&mut self) {
        self.bandwidth = f64::INFINITY;
        self.inflight_short = None;
        self.up = Growth::default();
    }

    pub fn forget_losses(&mut self) {
        self.loss_in_round = false;
        self.bandwidth_latest = 0.0;
        self.inflight_latest = 0;
    }

    pub fn start_up(&mut self, window: u64, mtu: u64) {
        self.steepen(window, mtu);
    }

    fn steepen(&mut self, window: u64, mtu: u64) {
        let growth = mtu.checked_shl(self.up.rounds).unwrap_or(u64::MAX);
        self.up.rounds = (self.up.rounds + 1).min(MOST_DOUBLINGS);
        self.up.each = (window / growth).max(1);
    }

    /// Raises the long-term bound after `in_flight` bytes with few losses (5.3.3.6). With `up`, a
    /// probe that the window limits brought `acked` more bytes.
    pub fn raise(
        &mut self,
        in_flight: u64,
        acked: u64,
        up: bool,
        round_start: bool,
        window: u64,
        mtu: u64,
    ) {
        let Some(long) = &mut self.inflight_long else {
            return;
        };
        *long = (*long).max(in_flight);
        if !up || window < *long {
            return;
        }
        self.up.acked += acked;
        let more = self.up.acked / self.up.each.max(1);
        self.up.acked -= more * self.up.each.max(1);
        *long += more;
        if round_start {
            self.steepen(window, mtu);
        }
    }

    /// 5.5.10.2: a probe lost too much. The bound is where its losses passed the share.
    pub fn cut_long(&mut self, lost: Lost, bytes: u64, target: u64) {
        let before = lost.in_flight.saturating_sub(bytes) as f64;
        let lost_before = lost.lost.saturating_sub(bytes) as f64;
        let prefix = (LOSS_SHARE * before - lost_before) / (1.0 - LOSS_SHARE);
        let at_loss = (before + prefix).max(0.0) as u64;
        self.inflight_long = Some(at_loss.max((BETA * target as f64) as u64));
    }

    pub fn with_headroom(&self, mtu: u64, least: u64) -> u64 {
        self.inflight_long.map_or(u64::MAX, |long| {
            let room = ((HEADROOM * long as f64) as u64).max(mtu);
            long.saturating_sub(room).max(least)
        })
    }
}

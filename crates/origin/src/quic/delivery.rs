//! Delivery rate samples, as in draft-cheng-iccrg-delivery-rate-estimation-00.
//!
//! quinn names a packet by when it was sent; packets sent at the same instant share all state, so
//! one record for each instant is enough.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What the draft keeps with every sent packet (section 3.1).
#[derive(Debug, Clone, Copy)]
struct Record {
    sent: Instant,
    delivered: u64,
    delivered_time: Instant,
    first_sent: Instant,
    app_limited: bool,
    /// Bytes under way with it, and bytes lost so far.
    in_flight: u64,
    lost: u64,
}

/// What one batch of acknowledgements says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Delivery rate in bytes per second; None if the interval was too short to measure.
    pub rate: Option<f64>,
    pub rtt: Duration,
    /// Bytes that had been delivered when the newest acknowledged packet was sent.
    pub prior_delivered: u64,
    pub app_limited: bool,
    /// Bytes delivered and lost since that packet was sent, and bytes under way then.
    pub delivered: u64,
    pub lost: u64,
    pub in_flight: u64,
}

/// What is known of a packet that is lost, and of those lost since it was sent. Bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lost {
    pub in_flight: u64,
    pub lost: u64,
    pub app_limited: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    /// Bytes acknowledged so far.
    pub delivered: u64,
    lost: u64,
    delivered_time: Instant,
    first_sent: Instant,
    /// Count of delivered bytes up to which the application, and not the path, may limit samples.
    app_limited: Option<u64>,
    records: VecDeque<Record>,
    newest: Option<Record>,
    /// Whether records of packets stay until the packets are lost.
    remembers: bool,
}

/// Packets older than this are neither acknowledged nor declared lost any more.
const REMEMBERED: Duration = Duration::from_secs(10);

impl Sampler {
    pub fn new(now: Instant) -> Self {
        Self {
            delivered: 0,
            lost: 0,
            delivered_time: now,
            first_sent: now,
            app_limited: None,
            records: VecDeque::new(),
            newest: None,
            remembers: false,
        }
    }

    /// A sampler that also tells what is known of lost packets.
    pub fn remembering(now: Instant) -> Self {
        Self {
            remembers: true,
            ..Self::new(now)
        }
    }

    /// A packet of `bytes` is sent while `in_flight`, without it, are under way.
    pub fn on_sent(&mut self, now: Instant, in_flight: u64, bytes: u64) {
        if in_flight == 0 {
            self.first_sent = now;
            self.delivered_time = now;
        }
        if let Some(last) = self.records.back_mut()
            && last.sent >= now
        {
            last.in_flight = in_flight + bytes;
            return;
        }
        self.records.push_back(Record {
            sent: now,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            app_limited: self.app_limited.is_some(),
            in_flight: in_flight + bytes,
            lost: self.lost,
        });
    }

    pub fn on_acked(&mut self, now: Instant, sent: Instant, bytes: u64) {
        self.delivered += bytes;
        self.delivered_time = now;
        let known = self.remembers && sent < self.first_sent; // it was overtaken
        if known || self.newest.is_some_and(|newest| newest.sent >= sent) {
            return;
        }
        if let Ok(found) = self.records.binary_search_by_key(&sent, |r| r.sent) {
            self.newest = Some(self.records[found]);
        }
    }

    /// The sample of the acknowledgements since the last call. An interval below `least`, the
    /// shortest round trip known, is an artefact of compressed acknowledgements.
    pub fn sample(&mut self, now: Instant, least: Duration) -> Option<Sample> {
        let newest = self.newest.take()?;
        self.first_sent = newest.sent;
        // Older packets can no longer give a sample; those of the same instant still can.
        let kept = if self.remembers {
            newest.sent.checked_sub(REMEMBERED)
        } else {
            Some(newest.sent)
        };
        while (self.records.front().zip(kept)).is_some_and(|(first, kept)| first.sent < kept) {
            self.records.pop_front();
        }
        if self.app_limited.is_some_and(|until| self.delivered > until) {
            self.app_limited = None;
        }
        let sending = newest.sent - newest.first_sent;
        let acknowledging = self.delivered_time - newest.delivered_time;
        let interval = sending.max(acknowledging);
        let delivered = self.delivered - newest.delivered;
        Some(Sample {
            rate: (interval >= least && !interval.is_zero())
                .then(|| delivered as f64 / interval.as_secs_f64()),
            rtt: now - newest.sent,
            prior_delivered: newest.delivered,
            app_limited: newest.app_limited,
            delivered,
            lost: self.lost - newest.lost,
            in_flight: newest.in_flight,
        })
    }

    /// Handles lost packets of `bytes`, the newest of which was sent at `sent`.
    pub fn on_lost(&mut self, sent: Instant, bytes: u64) -> Option<Lost> {
        self.lost += bytes;
        let found = self.records.binary_search_by_key(&sent, |r| r.sent).ok()?;
        let record = self.records[found];
        Some(Lost {
            in_flight: record.in_flight,
            lost: self.lost - record.lost,
            app_limited: record.app_limited,
        })
    }

    pub fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }

    /// The application had nothing to send while `in_flight` bytes were under way.
    pub fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = Some(self.delivered + in_flight);
    }
}

//! The interface of a congestion control: its decisions and its inputs.

use std::time::{Duration, Instant};

use crate::algorithms::{Congestion, SlowStartExit};

/// A complete batch of acknowledgements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    pub now: Instant,
    /// Bytes that are still under way.
    pub in_flight: u64,
    /// Whether the application had nothing to send.
    pub app_limited: bool,
    /// Packets of the connection that the client has counted as marked (CE).
    pub marks: u64,
}

/// Packets that are declared lost together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    pub now: Instant,
    /// When the newest packet of them was made.
    pub sent: Instant,
    /// Whether this is persistent congestion (RFC 9002 section 7.6).
    pub persistent: bool,
    pub bytes: u64,
    /// Bytes that are under way without them.
    pub in_flight: u64,
}

/// A congestion control. Pure: time is an argument. Sizes are bytes, rates bytes per second.
pub(crate) trait Law: Send + Sync {
    /// The congestion control that runs, which may differ from the requested one.
    fn congestion(&self) -> Congestion;

    fn slow_start_exit(&self) -> Option<SlowStartExit> {
        None
    }

    fn window(&self) -> u64;

    fn initial_window(&self) -> u64;

    /// The slow start threshold; None if the congestion control has none, or has none yet.
    fn threshold(&self) -> Option<u64> {
        None
    }

    /// The rate at which packets leave if they are paced. `rtt` is the smoothed round trip.
    fn rate(&self, rtt: Duration, in_flight: u64) -> f64;

    /// Whether packets must leave evenly within a millisecond too.
    fn fine(&self) -> bool {
        false
    }

    fn set_mtu(&mut self, mtu: u64);

    /// A packet of `bytes` is made while `in_flight`, without it, are under way.
    fn on_sent(&mut self, now: Instant, in_flight: u64, bytes: u64);

    /// A packet made at `sent` was acknowledged after `rtt`. Older packets come first.
    fn on_acked(&mut self, now: Instant, sent: Instant, rtt: Duration, bytes: u64);

    fn on_acks_end(&mut self, batch: Batch);

    fn on_lost(&mut self, loss: Loss);

    /// The client counted another mark. The newest packet it acknowledged was made at `sent`.
    fn on_marked(&mut self, _now: Instant, _sent: Instant, _in_flight: u64) {}

    fn boxed(&self) -> Box<dyn Law>;
}

//! Whether a window keeps its sender from sending more.

use std::time::Instant;

/// How full the window was over about a round trip (`tcp_cwnd_validate`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// Whether the window was full.
    full: bool,
    /// Most bytes under way.
    most: f64,
    /// The usage holds until a packet is acknowledged that was made at this time or later.
    until: Instant,
}

impl Usage {
    pub fn new(now: Instant) -> Self {
        Self {
            full: false,
            most: 0.0,
            until: now,
        }
    }

    /// `out` bytes are under way, which may fill the window. `newest` is when the newest packet was
    /// made that is acknowledged.
    pub fn sent(&mut self, now: Instant, out: f64, full: bool, newest: Option<Instant>) {
        let over = newest.is_some_and(|newest| newest >= self.until);
        if over || full || (!self.full && out > self.most) {
            *self = Self {
                full,
                most: out,
                until: now,
            };
        }
    }

    /// Whether the window keeps the sender from sending more (`tcp_is_cwnd_limited`). In slow start
    /// it also does if less than half of it would have been enough for what was under way.
    pub fn limits(&self, window: f64, slow_start: bool) -> bool {
        self.full || (slow_start && window < 2.0 * self.most)
    }
}

//! The clock of a load: time since navigation start.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// Starts the clock: navigation starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn since(self, at: Instant) -> Duration {
        at.saturating_duration_since(self.0)
    }

    pub fn now(self) -> Duration {
        self.since(Instant::now())
    }

    pub fn now_us(self) -> u64 {
        micros(self.now())
    }

    pub fn at(self, since: Duration) -> Instant {
        self.0 + since
    }
}

pub fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

/// Returns the time in microseconds of the Unix epoch, and of CLOCK_MONOTONIC.
pub fn epoch_and_monotonic_us() -> (u64, u64) {
    let epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    let monotonic = time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000;
    (micros(epoch), monotonic)
}

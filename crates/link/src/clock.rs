//! Reads two clocks: the kernel timestamps packets by the wall clock, and the link schedules by the
//! monotonic clock.

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t};

/// A difference that reading the clocks one after the other cannot explain.
const READING_NS: u64 = 50_000;
/// More than three readings take if no other process interrupts them: they take 512 ns in virtual
/// time, less in real time.
const UNDISTURBED_NS: u64 = 600;

pub fn monotonic_ns() -> u64 {
    read_ns(CLOCK_MONOTONIC)
}

/// Reads the monotonic and the realtime clock at one moment. After an interruption both are read
/// again.
pub fn both_ns() -> (u64, u64) {
    let mut tries = 10;
    loop {
        let before = read_ns(CLOCK_MONOTONIC);
        let realtime = read_ns(CLOCK_REALTIME);
        let after = read_ns(CLOCK_MONOTONIC);
        tries -= 1;
        if after - before < UNDISTURBED_NS || tries == 0 {
            return (before.midpoint(after), realtime);
        }
    }
}

fn read_ns(clock: clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writing; both clocks always exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Turns the kernel's wall-clock stamps into monotonic ones that never run backwards.
///
/// NTP slews both clocks alike, so their difference changes only when someone sets the wall clock.
/// A stamp taken near such a step cannot be trusted and becomes the time of reading.
#[derive(Default)]
pub struct Arrivals {
    /// Monotonic minus realtime.
    offset_ns: i128,
    stepped: bool,
    last_ns: u64,
}

impl Arrivals {
    /// Compares the two clocks, which were read just now. Call it once before a batch of stamps.
    pub fn synchronise(&mut self, monotonic_ns: u64, realtime_ns: u64) {
        let offset_ns = i128::from(monotonic_ns) - i128::from(realtime_ns);
        self.stepped = offset_ns.abs_diff(self.offset_ns) > u128::from(READING_NS);
        if self.stepped {
            self.offset_ns = offset_ns;
        }
    }

    /// Converts a stamp to monotonic time. The result is not after `now_ns`, and not before the
    /// previous arrival.
    pub fn monotonic(&mut self, stamp_realtime_ns: u64, now_ns: u64) -> u64 {
        let mapped = i128::from(stamp_realtime_ns) + self.offset_ns;
        let arrival_ns = match u64::try_from(mapped) {
            Ok(ns) if !self.stepped => ns.min(now_ns),
            _ => now_ns,
        };
        self.last_ns = arrival_ns.max(self.last_ns);
        self.last_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: u64 = 1_700_000_000_000_000_000;

    #[test]
    fn stamps_keep_their_distance_from_now() {
        let mut arrivals = Arrivals::default();
        arrivals.synchronise(0, WALL);
        arrivals.synchronise(1_000_000, WALL + 1_000_000);
        assert_eq!(arrivals.monotonic(WALL + 400_000, 1_000_000), 400_000);
    }

    #[test]
    fn a_stamp_is_neither_in_the_future_nor_before_the_last() {
        let mut arrivals = Arrivals::default();
        arrivals.synchronise(0, WALL);
        arrivals.synchronise(1_000_000, WALL + 1_000_000);
        assert_eq!(arrivals.monotonic(WALL + 2_000_000, 1_000_000), 1_000_000);
        assert_eq!(arrivals.monotonic(WALL + 500_000, 1_100_000), 1_000_000);
    }

    #[test]
    fn a_step_of_the_wall_clock_costs_one_batch_its_stamps_and_no_more() {
        let mut arrivals = Arrivals::default();
        arrivals.synchronise(0, WALL);
        let hour = 3_600_000_000_000;
        arrivals.synchronise(1_000_000, WALL - hour);
        assert_eq!(arrivals.monotonic(WALL + 900_000, 1_000_000), 1_000_000);
        arrivals.synchronise(2_000_000, WALL - hour + 1_000_000);
        let stamp = WALL - hour + 500_000;
        assert_eq!(arrivals.monotonic(stamp, 2_000_000), 1_500_000);
    }
}

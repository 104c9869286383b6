//! A line with single opportunities to send, as in Mahimahi's traces.

use super::time::NEVER_NS;

/// Bytes that one opportunity carries.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// A trace of opportunities, at each of which up to 1500 bytes leave at once. A packet leaves with
/// the opportunity that takes its last byte: small packets share one, a large one takes several.
/// The rest of an opportunity can carry only packets that wait at that instant.
pub struct Opportunities {
    /// Times since the start of a lap, ascending, at most `lap_ns`.
    times_ns: Vec<u64>,
    lap_ns: u64,
    /// Time 0 of the first lap.
    epoch_ns: u64,
    /// Lap and index of the next opportunity.
    next: (u64, usize),
    /// The opportunity that carried the last byte so far, and the bytes it has left.
    current_ns: u64,
    left: u32,
}

impl Opportunities {
    /// Creates a trace whose `times_ns` are played over and over. They ascend from 0 to at most
    /// `lap_ns`, which is not 0.
    pub fn new(times_ns: Vec<u64>, lap_ns: u64) -> Self {
        Self {
            times_ns,
            lap_ns,
            epoch_ns: 0,
            next: (0, 0),
            current_ns: 0,
            left: 0,
        }
    }

    pub fn begin(&mut self, epoch_ns: u64) {
        self.epoch_ns = epoch_ns;
    }

    pub fn start_ns(&self, at_ns: u64) -> u64 {
        if self.left > 0 && at_ns <= self.current_ns {
            return self.current_ns;
        }
        self.time_ns(self.seek(at_ns))
    }

    pub fn carry(&mut self, at_ns: u64, bytes: u32) -> u64 {
        if at_ns > self.current_ns || self.left == 0 {
            self.next = self.seek(at_ns);
            self.take_next();
        }
        let mut bytes = bytes;
        while bytes > self.left {
            if self.current_ns >= NEVER_NS {
                return NEVER_NS;
            }
            bytes -= self.left;
            self.take_next();
        }
        self.left -= bytes;
        self.current_ns
    }

    fn take_next(&mut self) {
        if self.current_ns >= NEVER_NS {
            return;
        }
        self.current_ns = self.time_ns(self.next);
        self.left = OPPORTUNITY_BYTES;
        let (lap, place) = self.next;
        self.next = if place + 1 == self.times_ns.len() {
            (lap + 1, 0)
        } else {
            (lap, place + 1)
        };
    }

    /// The first unused opportunity at or after `at_ns`.
    fn seek(&self, at_ns: u64) -> (u64, usize) {
        if at_ns <= self.time_ns(self.next) {
            return self.next;
        }
        let since_ns = at_ns - self.epoch_ns;
        let lap = (since_ns - 1) / self.lap_ns; // the end of a lap belongs to that lap
        let into_ns = since_ns - lap * self.lap_ns;
        let place = self.times_ns.partition_point(|&time_ns| time_ns < into_ns);
        if place == self.times_ns.len() {
            (lap + 1, 0)
        } else {
            (lap, place)
        }
    }

    fn time_ns(&self, (lap, place): (u64, usize)) -> u64 {
        NEVER_NS.min(self.epoch_ns + lap * self.lap_ns + self.times_ns[place])
    }
}

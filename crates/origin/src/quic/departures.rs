//! Records when packets were really sent.
//!
//! quinn timestamps a packet when it makes it, and the pacing clock may hold it back after that. A
//! round trip from this timestamp would include the pause and look like queueing.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(crate) struct Departures(VecDeque<Departure>);

/// When the packets made at one instant left.
#[derive(Debug, Clone, Copy)]
struct Departure {
    made: Instant,
    /// When the last of them left.
    left: Instant,
}

impl Departures {
    pub fn made(&mut self, now: Instant) {
        if self.0.back().is_none_or(|last| last.made < now) {
            self.0.push_back(Departure {
                made: now,
                left: now,
            });
        }
    }

    /// Notes that the packet made last leaves now.
    pub fn left(&mut self, now: Instant) {
        if let Some(last) = self.0.back_mut() {
            last.left = now;
        }
    }

    /// Returns how long the packet made at `made` was held back. That packet is acknowledged, so
    /// older records are dropped.
    pub fn held(&mut self, made: Instant) -> Duration {
        while self.0.len() > 1 && self.0[1].made <= made {
            self.0.pop_front();
        }
        match self.0.front() {
            Some(first) if first.made == made => first.left - made,
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_was_held_from_when_it_was_made_until_it_left() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut departures = Departures::default();
        for (made, left) in [(0, 0), (0, 1), (2, 7), (9, 9)] {
            departures.made(at(made));
            departures.left(at(left));
        }
        for (made, held) in [(0, 1), (2, 5), (2, 5), (9, 0), (2, 0)] {
            let found = departures.held(at(made));
            assert_eq!(found, Duration::from_millis(held), "made at {made}");
        }
    }
}

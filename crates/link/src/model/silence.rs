//! When a line that plays a trace carries nothing.

use super::Step;
use super::time::NEVER_NS;

/// The outages of a line since the link's time 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Silence {
    /// Stretches without a rate, from and to, in ns since time 0 or since a lap began.
    spans: Vec<(u64, u64)>,
    lap_ns: u64,
    stopped: bool,
}

impl Silence {
    /// A line that carries nothing at all.
    pub fn stopped() -> Self {
        Self {
            stopped: true,
            ..Self::default()
        }
    }

    /// A line with these rates, one after the other, in a loop. At least one rate is above 0.
    pub fn of(steps: &[Step]) -> Self {
        let mut silence = Self::default();
        for step in steps {
            let begins_ns = silence.lap_ns;
            silence.lap_ns += step.lasts_ns;
            match silence.spans.last_mut() {
                _ if step.bits_per_s > 0 => (),
                Some(last) if last.1 == begins_ns => last.1 = silence.lap_ns,
                _ => silence.spans.push((begins_ns, silence.lap_ns)),
            }
        }
        silence
    }

    /// The first moment from `since_ns` on at which the line carries something.
    pub fn end_ns(&self, since_ns: u64) -> u64 {
        if self.stopped {
            return NEVER_NS;
        }
        let mut at_ns = since_ns;
        // An outage at the end of a lap may go on at the start of the next.
        for _ in 0..2 {
            if self.spans.is_empty() {
                break;
            }
            let into_ns = at_ns % self.lap_ns;
            let next = self.spans.partition_point(|(_, to_ns)| *to_ns <= into_ns);
            if let Some((from_ns, to_ns)) = self.spans.get(next)
                && *from_ns <= into_ns
            {
                at_ns += to_ns - into_ns;
            }
        }
        at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(bits_per_s: u64, lasts_ns: u64) -> Step {
        Step {
            bits_per_s,
            lasts_ns,
        }
    }

    #[test]
    fn an_outage_ends_with_the_next_rate_even_beyond_the_lap() {
        let silence = Silence::of(&[step(0, 5), step(9, 10), step(0, 2), step(0, 3)]);
        let ends = [0, 4, 5, 14, 15, 19, 20, 35].map(|ns| silence.end_ns(ns));
        assert_eq!(ends, [5, 5, 5, 14, 25, 25, 25, 45]);
    }

    #[test]
    fn a_line_that_never_rests_has_no_silence() {
        assert_eq!(Silence::of(&[step(9, 10)]).end_ns(7), 7);
        assert_eq!(Silence::default().end_ns(7), 7);
        assert_eq!(Silence::stopped().end_ns(7), NEVER_NS);
    }
}

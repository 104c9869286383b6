//! Loss in bursts: Gilbert, Bell System Technical Journal 39 (1960), and Elliott, 42 (1963).

use super::draw::{Draws, Stream};
use super::effects::loss::LOST;
use super::{Bursts, Counts, Fates, Packet, Stage};

/// How the two states follow each other.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// One step per packet, as in netem: `p` is the probability that the bad state follows the good
    /// one, `r` that the good state follows the bad one.
    Packets { p: f64, r: f64 },
    /// Each state lasts for an exponential time with this mean in ns.
    Time { good_ns: f64, bad_ns: f64 },
}

/// A chain of two states, and a probability of loss in each.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    pub pace: Pace,
    /// Share lost in the good state.
    pub loss_good: f64,
    /// Share lost in the bad state.
    pub loss_bad: f64,
}

/// Loss by a [`Chain`]. The state at a packet is a pure function of seed, direction and the
/// packet's index or time: it does not depend on which packets came this far.
pub struct GilbertElliott {
    chain: Chain,
    states: States,
    losses: Draws,
    trials: u64,
    bursts: Bursts,
    fates: Fates,
}

enum States {
    ByPacket(ByPacket),
    ByTime(ByTime),
}

impl GilbertElliott {
    pub fn new(chain: Chain, seed: u64, direction: u64) -> Self {
        let draws = Draws::new(seed, direction, Stream::Chain);
        Self {
            states: match chain.pace {
                Pace::Packets { p, r } => States::ByPacket(ByPacket::new(p, r, draws)),
                Pace::Time { good_ns, bad_ns } => {
                    States::ByTime(ByTime::new(good_ns, bad_ns, draws))
                }
            },
            chain,
            losses: Draws::new(seed, direction, Stream::ChainLoss),
            trials: 0,
            bursts: Bursts::default(),
            fates: Fates::default(),
        }
    }
}

impl Stage for GilbertElliott {
    fn begin(&mut self, epoch_ns: u64) {
        if let States::ByTime(states) = &mut self.states {
            states.begin(epoch_ns);
        }
    }

    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        self.trials += 1;
        let bad = match &mut self.states {
            States::ByPacket(states) => states.bad(packet.index),
            States::ByTime(states) => states.bad(packet.at_ns),
        };
        let share = if bad {
            self.chain.loss_bad
        } else {
            self.chain.loss_good
        };
        let lost = self.losses.of(&packet) < share;
        self.bursts.trials += u64::from(bad);
        self.bursts.lost += u64::from(bad && lost);
        // Fates that depend on time cannot be listed by index.
        if let States::ByPacket(_) = self.states {
            self.fates.note(&packet, lost);
        }
        packet.dropped = lost.then_some(LOST);
        Some(packet)
    }

    fn count(&self, counts: &mut Counts) {
        counts.loss_trials += self.trials;
        counts.loss_fates.push_str(&self.fates.runs());
        let mut bursts = self.bursts.clone();
        if let States::ByTime(states) = &self.states {
            bursts.watched_ns = Some(states.watched_ns());
            bursts.bad_ns = Some(states.bad_ns());
        }
        counts.bursts = Some(bursts);
    }
}

/// States that step with each packet's index.
struct ByPacket {
    p: f64,
    r: f64,
    steps: Draws,
    /// Index and state of the last packet, so that the next packet needs a single step.
    known: Option<(u64, bool)>,
}

/// The effect of one step on any earlier state.
enum Step {
    Becomes(bool),
    Stays,
    Flips,
}

impl ByPacket {
    fn new(p: f64, r: f64, steps: Draws) -> Self {
        let known = None;
        Self { p, r, steps, known }
    }

    /// Whether the chain is in the bad state at packet `index`.
    ///
    /// Both states take their step from the same draw, so some draws lead to one state from
    /// either (coupling from the past). Going back to the last of those is enough.
    fn bad(&mut self, index: u64) -> bool {
        let mut flips = false;
        let mut at = index;
        let found = loop {
            match self.known {
                Some((known, bad)) if known == at => break bad,
                _ => (),
            }
            match self.step(at) {
                Step::Becomes(bad) => break bad,
                Step::Stays => (),
                Step::Flips => flips = !flips,
            }
            if at == 0 {
                break self.begins_bad();
            }
            at -= 1;
        };
        let bad = found != flips;
        self.known = Some((index, bad));
        bad
    }

    fn step(&self, index: u64) -> Step {
        let draw = self.steps.at(index);
        let from_good = draw < self.p;
        let from_bad = draw < 1.0 - self.r;
        match (from_good, from_bad) {
            (false, true) => Step::Stays,
            (true, false) => Step::Flips,
            (bad, _) => Step::Becomes(bad),
        }
    }

    /// The state before packet 0, drawn from the chain's stationary distribution.
    fn begins_bad(&self) -> bool {
        self.steps.at(u64::MAX) * (self.p + self.r) < self.p
    }
}

/// States that last for a time each, one after the other from the link's time 0 on.
struct ByTime {
    good_ns: f64,
    bad_ns: f64,
    draws: Draws,
    epoch_ns: u64,
    /// Number of the current state, counted from 0, and whether it is the bad state.
    number: u64,
    bad: bool,
    since_ns: u64,
    until_ns: u64,
    /// The last time that was requested, and how much of the time until `since_ns` was bad.
    asked_ns: u64,
    past_bad_ns: u64,
}

impl ByTime {
    fn new(good_ns: f64, bad_ns: f64, draws: Draws) -> Self {
        let mut new = Self {
            good_ns,
            bad_ns,
            draws,
            epoch_ns: 0,
            number: 0,
            // Drawn from the stationary distribution; the rest of an exponential time is like all.
            bad: draws.at(u64::MAX) * (good_ns + bad_ns) < bad_ns,
            since_ns: 0,
            until_ns: 0,
            asked_ns: 0,
            past_bad_ns: 0,
        };
        new.begin(0);
        new
    }

    fn begin(&mut self, epoch_ns: u64) {
        self.epoch_ns = epoch_ns;
        self.asked_ns = epoch_ns;
        self.since_ns = epoch_ns;
        self.until_ns = epoch_ns + self.lasts_ns();
    }

    /// Whether the bad state holds at `at_ns`, which never runs backwards.
    fn bad(&mut self, at_ns: u64) -> bool {
        while at_ns >= self.until_ns {
            self.past_bad_ns += u64::from(self.bad) * (self.until_ns - self.since_ns);
            self.bad = !self.bad;
            self.number += 1;
            self.since_ns = self.until_ns;
            self.until_ns += self.lasts_ns();
        }
        self.asked_ns = self.asked_ns.max(at_ns);
        self.bad
    }

    fn lasts_ns(&self) -> u64 {
        let mean_ns = if self.bad { self.bad_ns } else { self.good_ns };
        let times = -libm::log(1.0 - self.draws.at(self.number));
        (times * mean_ns).ceil().max(1.0) as u64
    }

    fn watched_ns(&self) -> u64 {
        self.asked_ns - self.epoch_ns
    }

    fn bad_ns(&self) -> u64 {
        self.past_bad_ns + u64::from(self.bad) * self.asked_ns.saturating_sub(self.since_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn draws(seed: u64) -> Draws {
        Draws::new(seed, 1, Stream::Chain)
    }

    proptest! {
        #[test]
        fn a_packets_state_is_the_same_however_it_is_reached(
            p in 0.0..=1.0f64,
            r in 0.001..0.99f64,
            seed: u64,
            mut order in Just((0..100u64).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let mut forwards = ByPacket::new(p, r, draws(seed));
            let states: Vec<bool> = (0..100).map(|index| forwards.bad(index)).collect();
            let mut scattered = ByPacket::new(p, r, draws(seed));
            order.truncate(40);
            for index in order {
                prop_assert_eq!(scattered.bad(index), states[index as usize]);
            }
        }

        #[test]
        fn a_states_times_are_the_same_however_many_packets_ask(
            good_ns in 1e5..1e8, bad_ns in 1e5..1e8, seed: u64, gaps in prop::collection::vec(1..10_000_000u64, 1..200),
        ) {
            let [mut often, mut once] = [(); 2].map(|()| ByTime::new(good_ns, bad_ns, draws(seed)));
            let mut at_ns = 0;
            let mut bad = false;
            for gap_ns in gaps {
                at_ns += gap_ns;
                bad = often.bad(at_ns);
            }
            prop_assert_eq!(once.bad(at_ns), bad);
            prop_assert_eq!(once.bad_ns(), often.bad_ns());
            prop_assert_eq!(once.watched_ns(), at_ns);
            prop_assert!(once.bad_ns() <= at_ns);
        }
    }

    #[test]
    fn bursts_last_as_long_as_asked_whatever_the_rate_of_packets() {
        const MS: u64 = 1_000_000;
        for gap_ns in [MS / 10, 10 * MS] {
            let mut states = ByTime::new(90e6, 10e6, draws(5));
            // 20,000 bursts: their mean is within five standard errors, 3.5 %.
            for at_ns in (0..2_000_000 * MS).step_by(gap_ns as usize) {
                states.bad(at_ns);
            }
            let bursts = states.number as f64 / 2.0;
            let mean_ms = states.bad_ns() as f64 / 1e6 / bursts;
            assert!((mean_ms - 10.0).abs() < 0.35, "{mean_ms}");
            assert!((bursts - 20_000.0).abs() < 500.0, "{bursts}");
        }
    }
}

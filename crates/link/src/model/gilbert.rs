//! Loss in bursts: Gilbert, Bell System Technical Journal 39 (1960), and Elliott, 42 (1963).

use super::draw::{Draws, Effect};
use super::{Counts, DropCause, Fates, Packet, Stage};

/// A chain of two states, one step a packet, and a probability of loss in each.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// Probability that the bad state follows the good one.
    pub p: f64,
    /// Probability that the good state follows the bad one.
    pub r: f64,
    /// Share lost in the good state.
    pub loss_good: f64,
    /// Share lost in the bad state.
    pub loss_bad: f64,
}

/// Loss by a [`Chain`]. The state at a packet is a pure function of (seed, direction, index): it
/// does not depend on which packets came this far, nor in which order.
pub struct GilbertElliott {
    chain: Chain,
    steps: Draws,
    losses: Draws,
    /// Index and state of the last packet, so that the next one takes a single step.
    known: Option<(u64, bool)>,
    trials: u64,
    fates: Fates,
}

/// What one step does to whatever state came before it.
enum Step {
    Becomes(bool),
    Stays,
    Flips,
}

impl GilbertElliott {
    pub fn new(chain: Chain, seed: u64, direction: u64) -> Self {
        Self {
            chain,
            steps: Draws::new(seed, direction, Effect::Chain),
            losses: Draws::new(seed, direction, Effect::ChainLoss),
            known: None,
            trials: 0,
            fates: Fates::default(),
        }
    }

    /// Whether the chain is in the bad state at packet `index`.
    ///
    /// Both states take their step from the same draw, so some draws lead to one state from
    /// either (coupling from the past). Going back to the last of those is enough.
    pub fn bad(&mut self, index: u64) -> bool {
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
        let from_good = draw < self.chain.p;
        let from_bad = draw < 1.0 - self.chain.r;
        match (from_good, from_bad) {
            (false, true) => Step::Stays,
            (true, false) => Step::Flips,
            (bad, _) => Step::Becomes(bad),
        }
    }

    /// The state before packet 0, drawn from the chain's stationary distribution.
    fn begins_bad(&self) -> bool {
        self.steps.at(u64::MAX) * (self.chain.p + self.chain.r) < self.chain.p
    }
}

impl Stage for GilbertElliott {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        self.trials += 1;
        let share = match self.bad(packet.index) {
            true => self.chain.loss_bad,
            false => self.chain.loss_good,
        };
        let lost = self.losses.of(&packet) < share;
        self.fates.note(&packet, lost);
        packet.dropped = lost.then_some(DropCause::Loss);
        Some(packet)
    }

    fn count(&self, counts: &mut Counts) {
        counts.loss_trials += self.trials;
        counts.loss_fates.push_str(&self.fates.runs());
    }
}

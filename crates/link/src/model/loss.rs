//! Bernoulli loss as a pure function of (seed, direction, packet index).

use super::draw::{Draws, Effect};
use super::{Counts, DropCause, Fates, Packet, Stage};

/// Loses each packet with the same probability, by its index alone: whatever a stack sends and
/// whenever it sends it, the n-th packet of a direction meets the same fate under the same seed.
/// The loss sets of one seed are nested: what is lost at 1 % is also lost at 2 %.
pub struct Loss {
    share: f64,
    draws: Draws,
    trials: u64,
    fates: Fates,
}

impl Loss {
    /// `share` of packets is lost, 0..=1; `direction` separates the two streams of a seed.
    pub fn new(share: f64, seed: u64, direction: u64) -> Self {
        let draws = Draws::new(seed, direction, Effect::Loss);
        Self {
            share,
            draws,
            trials: 0,
            fates: Fates::default(),
        }
    }
}

impl Stage for Loss {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        self.trials += 1;
        let lost = self.draws.of(&packet) < self.share;
        self.fates.note(&packet, lost);
        packet.dropped = lost.then_some(DropCause::Loss);
        Some(packet)
    }

    fn count(&self, counts: &mut Counts) {
        counts.loss_trials += self.trials;
        counts.loss_fates.push_str(&self.fates.runs());
    }
}

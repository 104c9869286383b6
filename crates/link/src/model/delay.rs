//! Propagation delay, with jitter and reordering.

use super::draw::{Draws, Effect, Normals};
use super::flying::Flying;
use super::spread::{Spread, quantile};
use super::wander::Wander;
use super::{Packet, Stage};

/// Jitter that reorders: each packet has its own delay, a pure function of (seed, direction,
/// index).
pub struct Scatter {
    spread: Spread,
    lots: Draws,
    normals: Normals,
}

impl Scatter {
    pub fn new(spread: Spread, seed: u64, direction: u64) -> Self {
        Self {
            spread,
            lots: Draws::new(seed, direction, Effect::Jitter),
            normals: Normals::new(seed, direction),
        }
    }

    fn offset_ns(&self, packet: &Packet) -> f64 {
        match &self.spread {
            Spread::Uniform(most_ns) => (2.0 * self.lots.of(packet) - 1.0) * most_ns,
            Spread::Normal(sigma_ns) => self.normals.at(Draws::place(packet)) * sigma_ns,
            Spread::Table(quantiles) => quantile(quantiles, self.lots.of(packet)),
        }
    }
}

/// The kinds of jitter.
pub enum Jitter {
    Scatter(Scatter),
    Wander(Wander),
}

impl Jitter {
    fn below_ns(&self) -> f64 {
        match self {
            Self::Scatter(scatter) => scatter.spread.below_ns(),
            Self::Wander(wander) => wander.spread.below_ns(),
        }
    }
}

/// Sends a share of the packets ahead: they skip the delay, as with netem's `reorder`.
pub struct Reorder {
    share: f64,
    draws: Draws,
}

impl Reorder {
    pub fn new(share: f64, seed: u64, direction: u64) -> Self {
        let draws = Draws::new(seed, direction, Effect::Reorder);
        Self { share, draws }
    }
}

/// Delays every packet by the same time plus jitter, but never by less than zero.
pub struct Delay {
    delay_ns: u64,
    jitter: Option<Jitter>,
    reorder: Option<Reorder>,
    last_ns: u64,
    flying: Flying,
}

impl Delay {
    pub fn new(delay_ns: u64, jitter: Option<Jitter>, reorder: Option<Reorder>) -> Self {
        Self {
            delay_ns,
            jitter,
            reorder,
            last_ns: 0,
            flying: Flying::default(),
        }
    }

    fn varied_ns(&self, offset_ns: f64) -> u64 {
        (self.delay_ns as f64 + offset_ns).max(0.0).round() as u64
    }
}

impl Stage for Delay {
    fn begin(&mut self, epoch_ns: u64) {
        if let Some(Jitter::Wander(wander)) = &mut self.jitter {
            wander.begin(epoch_ns);
        }
    }

    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        let ahead = |reorder: &Reorder| reorder.draws.of(&packet) < reorder.share;
        if self.reorder.as_ref().is_some_and(ahead) {
            return Some(packet);
        }
        match &mut self.jitter {
            None => packet.at_ns += self.delay_ns,
            Some(Jitter::Scatter(scatter)) => {
                let offset_ns = scatter.offset_ns(&packet);
                packet.at_ns += self.varied_ns(offset_ns);
            }
            Some(Jitter::Wander(wander)) => {
                let offset_ns = wander.offset_ns(packet.at_ns);
                packet.at_ns += self.varied_ns(offset_ns);
                packet.at_ns = packet.at_ns.max(self.last_ns);
                self.last_ns = packet.at_ns;
            }
        }
        self.flying.put(packet);
        None
    }

    fn next_ns(&self) -> Option<u64> {
        self.flying.next_ns()
    }

    fn release(&mut self) -> Option<Packet> {
        self.flying.pop()
    }

    fn least_ns(&self) -> u64 {
        match (&self.reorder, &self.jitter) {
            (Some(_), _) => 0,
            (None, None) => self.delay_ns,
            (None, Some(jitter)) => (self.delay_ns as f64 - jitter.below_ns()).max(0.0) as u64,
        }
    }
}

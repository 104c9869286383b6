//! Propagation delay, with jitter and reordering.

use std::f64::consts::TAU;

use super::draw::{Draws, Effect};
use super::flying::Flying;
use super::{Packet, Stage};

/// No normal draw of ours is further from the mean: sqrt(2 ln 2^53) standard deviations.
const FURTHEST: f64 = 8.572;

/// How delays differ from packet to packet.
#[derive(Clone, Copy, Debug)]
pub enum Spread {
    /// Evenly, at most this many ns from the delay.
    Uniform(f64),
    /// Normally, with this standard deviation in ns.
    Normal(f64),
}

/// Delays that differ; a packet's is a pure function of (seed, direction, index).
pub struct Jitter {
    spread: Spread,
    /// Packets may overtake each other; otherwise one waits for those before it.
    overtaking: bool,
    lots: Draws,
    angles: Draws,
}

impl Jitter {
    pub fn new(spread: Spread, overtaking: bool, seed: u64, direction: u64) -> Self {
        Self {
            spread,
            overtaking,
            lots: Draws::new(seed, direction, Effect::Jitter),
            angles: Draws::new(seed, direction, Effect::JitterAngle),
        }
    }

    fn offset_ns(&self, packet: &Packet) -> f64 {
        let lot = self.lots.of(packet);
        match self.spread {
            Spread::Uniform(most_ns) => (2.0 * lot - 1.0) * most_ns,
            // Box and Muller, Annals of Mathematical Statistics 29 (1958).
            Spread::Normal(sigma_ns) => {
                let radius = (-2.0 * (1.0 - lot).ln()).sqrt();
                radius * (TAU * self.angles.of(packet)).cos() * sigma_ns
            }
        }
    }

    fn most_ns(&self) -> f64 {
        match self.spread {
            Spread::Uniform(most_ns) => most_ns,
            Spread::Normal(sigma_ns) => FURTHEST * sigma_ns,
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

/// Holds every packet for the same time, give or take jitter and never less than none.
pub struct Delay {
    delay_ns: u64,
    jitter: Option<Jitter>,
    reorder: Option<Reorder>,
    last_ns: u64,
    flying: Flying,
}

impl Delay {
    pub fn new(delay_ns: u64) -> Self {
        Self::varied(delay_ns, None, None)
    }

    pub fn varied(delay_ns: u64, jitter: Option<Jitter>, reorder: Option<Reorder>) -> Self {
        Self {
            delay_ns,
            jitter,
            reorder,
            last_ns: 0,
            flying: Flying::default(),
        }
    }
}

impl Stage for Delay {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        let ahead = |reorder: &Reorder| reorder.draws.of(&packet) < reorder.share;
        if self.reorder.as_ref().is_some_and(ahead) {
            return Some(packet);
        }
        match &self.jitter {
            None => packet.at_ns += self.delay_ns,
            Some(jitter) => {
                let delay_ns = self.delay_ns as f64 + jitter.offset_ns(&packet);
                packet.at_ns += delay_ns.max(0.0).round() as u64;
                if !jitter.overtaking {
                    packet.at_ns = packet.at_ns.max(self.last_ns);
                    self.last_ns = packet.at_ns;
                }
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
            (None, Some(jitter)) => (self.delay_ns as f64 - jitter.most_ns()).max(0.0) as u64,
        }
    }
}

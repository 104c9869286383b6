//! Bernoulli loss as a pure function of (seed, direction, packet index).

use super::{DropCause, Packet, Stage};

/// Loses each packet with the same probability, by its index alone: whatever a stack sends and
/// whenever it sends it, the n-th packet of a direction meets the same fate under the same seed.
pub struct Loss {
    share: f64,
    stream: u64,
}

impl Loss {
    /// `share` of packets is lost, 0..=1; `direction` tells the two streams of one seed apart.
    pub fn new(share: f64, seed: u64, direction: u64) -> Self {
        let stream = mix(mix(seed) ^ direction.wrapping_mul(GOLDEN_GAMMA));
        Self { share, stream }
    }

    /// The loss sets of one seed are nested: what is lost at 1 % is also lost at 2 %.
    pub fn loses(&self, index: u64) -> bool {
        let draw = mix(self
            .stream
            .wrapping_add(GOLDEN_GAMMA.wrapping_mul(index.wrapping_add(1))));
        unit(draw) < self.share
    }
}

impl Stage for Loss {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        packet.dropped = self.loses(packet.index).then_some(DropCause::Loss);
        Some(packet)
    }
}

/// Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014, figure 16
/// (SplitMix64): draw n is a function of the state and n, so it can be had without those before.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of the same paper (variant 13 of David Stafford).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The upper 53 bits as a number in [0, 1), exact in an f64.
fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1u64 << 53) as f64
}

//! Random numbers as pure functions of (seed, direction, effect, packet).

use std::f64::consts::TAU;

use super::Packet;
use crate::splitmix::{GOLDEN_GAMMA, mix};

/// Added to the index of copies, so that they draw from a part of the stream that no packet
/// reaches.
const COPY: u64 = 1 << 63;

/// The effects with random numbers. Each has its own stream, so enabling one does not change the
/// others. The values belong to the meaning of a seed and never change.
#[derive(Clone, Copy)]
pub enum Stream {
    Loss,
    Chain,
    ChainLoss,
    Jitter,
    JitterAngle,
    Reorder,
    Duplicate,
    HostLoss,
    /// The stream of an effect that was added later, by its name.
    Named(&'static str),
}

impl Stream {
    fn number(self) -> u64 {
        match self {
            Self::Loss => 0,
            Self::Chain => 1,
            Self::ChainLoss => 2,
            Self::Jitter => 3,
            Self::JitterAngle => 4,
            Self::Reorder => 5,
            Self::Duplicate => 6,
            Self::HostLoss => 7,
            // Eight or more, so that no name meets a number.
            Self::Named(name) => name
                .bytes()
                .fold(8, |sum, byte| mix(sum ^ u64::from(byte)) | 8),
        }
    }
}

/// A stream of random numbers. A draw does not depend on whether other draws were made.
#[derive(Clone, Copy)]
pub struct Draws {
    stream: u64,
}

impl Draws {
    /// `direction` separates the streams of up (1) and down (2).
    pub fn new(seed: u64, direction: u64, stream: Stream) -> Self {
        let base = mix(mix(seed) ^ direction.wrapping_mul(GOLDEN_GAMMA));
        let stream = match stream {
            Stream::Loss => base,
            other => mix(base ^ other.number().wrapping_mul(GOLDEN_GAMMA)),
        };
        Self { stream }
    }

    /// Draw `index`, from 0 to below 1.
    pub fn at(self, index: u64) -> f64 {
        let step = GOLDEN_GAMMA.wrapping_mul(index.wrapping_add(1));
        unit(mix(self.stream.wrapping_add(step)))
    }

    /// Returns the random number drawn for this packet.
    pub fn of(self, packet: &Packet) -> f64 {
        self.at(Self::place(packet))
    }

    /// The packet's index in a stream. A copy has another index than its original.
    pub fn place(packet: &Packet) -> u64 {
        packet.index | if packet.copy { COPY } else { 0 }
    }
}

/// Standard normal draws for jitter: Box and Muller, Annals of Mathematical Statistics 29 (1958).
/// Computed in software: a processor's own functions may differ in the last bit.
#[derive(Clone, Copy)]
pub struct Normals {
    lots: Draws,
    angles: Draws,
}

impl Normals {
    /// Largest distance of a draw from 0: sqrt(2 ln 2^53).
    pub const FURTHEST: f64 = 8.572;

    pub fn new(seed: u64, direction: u64) -> Self {
        Self {
            lots: Draws::new(seed, direction, Stream::Jitter),
            angles: Draws::new(seed, direction, Stream::JitterAngle),
        }
    }

    pub fn at(&self, index: u64) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.lots.at(index))).sqrt();
        radius * libm::cos(TAU * self.angles.at(index))
    }
}

/// The upper 53 bits as a number in [0, 1), exact in an f64.
fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1u64 << 53) as f64
}

//! Duplication.

use std::collections::VecDeque;

use super::draw::{Draws, Effect};
use super::{Counts, Packet, Stage};

/// Sends a share of the packets twice, chosen by index. The copy directly follows its original.
pub struct Duplicate {
    share: f64,
    draws: Draws,
    copies: VecDeque<Packet>,
    made: u64,
}

impl Duplicate {
    pub fn new(share: f64, seed: u64, direction: u64) -> Self {
        Self {
            share,
            draws: Draws::new(seed, direction, Effect::Duplicate),
            copies: VecDeque::new(),
            made: 0,
        }
    }
}

impl Stage for Duplicate {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        if self.draws.of(&packet) < self.share {
            packet.twin = true;
            self.made += 1;
            self.copies.push_back(Packet {
                copy: true,
                ..packet
            });
        }
        Some(packet)
    }

    fn next_ns(&self) -> Option<u64> {
        self.copies.front().map(|packet| packet.at_ns)
    }

    fn release(&mut self) -> Option<Packet> {
        self.copies.pop_front()
    }

    fn count(&self, counts: &mut Counts) {
        counts.duplicated += self.made;
    }
}

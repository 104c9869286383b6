//! Duplication.

use std::collections::VecDeque;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Context, Effect, End, Stage};
use crate::check::check_share;
use crate::model::draw::{Draws, Stream};
use crate::model::{Counts, Packet};

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    /// Share of packets sent twice.
    #[serde(default)]
    pub duplicate: f64,
}

impl Effect for Asked {
    const END: End = End::Client;

    fn understood(&self, side: &str) -> Result<Self> {
        check_share(side, "duplicate", self.duplicate)?;
        Ok(self.clone())
    }

    fn stage(&self, context: &Context) -> Option<Box<dyn Stage>> {
        (self.duplicate > 0.0).then(|| Box::new(Duplicate::new(self.duplicate, context)) as _)
    }
}

/// Sends a share of the packets twice, chosen by index. The copy directly follows its original.
struct Duplicate {
    share: f64,
    draws: Draws,
    copies: VecDeque<Packet>,
    made: u64,
}

impl Duplicate {
    fn new(share: f64, context: &Context) -> Self {
        Self {
            share,
            draws: Draws::new(context.seed, context.direction, Stream::Duplicate),
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

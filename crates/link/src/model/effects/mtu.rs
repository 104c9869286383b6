//! The longest packet that a link carries, and the link's answer to longer packets.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Context, DropCause, Effect, Stage};
use crate::model::{Counts, Packet};

/// The packet is longer than the link carries.
pub const TOO_LONG: DropCause = DropCause::new("mtu");

/// Smallest MTU: every link carries this (RFC 791 section 3.2), and no host need accept less.
const LEAST_BYTES: u32 = 68;
/// Number of answers in a burst (RFC 4443 section 2.4 (f)); the next constant is the time per
/// answer.
const BURST: u64 = 10;
const ANSWER_NS: u64 = 100_000_000;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    /// Most bytes of a packet, at layer 3.
    #[serde(default)]
    pub mtu: Option<u32>,
    #[serde(default)]
    pub mtu_behaviour: Behaviour,
}

/// What the link does besides dropping a packet that is too long.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// Sends no answer.
    #[default]
    BlackHole,
    /// Answers the sender with ICMP: `crate::too_big`.
    TooBig,
    /// Sends no answer, but makes SYNs request segments that are short enough: `crate::mss`.
    Clamp,
}

impl Effect for Asked {
    const CAUSES: &[DropCause] = &[TOO_LONG];

    fn understood(&self, side: &str) -> Result<Self> {
        ensure!(
            self.mtu != Some(0),
            "{side}.mtu is 0: give at least 1, or null for no limit"
        );
        if self.mtu_behaviour != Behaviour::BlackHole {
            ensure!(
                self.mtu.is_some_and(|mtu| mtu >= LEAST_BYTES),
                "{side}.mtu_behaviour is of an mtu: give {side}.mtu of at least {LEAST_BYTES}"
            );
        }
        Ok(self.clone())
    }

    fn stage(&self, _context: &Context) -> Option<Box<dyn Stage>> {
        let bytes = self.mtu?;
        let tells = self.mtu_behaviour == Behaviour::TooBig;
        Some(Box::new(Mtu {
            bytes,
            tells,
            spent_ns: 0,
            told: 0,
        }))
    }
}

impl Asked {
    /// The MTU for which SYNs of the other direction are clamped.
    pub fn clamps(&self) -> Option<u32> {
        self.mtu.filter(|_| self.mtu_behaviour == Behaviour::Clamp)
    }
}

/// Drops packets of more than `bytes` (layer 3), as a router that cannot fragment does.
struct Mtu {
    bytes: u32,
    tells: bool,
    /// When the bucket will have refilled after the answers given so far, at one answer per
    /// `ANSWER_NS`.
    spent_ns: u64,
    told: u64,
}

impl Mtu {
    /// Whether another answer is allowed; counts it if so.
    fn may_tell(&mut self, now_ns: u64) -> bool {
        let spent_ns = self.spent_ns.max(now_ns) + ANSWER_NS;
        let may = spent_ns - now_ns <= BURST * ANSWER_NS;
        if may {
            self.spent_ns = spent_ns;
        }
        may
    }
}

impl Stage for Mtu {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        if packet.bytes > self.bytes {
            packet.dropped = Some(TOO_LONG);
            if self.tells && packet.header.answerable && !packet.copy && self.may_tell(packet.at_ns)
            {
                packet.next_hop_mtu = Some(self.bytes);
                self.told += 1;
            }
        }
        Some(packet)
    }

    fn count(&self, counts: &mut Counts) {
        *counts.events.entry("told_too_big").or_default() += self.told;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(answerable: bool, bytes: u32, at_ns: &[u64]) -> Vec<bool> {
        let asked = Asked {
            mtu: Some(1280),
            mtu_behaviour: Behaviour::TooBig,
        };
        let mut stage = asked.stage(&Context::default()).unwrap();
        let mut take = |&at_ns: &u64| {
            let mut packet = Packet::new(0, bytes, at_ns, 0);
            packet.header.answerable = answerable;
            let left = stage.take(packet).unwrap();
            assert_eq!(left.dropped.is_some(), bytes > 1280);
            left.next_hop_mtu == Some(1280)
        };
        at_ns.iter().map(&mut take).collect()
    }

    #[test]
    fn answers_come_in_a_burst_of_ten_and_then_ten_a_second() {
        let at_once = told(true, 1281, &[5; 12]);
        assert_eq!(at_once.iter().filter(|told| **told).count(), 10);
        let mut times = [5; 12].to_vec();
        times.extend([ANSWER_NS + 4, ANSWER_NS + 5, ANSWER_NS + 6]);
        assert_eq!(told(true, 1281, &times)[12..], [false, true, false]);
    }

    #[test]
    fn what_fits_or_may_not_be_answered_gets_no_answer() {
        assert_eq!(told(true, 1280, &[0]), [false]);
        assert_eq!(told(false, 1281, &[0]), [false]);
    }
}

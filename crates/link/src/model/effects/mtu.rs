//! The longest packet a link carries, and what it says of longer ones.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Context, DropCause, Effect, Stage};
use crate::model::{Counts, Packet};

/// Longer than the link carries.
pub const TOO_LONG: DropCause = DropCause::new("mtu");

/// RFC 791 section 3.2: every link carries this, and no host need believe in less.
const LEAST_BYTES: u32 = 68;
/// RFC 4443 section 2.4 (f): answers in a burst, and then per second.
const BURST: u64 = 10;
const ANSWER_NS: u64 = 100_000_000;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    /// Bytes of layer 3.
    #[serde(default)]
    pub mtu: Option<u32>,
    #[serde(default)]
    pub mtu_behaviour: Behaviour,
}

/// What happens to a packet that is too long, besides that it is dropped.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// Nothing.
    #[default]
    BlackHole,
    /// The sender gets an ICMP answer: `crate::too_big`.
    TooBig,
    /// Nothing; but SYNs ask for segments that are short enough: `crate::mss`.
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

/// Drops packets above `bytes` (layer 3), as a router that cannot fragment.
struct Mtu {
    bytes: u32,
    tells: bool,
    /// When the answers given so far are paid for, at one per `ANSWER_NS`.
    spent_ns: u64,
    told: u64,
}

impl Mtu {
    /// Whether the bucket of answers holds one.
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

//! A policer: a rate without a queue.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Context, DropCause, Effect, Stage};
use crate::model::Packet;
use crate::trace::MAX_MBPS;
use crate::units::bits_per_s;

/// Faster than the policer's rate, for longer than its burst.
pub const TOO_FAST: DropCause = DropCause::new("policer");

/// A byte in bits times ns per s.
const BYTE: u128 = 8_000_000_000;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    #[serde(default)]
    pub policer: Option<Policer>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Mbit/s of bytes as `accounting` counts them.
    pub rate_mbps: f64,
    pub burst_bytes: u64,
}

impl Effect for Asked {
    const CAUSES: &[DropCause] = &[TOO_FAST];

    fn understood(&self, side: &str) -> Result<Self> {
        if let Some(Policer {
            rate_mbps,
            burst_bytes,
        }) = self.policer
        {
            ensure!(
                (1e-6..=MAX_MBPS).contains(&rate_mbps),
                "{side}.policer.rate_mbps is {rate_mbps}: give 0.000001 to {MAX_MBPS}"
            );
            ensure!(
                burst_bytes > 0,
                "{side}.policer.burst_bytes is 0: give at least 1"
            );
        }
        Ok(self.clone())
    }

    fn stage(&self, context: &Context) -> Option<Box<dyn Stage>> {
        let Policer {
            rate_mbps,
            burst_bytes,
        } = self.policer?;
        let most = u128::from(burst_bytes) * BYTE;
        Some(Box::new(Bucket {
            bits_per_s: u128::from(bits_per_s(rate_mbps)),
            overhead: context.overhead,
            most,
            tokens: most,
            at_ns: 0,
        }))
    }
}

/// A token bucket (RFC 2697 with one colour): a packet passes if the bucket holds its bytes, and
/// takes them out. Nothing waits.
struct Bucket {
    bits_per_s: u128,
    overhead: u32,
    most: u128,
    tokens: u128,
    at_ns: u64,
}

impl Stage for Bucket {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        let since_ns = u128::from(packet.at_ns - self.at_ns);
        self.at_ns = packet.at_ns;
        self.tokens = self.most.min(self.tokens + since_ns * self.bits_per_s);
        let cost = u128::from(packet.bytes + self.overhead) * BYTE;
        match self.tokens.checked_sub(cost) {
            Some(rest) => self.tokens = rest,
            None => packet.dropped = Some(TOO_FAST),
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bucket(rate_mbps: f64, burst_bytes: u64) -> Box<dyn Stage> {
        let policer = Some(Policer {
            rate_mbps,
            burst_bytes,
        });
        Asked { policer }.stage(&Context::default()).unwrap()
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        // 1000 bytes a millisecond, and 3000 at once.
        let mut bucket = bucket(8.0, 3000);
        let mut passes = |at_ns| {
            let left = bucket.take(Packet::new(0, 1000, at_ns, 0)).unwrap();
            left.dropped.is_none()
        };
        let at_once = [0; 4].map(&mut passes);
        assert_eq!(at_once, [true, true, true, false]);
        assert_eq!(
            [999_999, 1_000_000, 1_000_001].map(&mut passes),
            [false, true, false]
        );
        assert_eq!([60_000_000; 4].map(&mut passes), [true, true, true, false]);
    }

    proptest! {
        #[test]
        fn no_window_passes_more_than_its_burst_and_its_rate(
            packets in prop::collection::vec((0..3_000_000u64, 20..1500u32), 1..200),
            rate_mbps in 1..50u32,
            burst in 1..20_000u64,
        ) {
            let mut bucket = bucket(f64::from(rate_mbps), burst);
            let (mut at_ns, mut passed) = (0, Vec::new());
            for (gap_ns, bytes) in packets {
                at_ns += gap_ns;
                let left = bucket.take(Packet::new(0, bytes, at_ns, 0)).unwrap();
                passed.extend(left.dropped.is_none().then_some((at_ns, bytes)));
            }
            for (at, &(since_ns, _)) in passed.iter().enumerate() {
                let mut bytes = 0;
                for &(until_ns, more) in &passed[at..] {
                    bytes += u64::from(more);
                    let most = burst * 8_000 + (until_ns - since_ns) * u64::from(rate_mbps);
                    prop_assert!(bytes * 8_000 <= most);
                }
            }
        }
    }
}

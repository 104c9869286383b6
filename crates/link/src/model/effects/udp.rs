//! A middlebox that treats UDP worse than TCP, as some networks do to QUIC.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Context, DropCause, Effect, Stage};
use crate::check::{check_ms, check_share};
use crate::model::Packet;
use crate::model::draw::{Draws, Stream};
use crate::model::flying::Flying;
use crate::units::ns;

/// UDP, dropped by a middlebox that treats it worse than TCP.
pub const LOST: DropCause = DropCause::new("udp");

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    #[serde(default)]
    pub udp: Option<Udp>,
}

/// What UDP meets where the direction begins. TCP passes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Udp {
    pub delay_ms: f64,
    /// 1 blocks UDP.
    pub loss: f64,
}

impl Effect for Asked {
    const CAUSES: &[DropCause] = &[LOST];

    fn understood(&self, side: &str) -> Result<Self> {
        if let Some(udp) = self.udp {
            check_ms(side, "udp.delay_ms", udp.delay_ms)?;
            check_share(side, "udp.loss", udp.loss)?;
        }
        Ok(self.clone())
    }

    fn stage(&self, context: &Context) -> Option<Box<dyn Stage>> {
        let asked = self.udp?;
        Some(Box::new(Middlebox {
            asked,
            draws: Draws::new(context.seed, context.direction, Stream::Named("udp")),
            flying: Flying::default(),
        }))
    }
}

struct Middlebox {
    asked: Udp,
    draws: Draws,
    flying: Flying,
}

impl Stage for Middlebox {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        if !packet.header.udp {
            return Some(packet);
        }
        if self.asked.loss > 0.0 && self.draws.of(&packet) < self.asked.loss {
            packet.dropped = Some(LOST);
            return Some(packet);
        }
        packet.at_ns += ns(self.asked.delay_ms);
        self.flying.put(packet);
        None
    }

    fn next_ns(&self) -> Option<u64> {
        self.flying.next_ns()
    }

    fn release(&mut self) -> Option<Packet> {
        self.flying.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Header;

    fn stage(delay_ms: f64, loss: f64) -> Box<dyn Stage> {
        let udp = Some(Udp { delay_ms, loss });
        Asked { udp }.stage(&Context::default()).unwrap()
    }

    fn packet(index: u64, udp: bool) -> Packet {
        let header = Header {
            udp,
            ..Header::default()
        };
        Packet {
            header,
            ..Packet::new(index, 1200, 1_000, 0)
        }
    }

    #[test]
    fn a_network_that_blocks_udp_drops_all_of_it_and_passes_tcp() {
        let mut stage = stage(0.0, 1.0);
        for index in 0..50 {
            let udp = stage.take(packet(index, true)).unwrap();
            assert_eq!(udp.dropped, Some(LOST));
            let tcp = stage.take(packet(index, false)).unwrap();
            assert_eq!((tcp.dropped, tcp.at_ns), (None, 1_000));
        }
    }

    #[test]
    fn slow_udp_comes_later_by_its_delay_and_tcp_overtakes_it() {
        let mut stage = stage(30.0, 0.0);
        assert!(stage.take(packet(0, true)).is_none());
        assert_eq!(stage.take(packet(1, false)).unwrap().at_ns, 1_000);
        assert_eq!(stage.next_ns(), Some(30_001_000));
        assert_eq!(stage.release().unwrap().at_ns, 30_001_000);
        assert!(stage.next_ns().is_none());
    }

    #[test]
    fn only_delays_and_shares_are_taken() {
        for (delay_ms, loss) in [(-1.0, 0.0), (0.0, 1.5), (0.0, -0.1), (f64::NAN, 0.0)] {
            let udp = Some(Udp { delay_ms, loss });
            assert!(Asked { udp }.understood("up").is_err(), "{delay_ms} {loss}");
        }
    }
}

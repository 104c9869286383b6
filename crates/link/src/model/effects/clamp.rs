//! Clamps the largest segment that a TCP end requests, to the MTU of the direction in which such
//! segments come back: `super::mtu`.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Context, Effect, Stage};
use crate::model::{Counts, Packet};

/// Has no parameters: an MTU of the other direction requests this effect.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {}

impl Effect for Asked {
    fn understood(&self, _side: &str) -> Result<Self> {
        Ok(self.clone())
    }

    fn stage(&self, context: &Context) -> Option<Box<dyn Stage>> {
        let mtu = context.clamps?;
        Some(Box::new(Clamp { mtu, clamped: 0 }))
    }
}

/// Lowers the MSS option of SYNs, never raises it.
struct Clamp {
    mtu: u32,
    clamped: u64,
}

impl Stage for Clamp {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        if let Some((mss, headers)) = packet.header.mss {
            let most = u16::try_from(self.mtu.saturating_sub(headers)).unwrap_or(u16::MAX);
            if mss > most {
                packet.clamped_mss = Some(most);
                self.clamped += 1;
            }
        }
        Some(packet)
    }

    fn count(&self, counts: &mut Counts) {
        *counts.events.entry("clamped").or_default() += self.clamped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mss_is_lowered_to_what_fits_behind_both_headers_and_never_raised() {
        let context = Context {
            clamps: Some(1280),
            ..Context::default()
        };
        let mut stage = Asked {}.stage(&context).unwrap();
        let mut clamped = |mss| {
            let mut packet = Packet::new(0, 60, 0, 0);
            packet.header.mss = mss;
            stage.take(packet).unwrap().clamped_mss
        };
        assert_eq!(clamped(Some((1460, 40))), Some(1240));
        assert_eq!(clamped(Some((1440, 60))), Some(1220));
        assert_eq!(clamped(Some((1240, 40))), None);
        assert_eq!(clamped(None), None);
    }
}

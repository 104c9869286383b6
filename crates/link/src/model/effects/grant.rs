//! A sender that may send only when the network grants it, as phones and satellite dishes do.
//!
//! The device asks for a grant at fixed moments, and says with what it sends what waits behind it:
//! scheduling requests and buffer status reports of LTE (3GPP TS 36.321 sections 5.4.4, 5.4.5).

use std::collections::VecDeque;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Context, Effect, Stage};
use crate::check::{check_ms, check_positive_ms};
use crate::model::draw::{Draws, Stream};
use crate::model::time::NEVER_NS;
use crate::model::{Counts, Held, Packet, Resumed, Silence};
use crate::units::ns;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
}

/// How a device gets to send.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Time from one moment at which the device may ask to the next.
    pub request_ms: f64,
    /// Time from asking to sending.
    pub delay_ms: f64,
    /// How long the network goes on granting after each packet, without being asked.
    #[serde(default)]
    pub held_ms: f64,
}

impl Effect for Asked {
    fn understood(&self, side: &str) -> Result<Self> {
        if let Some(grant) = self.grant {
            ensure!(
                !side.ends_with("down"),
                "{side}.grant: only the client asks for grants: give it in up"
            );
            check_positive_ms(side, "grant.request_ms", grant.request_ms)?;
            check_ms(side, "grant.delay_ms", grant.delay_ms)?;
            check_ms(side, "grant.held_ms", grant.held_ms)?;
        }
        Ok(self.clone())
    }

    fn stage(&self, context: &Context) -> Option<Box<dyn Stage>> {
        let grant = self.grant?;
        let draws = Draws::new(context.seed, context.direction, Stream::Named("grant"));
        let request_ns = ns(grant.request_ms).max(1);
        Some(Box::new(Device {
            request_ns,
            delay_ns: ns(grant.delay_ms),
            held_ns: ns(grant.held_ms),
            first_ns: (draws.at(0) * request_ns as f64) as u64,
            silence: context.silence.clone(),
            epoch_ns: 0,
            waiting: VecDeque::new(),
            asked: None,
            granted_until_ns: 0,
            leaving: VecDeque::new(),
            held_up: 0,
        }))
    }
}

/// A device that sends when it is granted to.
struct Device {
    request_ns: u64,
    delay_ns: u64,
    held_ns: u64,
    /// When the device may ask first, after `epoch_ns`.
    first_ns: u64,
    /// When the other direction carries no grant.
    silence: Silence,
    epoch_ns: u64,
    /// Packets without a grant, in order. Their `at_ns` is when they came.
    waiting: VecDeque<Packet>,
    asked: Option<Ask>,
    /// The time until which packets go at once.
    granted_until_ns: u64,
    leaving: VecDeque<Packet>,
    held_up: u64,
}

/// What the device has asked for.
struct Ask {
    /// The grant is for what had come by then.
    at_ns: u64,
    granted_ns: u64,
}

impl Device {
    /// The first moment from `at_ns` on at which the device may ask.
    fn request_from(&self, at_ns: u64) -> u64 {
        let first_ns = self.epoch_ns + self.first_ns;
        if at_ns <= first_ns {
            return first_ns;
        }
        first_ns + (at_ns - first_ns).div_ceil(self.request_ns) * self.request_ns
    }

    fn ask(&mut self, at_ns: u64) {
        let since_ns = (at_ns + self.delay_ns).saturating_sub(self.epoch_ns);
        let granted_ns = self.silence.end_ns(since_ns).saturating_add(self.epoch_ns);
        self.asked = Some(Ask {
            at_ns,
            granted_ns: granted_ns.min(NEVER_NS),
        });
    }

    /// Sends what the grant is for, and says what waits behind it.
    fn grant(&mut self, ask: &Ask) {
        let now_ns = ask.granted_ns;
        while let Some(packet) = self.waiting.front() {
            if packet.at_ns > ask.at_ns && self.held_ns == 0 {
                break;
            }
            self.held_up += u64::from(now_ns > packet.at_ns);
            self.leaving
                .extend(self.waiting.pop_front().map(|packet| Packet {
                    at_ns: now_ns,
                    ..packet
                }));
        }
        self.granted_until_ns = now_ns + self.held_ns;
        if !self.waiting.is_empty() {
            self.ask(now_ns);
        }
    }
}

impl Stage for Device {
    fn begin(&mut self, epoch_ns: u64) {
        self.epoch_ns = epoch_ns;
    }

    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        packet.resumed = None;
        if packet.at_ns < self.granted_until_ns && self.leaving.is_empty() {
            self.granted_until_ns = packet.at_ns + self.held_ns;
            return Some(packet);
        }
        if self.asked.is_none() {
            self.ask(self.request_from(packet.at_ns));
        }
        self.waiting.push_back(packet);
        None
    }

    fn next_ns(&self) -> Option<u64> {
        let leaves_ns = self.leaving.front().map(|packet| packet.at_ns);
        leaves_ns.or_else(|| Some(self.asked.as_ref()?.granted_ns))
    }

    fn release(&mut self) -> Option<Packet> {
        if self.leaving.is_empty() {
            let ask = self.asked.take()?;
            self.grant(&ask);
        }
        self.leaving.pop_front()
    }

    fn least_ns(&self) -> u64 {
        if self.held_ns == 0 { self.delay_ns } else { 0 }
    }

    /// What waits for a grant asks the new link for one.
    fn hand_over(&mut self, _now_ns: u64) -> Held {
        let resumed = |packet: Packet| Packet {
            resumed: Some(Resumed {
                came_ns: packet.at_ns,
                crossed: None,
            }),
            ..packet
        };
        Held {
            waiting: self.waiting.drain(..).map(resumed).collect(),
            going: self.leaving.drain(..).collect(),
        }
    }

    fn count(&self, counts: &mut Counts) {
        *counts.events.entry("granted").or_default() += self.held_up;
    }

    fn scheduled(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Pipeline, Step};

    const MS: u64 = 1_000_000;

    /// A device that may ask at 0, 10, 20, ... ms, and sends 8 ms after asking.
    fn device(held_ms: f64, silence: Silence) -> Device {
        Device {
            request_ns: 10 * MS,
            delay_ns: 8 * MS,
            held_ns: ns(held_ms),
            first_ns: 0,
            silence,
            epoch_ns: 0,
            waiting: VecDeque::new(),
            asked: None,
            granted_until_ns: 0,
            leaving: VecDeque::new(),
            held_up: 0,
        }
    }

    /// When packets that came at these ms leave, in ms.
    fn left(device: Device, came_ms: &[u64]) -> Vec<u64> {
        let mut pipeline = Pipeline::new(vec![Box::new(device)]);
        pipeline.begin(0);
        let mut left = Vec::new();
        for (index, ms) in came_ms.iter().enumerate() {
            left.extend(pipeline.take(Packet::new(index as u64, 100, ms * MS, 0)));
        }
        left.extend(std::iter::from_fn(|| pipeline.release(u64::MAX / 4)));
        assert!(left.is_sorted_by_key(|packet| packet.index));
        left.iter().map(|packet| packet.at_ns / MS).collect()
    }

    #[test]
    fn a_packet_waits_for_the_next_request_and_its_grant() {
        assert_eq!(left(device(0.0, Silence::default()), &[0, 31]), [8, 48]);
    }

    #[test]
    fn what_comes_after_the_request_is_reported_with_the_data() {
        // Asked at 10: the first two go at 18, and then the next grant takes 8 ms.
        let came = [3, 10, 11, 18, 19, 27];
        assert_eq!(
            left(device(0.0, Silence::default()), &came),
            [18, 18, 26, 26, 34, 42]
        );
    }

    #[test]
    fn a_network_that_goes_on_granting_lets_packets_go_at_once() {
        let came = [3, 12, 19, 22, 28, 40];
        assert_eq!(
            left(device(5.0, Silence::default()), &came),
            [18, 18, 19, 22, 38, 40]
        );
    }

    #[test]
    fn no_grant_comes_while_the_other_direction_is_out() {
        let step = |bits_per_s, ms: u64| Step {
            bits_per_s,
            lasts_ns: ms * MS,
        };
        let silence = Silence::of(&[step(1, 15), step(0, 85)]);
        assert_eq!(left(device(0.0, silence), &[3, 12]), [100, 108]);
    }

    #[test]
    fn a_change_of_the_link_makes_waiting_packets_ask_again() {
        let made = || Box::new(device(0.0, Silence::default()));
        let mut pipeline = Pipeline::new(vec![made()]);
        pipeline.begin(0);
        for index in 0..2 {
            assert!(
                pipeline
                    .take(Packet::new(index, 100, (1 + index) * MS, 0))
                    .is_none()
            );
        }
        let next = Pipeline::new(vec![made()]);
        pipeline.change(11 * MS, next, crate::model::Waiting::Kept);
        let left: Vec<Packet> = std::iter::from_fn(|| pipeline.release(NEVER_NS)).collect();
        assert_eq!(
            left.iter().map(|packet| packet.at_ns).collect::<Vec<_>>(),
            [28 * MS; 2]
        );
        assert!(
            left.iter()
                .all(|packet| packet.straddles && packet.resumed.is_none())
        );
        assert_eq!(pipeline.counts().events["granted"], 2);
    }

    #[test]
    fn only_the_client_asks_for_grants_and_its_times_make_sense() {
        let grant = |request_ms, delay_ms, held_ms| Asked {
            grant: Some(Grant {
                request_ms,
                delay_ms,
                held_ms,
            }),
        };
        assert!(grant(10.0, 8.0, 0.0).understood("up").is_ok());
        assert!(grant(10.0, 8.0, 0.0).understood("at[0].down").is_err());
        for (request_ms, delay_ms, held_ms) in [
            (0.0, 8.0, 0.0),
            (-1.0, 8.0, 0.0),
            (f64::NAN, 8.0, 0.0),
            (10.0, -1.0, 0.0),
            (10.0, 1e12, 0.0),
            (10.0, 8.0, f64::INFINITY),
        ] {
            assert!(
                grant(request_ms, delay_ms, held_ms)
                    .understood("up")
                    .is_err()
            );
        }
    }

    proptest! {
        #[test]
        fn packets_keep_their_order_and_wait_no_longer_than_two_grants(
            gaps in prop::collection::vec(0..40u64, 1..60),
            request_ms in 1..30u64,
            delay_ms in 0..30u64,
            held_ms in 0..20u64,
            seed: u64,
        ) {
            let grant = Grant {
                request_ms: request_ms as f64,
                delay_ms: delay_ms as f64,
                held_ms: held_ms as f64,
            };
            let context = Context { seed, direction: 1, ..Context::default() };
            let stage = Asked { grant: Some(grant) }.stage(&context).unwrap();
            let mut pipeline = Pipeline::new(vec![stage]);
            let mut at_ns = 1_000 * MS;
            let mut left = Vec::new();
            for (index, gap) in gaps.iter().enumerate() {
                at_ns += gap * MS;
                left.extend(pipeline.take(Packet::new(index as u64, 100, at_ns, 0)));
            }
            left.extend(std::iter::from_fn(|| pipeline.release(NEVER_NS)));
            prop_assert_eq!(left.len(), gaps.len());
            prop_assert!(left.is_sorted_by_key(|packet| (packet.at_ns, packet.index)));
            let most_ns = (request_ms.max(delay_ms) + delay_ms) * MS;
            let least_ns = if held_ms == 0 { delay_ms * MS } else { 0 };
            for packet in left {
                let waited_ns = packet.at_ns - packet.arrival_ns;
                prop_assert!((least_ns..=most_ns).contains(&waited_ns), "{waited_ns}");
            }
        }
    }
}

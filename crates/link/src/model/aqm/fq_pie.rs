//! FQ-PIE, as Linux's `sch_fq_pie`: the queues and turns of RFC 8290, each queue under PIE.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::fair::{Fair, check_turns};
use super::pie::{self, Pie};
use super::{Context, Discipline, Kind};

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    #[serde(flatten)]
    pub pie: pie::Asked,
    pub flows: usize,
    /// Bytes that a queue sends in its turn.
    pub quantum_bytes: u32,
}

impl Kind for Asked {
    fn check(&self, place: &str) -> Result<()> {
        self.pie.check(place)?;
        check_turns(place, self.flows, self.quantum_bytes)
    }

    /// A full queue drops the newcomer, as Linux does.
    fn discipline(&self, context: &Context) -> Box<dyn Discipline> {
        let queue = || Pie::new(self.pie.clone(), Pie::draws(context));
        Box::new(Fair::new(
            self.flows,
            self.quantum_bytes,
            context.seed,
            queue,
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::model::Packet;
    use crate::model::effects::queue::FULL;

    const MS: u64 = 1_000_000;

    fn queue() -> Box<dyn Discipline> {
        let pie = pie::Asked {
            target_ms: 15.0,
            update_ms: 15.0,
            alpha: 0.125,
            beta: 1.25,
            burst_ms: 150.0,
            ecn: false,
            mark_share: 0.1,
        };
        let asked = Asked {
            pie,
            flows: 1024,
            quantum_bytes: 1514,
        };
        asked.discipline(&Context::default())
    }

    fn of_flow(flow: u64, ms: u64) -> Packet {
        let mut packet = Packet::new(ms, 1000, ms * MS, 0);
        packet.line_bytes = 1000;
        packet.header.flow = flow;
        packet
    }

    #[test]
    fn a_flow_that_overloads_pays_alone() {
        // A packet leaves every ms. Flow 1 sends two in that time, flow 2 one in 10 ms.
        let mut queue = queue();
        let (mut gone, mut dropped) = (VecDeque::new(), Vec::new());
        let (mut longest_ms, mut left) = (0, [0; 3]);
        for ms in 0..20_000 {
            let mut arrivals = vec![of_flow(1, ms), of_flow(1, ms)];
            arrivals.extend((ms % 10 == 0).then(|| of_flow(2, ms)));
            dropped.extend(
                arrivals
                    .into_iter()
                    .filter_map(|packet| queue.put(packet, false, &mut gone)),
            );
            let packet = queue.take(ms * MS, &mut gone).unwrap();
            left[packet.header.flow as usize] += 1;
            if packet.header.flow == 2 {
                longest_ms = longest_ms.max(ms - packet.index);
            }
        }
        assert!(dropped.iter().all(|packet| packet.header.flow == 1));
        // PIE brings the overload's own queue down: 1.1 of 2 packets per ms have no room.
        assert!(
            (20_000..24_000).contains(&dropped.len()),
            "{}",
            dropped.len()
        );
        assert_eq!(left[2], 2_000);
        assert!(longest_ms <= 2, "{longest_ms}");
    }

    #[test]
    fn a_full_queue_drops_the_newcomer_whatever_its_flow() {
        let mut queue = queue();
        let mut gone = VecDeque::new();
        assert!(queue.put(of_flow(1, 0), false, &mut gone).is_none());
        let refused = queue.put(of_flow(2, 1), true, &mut gone).unwrap();
        assert_eq!((refused.header.flow, refused.dropped), (2, Some(FULL)));
        assert!(gone.is_empty());
        // The refused packet's flow waits for no turn.
        assert_eq!(queue.take(2 * MS, &mut gone).unwrap().header.flow, 1);
        assert!(queue.take(2 * MS, &mut gone).is_none());
    }
}

//! FQ-CoDel: RFC 8290.

use std::collections::VecDeque;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::codel::{self, Codel, Parameters};
use super::fair::Fair;
use super::{Context, Discipline, Kind, Packet};
use crate::model::effects::queue::FULL;

/// Section 4.1: at most this many packets are dropped at once when the limit is reached.
const MOST_DROPPED: usize = 64;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Asked(pub codel::Asked);

impl Kind for Asked {
    fn check(&self, place: &str) -> Result<()> {
        self.0.check(place)
    }

    fn discipline(&self, context: &Context) -> Box<dyn Discipline> {
        let (parameters, asked) = (self.0.parameters(), &self.0);
        Box::new(FqCodel::new(
            parameters,
            asked.flows,
            asked.quantum_bytes,
            context.seed,
        ))
    }
}

/// A CoDel queue for each flow.
pub struct FqCodel {
    fair: Fair<Codel>,
}

impl FqCodel {
    /// `flows` and `quantum` (bytes) are at least 1.
    pub fn new(parameters: Parameters, flows: usize, quantum: u32, seed: u64) -> Self {
        Self {
            fair: Fair::new(flows, quantum, seed, || Codel::new(parameters)),
        }
    }

    /// Drops half the packets of the flow with most bytes, from its head and at most 64, when the
    /// limit is reached (section 4.1).
    pub fn shed(&mut self, now_ns: u64, gone: &mut VecDeque<Packet>) {
        let Some(queue) = self.fair.queues().max_by_key(|queue| queue.fifo.bytes()) else {
            return;
        };
        for _ in 0..queue.fifo.len().div_ceil(2).min(MOST_DROPPED) {
            gone.extend(queue.fifo.pop().map(|packet| Packet {
                at_ns: now_ns,
                dropped: Some(FULL),
                ..packet
            }));
        }
    }
}

impl Discipline for FqCodel {
    fn put(&mut self, packet: Packet, full: bool, gone: &mut VecDeque<Packet>) -> Option<Packet> {
        let at_ns = packet.at_ns;
        let refused = self.fair.put(packet, false, gone);
        if full {
            self.shed(at_ns, gone);
        }
        refused
    }

    fn take(&mut self, now_ns: u64, gone: &mut VecDeque<Packet>) -> Option<Packet> {
        self.fair.take(now_ns, gone)
    }

    fn resume(&mut self, packet: Packet, now_ns: u64) {
        self.fair.resume(packet, now_ns);
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.fair.drain()
    }
}

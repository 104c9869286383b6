//! FQ-CoDel: RFC 8290.

use std::collections::VecDeque;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::codel::{self, Codel, Parameters};
use super::{Context, Discipline, Kind, Packet};
use crate::model::effects::queue::FULL;
use crate::splitmix::mix;

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

#[derive(Clone, Copy, PartialEq)]
enum Listed {
    No,
    New,
    Old,
}

struct Flow {
    queue: Codel,
    credits: i64,
    listed: Listed,
}

/// A CoDel queue for each flow, by hash, served in turns of `quantum` bytes, new flows first.
pub struct FqCodel {
    flows: Vec<Flow>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: i64,
    /// Perturbs the hash (section 4.1.1). It comes from the seed, so that a run can be repeated.
    salt: u64,
}

impl FqCodel {
    /// `flows` and `quantum` (bytes) are at least 1.
    pub fn new(parameters: Parameters, flows: usize, quantum: u32, seed: u64) -> Self {
        let flow = || Flow {
            queue: Codel::new(parameters),
            credits: 0,
            listed: Listed::No,
        };
        Self {
            flows: (0..flows).map(|_| flow()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: i64::from(quantum),
            salt: mix(seed),
        }
    }

    /// Drops half the packets of the flow with most bytes, from its head and at most 64, when the
    /// limit is reached (section 4.1).
    pub fn shed(&mut self, now_ns: u64, gone: &mut VecDeque<Packet>) {
        let fattest = self
            .flows
            .iter_mut()
            .max_by_key(|flow| flow.queue.fifo.bytes());
        let Some(Flow { queue, .. }) = fattest else {
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

    /// Puts a packet into its flow's queue. A flow that is on neither list is appended to the new
    /// ones (section 4.1).
    fn add(&mut self, packet: Packet) {
        let place = (mix(packet.header.flow ^ self.salt) % self.flows.len() as u64) as usize;
        let flow = &mut self.flows[place];
        flow.queue.fifo.put(packet);
        if flow.listed == Listed::No {
            flow.listed = Listed::New;
            flow.credits = self.quantum;
            self.new.push_back(place);
        }
    }

    fn requeue(&mut self, place: usize) {
        self.unlist(place);
        self.flows[place].listed = Listed::Old;
        self.old.push_back(place);
    }

    /// Takes the flow at the head of its list off it.
    fn unlist(&mut self, place: usize) {
        let flow = &mut self.flows[place];
        match flow.listed {
            Listed::New => self.new.pop_front(),
            _ => self.old.pop_front(),
        };
        flow.listed = Listed::No;
    }
}

impl Discipline for FqCodel {
    fn put(&mut self, packet: Packet, full: bool, gone: &mut VecDeque<Packet>) -> Option<Packet> {
        let at_ns = packet.at_ns;
        self.add(packet);
        if full {
            self.shed(at_ns, gone);
        }
        None
    }

    /// Takes the packet to send at `now_ns` (section 4.2); dropped packets are put into `gone`.
    fn take(&mut self, now_ns: u64, gone: &mut VecDeque<Packet>) -> Option<Packet> {
        loop {
            let place = *self.new.front().or(self.old.front())?;
            let flow = &mut self.flows[place];
            if flow.credits <= 0 {
                flow.credits += self.quantum;
                self.requeue(place);
                continue;
            }
            let Some(packet) = flow.queue.take(now_ns, gone) else {
                // An emptied new flow waits behind the old ones, so that it does not stay new
                // forever.
                match flow.listed {
                    Listed::New if !self.old.is_empty() => self.requeue(place),
                    _ => self.unlist(place),
                }
                continue;
            };
            flow.credits -= i64::from(packet.line_bytes);
            return Some(packet);
        }
    }

    fn resume(&mut self, packet: Packet, _now_ns: u64) {
        self.add(packet);
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.new.clear();
        self.old.clear();
        for flow in &mut self.flows {
            flow.listed = Listed::No;
        }
        let queues = self.flows.iter_mut().map(|flow| &mut flow.queue);
        queues.flat_map(Codel::drain).collect()
    }
}

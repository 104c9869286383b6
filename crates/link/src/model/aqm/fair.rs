//! A queue for each flow, served in turns: RFC 8290 section 4, whatever manages the single queues.

use std::collections::VecDeque;

use anyhow::{Result, ensure};

use super::{Discipline, Packet};
use crate::splitmix::mix;

/// Checks the number of queues, and the bytes that each sends in its turn.
pub fn check_turns(place: &str, flows: usize, quantum_bytes: u32) -> Result<()> {
    ensure!(
        (1..=65_536).contains(&flows),
        "{place}.flows is {flows}: give 1 to 65536"
    );
    ensure!(
        quantum_bytes > 0,
        "{place}.quantum_bytes is 0: give at least 1"
    );
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Listed {
    No,
    New,
    Old,
}

struct Flow<Q> {
    queue: Q,
    credits: i64,
    listed: Listed,
}

/// A managed queue for each flow, by hash, served in turns of `quantum` bytes, new flows first.
pub struct Fair<Q> {
    flows: Vec<Flow<Q>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: i64,
    /// Perturbs the hash (section 4.1.1). It comes from the seed, so that a run can be repeated.
    salt: u64,
}

impl<Q: Discipline> Fair<Q> {
    /// `flows` and `quantum` (bytes) are at least 1; `queue` makes the queue of one flow.
    pub fn new(flows: usize, quantum: u32, seed: u64, queue: impl Fn() -> Q) -> Self {
        let flow = || Flow {
            queue: queue(),
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

    /// The queues of all flows.
    pub fn queues(&mut self) -> impl Iterator<Item = &mut Q> {
        self.flows.iter_mut().map(|flow| &mut flow.queue)
    }

    fn place(&self, packet: &Packet) -> usize {
        (mix(packet.header.flow ^ self.salt) % self.flows.len() as u64) as usize
    }

    /// Appends a flow that is on neither list to the new ones (section 4.1).
    fn list(&mut self, place: usize) {
        let flow = &mut self.flows[place];
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

impl<Q: Discipline> Discipline for Fair<Q> {
    fn begin(&mut self, epoch_ns: u64) {
        self.queues().for_each(|queue| queue.begin(epoch_ns));
    }

    /// Puts a packet into its flow's queue, which may refuse it.
    fn put(&mut self, packet: Packet, full: bool, gone: &mut VecDeque<Packet>) -> Option<Packet> {
        let place = self.place(&packet);
        let refused = self.flows[place].queue.put(packet, full, gone);
        if refused.is_none() {
            self.list(place);
        }
        refused
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

    fn resume(&mut self, packet: Packet, now_ns: u64) {
        let place = self.place(&packet);
        self.flows[place].queue.resume(packet, now_ns);
        self.list(place);
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.new.clear();
        self.old.clear();
        for flow in &mut self.flows {
            flow.listed = Listed::No;
        }
        self.queues().flat_map(Q::drain).collect()
    }
}

//! The link as a pure model: time goes in as an argument, packets come out. No I/O, no clock.
//!
//! A direction of the link is a short chain of [`Stage`]s. Every packet carries its own logical
//! time from stage to stage, so how late anybody asks changes nothing about when it was due.

mod bottleneck;
mod delay;
mod loss;

use std::cmp::Reverse;

pub use bottleneck::Bottleneck;
pub use delay::Delay;
pub use loss::Loss;

/// Why a packet never leaves the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// Random loss.
    Loss,
    /// The queue in front of the bottleneck was full.
    Queue,
}

/// What the model knows of a packet; its bytes stay with the owner, under `slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Place among the packets of its direction, from 0, in order of arrival.
    pub index: u64,
    /// Layer 3 length.
    pub bytes: u32,
    /// The owner's name for the packet's bytes.
    pub slot: u32,
    /// When it reached the link.
    pub arrival_ns: u64,
    /// When, ideally, it reached the place where it is now: in the end its ideal departure.
    pub at_ns: u64,
    /// How long it waited for the bottleneck, once it has passed one.
    pub waited_ns: Option<u64>,
    pub dropped: Option<DropCause>,
}

impl Packet {
    pub fn new(index: u64, bytes: u32, arrival_ns: u64, slot: u32) -> Self {
        Self {
            index,
            bytes,
            slot,
            arrival_ns,
            at_ns: arrival_ns,
            waited_ns: None,
            dropped: None,
        }
    }
}

/// One effect of the link: take a packet, say when the next one leaves, release it.
pub trait Stage: Send {
    /// Takes a packet at its `at_ns`, which never runs backwards. Returns a packet that need not
    /// wait here: one that passes at once, or one with `dropped` set.
    fn take(&mut self, packet: Packet) -> Option<Packet>;

    /// When the next waiting packet leaves.
    fn next_ns(&self) -> Option<u64> {
        None
    }

    /// The packet `next_ns` speaks of, with its `at_ns` set to that time.
    fn release(&mut self) -> Option<Packet> {
        None
    }

    /// The least time any packet spends here.
    fn least_ns(&self) -> u64 {
        0
    }
}

/// The stages of one direction, in order. Without stages every packet passes at once.
#[derive(Default)]
pub struct Pipeline {
    stages: Vec<Box<dyn Stage>>,
}

impl Pipeline {
    pub fn new(stages: Vec<Box<dyn Stage>>) -> Self {
        Self { stages }
    }

    /// Takes a packet; returns one that leaves the link at once, dropped or not.
    pub fn take(&mut self, packet: Packet) -> Option<Packet> {
        self.enter(0, packet)
    }

    /// The next packet that leaves the link by `now_ns`, dropped or not, in order of time.
    pub fn release(&mut self, now_ns: u64) -> Option<Packet> {
        loop {
            let (stage, due_ns) = self.next_stage()?;
            if due_ns > now_ns {
                return None;
            }
            let packet = self.stages[stage].release()?;
            let left = match packet.dropped {
                Some(_) => Some(packet),
                None => self.enter(stage + 1, packet),
            };
            if left.is_some() {
                return left;
            }
        }
    }

    /// No packet leaves the link before this time; None if there is none inside.
    ///
    /// Moves between stages need no waking: what lies behind a stage is counted at its least.
    pub fn next_ns(&self) -> Option<u64> {
        let mut behind_ns = 0;
        let mut next_ns: Option<u64> = None;
        for stage in self.stages.iter().rev() {
            let here = stage.next_ns().map(|due_ns| due_ns + behind_ns);
            next_ns = [next_ns, here].into_iter().flatten().min();
            behind_ns += stage.least_ns();
        }
        next_ns
    }

    /// The least time any packet spends in the link.
    pub fn least_ns(&self) -> u64 {
        self.stages.iter().map(|stage| stage.least_ns()).sum()
    }

    fn next_stage(&self) -> Option<(usize, u64)> {
        let stages = self.stages.iter().enumerate();
        let waiting = stages.filter_map(|(at, stage)| stage.next_ns().map(|due_ns| (at, due_ns)));
        waiting.min_by_key(|&(at, due_ns)| (due_ns, Reverse(at)))
    }

    fn enter(&mut self, first: usize, mut packet: Packet) -> Option<Packet> {
        for stage in &mut self.stages[first..] {
            packet = stage.take(packet)?;
            if packet.dropped.is_some() {
                break;
            }
        }
        Some(packet)
    }
}

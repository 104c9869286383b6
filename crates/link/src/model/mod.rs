//! The link as a pure model: time goes in as an argument, packets come out. No I/O, no clock.
//!
//! A direction of the link is a short chain of [`Stage`]s. Every packet carries its own logical
//! time from stage to stage, so asking late does not change when it was due.

pub mod aqm;
pub mod effects;

mod bottleneck;
mod draw;
mod fates;
mod flying;
mod gilbert;
mod line;
mod managed;
mod opportunities;
mod spread;
mod time;
mod wander;

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use serde::Serialize;

use crate::header::Header;

pub use bottleneck::{Bottleneck, Depth};
pub use fates::Fates;
pub use line::{Line, Step};
pub use managed::Managed;
pub use opportunities::{OPPORTUNITY_BYTES, Opportunities};
pub use wander::LEAST_PERIODS;

/// Why a packet never leaves the link. Each effect declares its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct DropCause {
    /// The name in `dragstrip.model.effects`, and in records.
    pub name: &'static str,
    /// The queue in front of the bottleneck dropped it.
    #[serde(skip)]
    pub in_queue: bool,
}

impl DropCause {
    pub const fn new(name: &'static str) -> Self {
        let in_queue = false;
        Self { name, in_queue }
    }

    pub const fn in_queue(name: &'static str) -> Self {
        let in_queue = true;
        Self { name, in_queue }
    }
}

/// Counts that only the stages know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Packets that reached the loss stage, lost or not.
    pub loss_trials: u64,
    /// The fate of each of them, see [`Fates::runs`].
    pub loss_fates: String,
    /// Copies made.
    pub duplicated: u64,
    /// What else single effects count, by the field of the report.
    pub events: BTreeMap<&'static str, u64>,
    pub host_loss: Vec<HostCount>,
    /// None unless loss comes in bursts.
    pub bursts: Option<Bursts>,
    /// One for each queue of a bottleneck with several.
    pub queues: Vec<QueueCount>,
}

/// What one queue of a bottleneck did. Bytes are those that the bottleneck counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueCount {
    pub queue: &'static str,
    /// Packets that went on to the line, and how many of them it marked.
    pub packets: u64,
    pub bytes: u64,
    pub marked: u64,
    /// Packets that it dropped, being full or not.
    pub dropped: u64,
    /// How long packets waited in it.
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

/// Counts of the bad state of loss in bursts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bursts {
    /// Packets that met the bad state, and those of them that were lost.
    pub trials: u64,
    pub lost: u64,
    /// How long the bad state lasted in all, and how long the chain ran until its last packet; None
    /// if it steps with packets.
    pub bad_ns: Option<u64>,
    pub watched_ns: Option<u64>,
}

/// Packets of one host, and how many of them its own path lost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostCount {
    pub address: IpAddr,
    pub trials: u64,
    pub lost: u64,
}

/// The model's data on a packet. Its bytes stay with the owner, under `slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Place among the packets of its direction, from 0, in order of arrival.
    pub index: u64,
    /// Layer 3 length.
    pub bytes: u32,
    /// Bytes that the bottleneck counts for it; set once it has met one.
    pub line_bytes: u32,
    /// The owner's key for the packet's bytes.
    pub slot: u32,
    /// When it reached the link.
    pub arrival_ns: u64,
    /// When it ideally reached its current place; at the end, its ideal departure.
    pub at_ns: u64,
    /// How long it waited for the bottleneck, once it has passed one.
    pub waited_ns: Option<u64>,
    /// How long the bottleneck took to carry it.
    pub line_ns: u64,
    pub dropped: Option<DropCause>,
    /// The link marks it Congestion Experienced when it sends it.
    pub marked: bool,
    /// Whether it is one of two packets that share an index and a slot.
    pub twin: bool,
    /// Whether it is the second of the two.
    pub copy: bool,
    /// The link answers its sender that packets of this length pass: it was dropped as too long.
    pub next_hop_mtu: Option<u32>,
    /// The link writes this into its MSS option when it sends it.
    pub clamped_mss: Option<u16>,
    pub header: Header,
    /// Index of its far end in the owner's list.
    pub far: Option<u32>,
}

impl Packet {
    pub fn new(index: u64, bytes: u32, arrival_ns: u64, slot: u32) -> Self {
        Self {
            index,
            bytes,
            slot,
            arrival_ns,
            at_ns: arrival_ns,
            line_bytes: bytes,
            waited_ns: None,
            line_ns: 0,
            dropped: None,
            marked: false,
            twin: false,
            copy: false,
            next_hop_mtu: None,
            clamped_mss: None,
            header: Header::default(),
            far: None,
        }
    }
}

/// One effect of the link: takes a packet, says when the next one leaves, and releases it.
pub trait Stage: Send {
    /// Sets time 0 of effects that follow a clock (a trace, jitter in order, bursts by time). It is
    /// called before the first packet.
    fn begin(&mut self, _epoch_ns: u64) {}

    /// Takes a packet at its `at_ns`, which never runs backwards. Returns a packet that need not
    /// wait here: one that passes at once, or one with `dropped` set.
    fn take(&mut self, packet: Packet) -> Option<Packet>;

    /// When the next waiting packet leaves.
    fn next_ns(&self) -> Option<u64> {
        None
    }

    /// The packet that leaves at `next_ns`, with its `at_ns` set to that time; None if none leaves
    /// then.
    fn release(&mut self) -> Option<Packet> {
        None
    }

    /// The least time any packet spends here.
    fn least_ns(&self) -> u64 {
        0
    }

    /// Adds what this stage counted.
    fn count(&self, _counts: &mut Counts) {}
}

/// The stages of one direction, in order. Without stages every packet passes at once.
#[derive(Default)]
pub struct Pipeline {
    stages: Vec<Box<dyn Stage>>,
    begun: bool,
    /// Packets that left the link before the last arrival and were not returned yet.
    left: VecDeque<Packet>,
}

impl Pipeline {
    pub fn new(stages: Vec<Box<dyn Stage>>) -> Self {
        Self {
            stages,
            begun: false,
            left: VecDeque::new(),
        }
    }

    /// Sets time 0 of effects that follow a clock, once. By default it is the first packet's
    /// arrival.
    pub fn begin(&mut self, epoch_ns: u64) {
        if !self.begun {
            self.begun = true;
            (self.stages.iter_mut()).for_each(|stage| stage.begin(epoch_ns));
        }
    }

    /// Takes a packet, after everything that happens inside until its arrival. So a stage's
    /// decisions do not depend on when the caller calls. Returns a packet that left the link by
    /// then, dropped or not; `release` returns the others.
    pub fn take(&mut self, packet: Packet) -> Option<Packet> {
        self.begin(packet.arrival_ns);
        while let Some(left) = self.step(packet.arrival_ns) {
            self.left.push_back(left);
        }
        let passed = self.enter(0, packet);
        if self.left.is_empty() {
            return passed;
        }
        self.left.extend(passed);
        self.left.pop_front()
    }

    /// The next packet that leaves the link by `now_ns`, dropped or not, in order of time.
    pub fn release(&mut self, now_ns: u64) -> Option<Packet> {
        match self.left.front() {
            Some(packet) if packet.at_ns > now_ns => None,
            Some(_) => self.left.pop_front(),
            None => self.step(now_ns),
        }
    }

    /// Time before which no packet leaves the link; None if there is none inside.
    ///
    /// It need not account for moves between stages: later stages count with their least time.
    pub fn next_ns(&self) -> Option<u64> {
        if let Some(packet) = self.left.front() {
            return Some(packet.at_ns);
        }
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

    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for stage in &self.stages {
            stage.count(&mut counts);
        }
        counts
    }

    /// Simulates events up to `now_ns`, until a packet leaves.
    fn step(&mut self, now_ns: u64) -> Option<Packet> {
        loop {
            let (stage, due_ns) = self.next_stage()?;
            if due_ns > now_ns {
                return None;
            }
            let Some(packet) = self.stages[stage].release() else {
                continue;
            };
            let left = match packet.dropped {
                Some(_) => Some(packet),
                None => self.enter(stage + 1, packet),
            };
            if left.is_some() {
                return left;
            }
        }
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

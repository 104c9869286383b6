//! The link as a pure model: time goes in as an argument, packets come out. The model has no I/O
//! and no clock.
//!
//! A direction of the link is a short chain of [`Stage`]s. Every packet carries its own logical
//! time from stage to stage, so a late call does not change when the packet was due.

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
mod recorded;
mod rest;
mod silence;
mod spread;
mod time;
mod wander;

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use serde::Serialize;

use crate::header::Header;
use rest::Rest;

pub use bottleneck::{Bottleneck, Depth};
pub use fates::Fates;
pub use line::{Line, Step};
pub use managed::Managed;
pub use opportunities::{OPPORTUNITY_BYTES, Opportunities};
pub use recorded::Recorded;
pub use silence::Silence;
pub use wander::LEAST_PERIODS;

/// Why a packet never leaves the link. Each effect declares its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct DropCause {
    /// The cause's name in `dragstrip.model.effects`, and in records.
    pub name: &'static str,
    /// Whether the queue in front of the bottleneck dropped the packet.
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

/// The link changed, and its queue was not carried over.
pub const HANDED_OVER: DropCause = DropCause::new("handover");

/// What happens to packets that wait for the line when the link changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// The packets wait for the new line.
    #[default]
    Kept,
    Dropped,
}

/// Counts that only the stages know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Packets that reached the loss stage, lost or not.
    pub loss_trials: u64,
    /// The fate of each packet at the loss stage, see [`Fates::runs`].
    pub loss_fates: String,
    /// Number of copies made.
    pub duplicated: u64,
    /// Counts of single effects, by field of the report.
    pub events: BTreeMap<&'static str, u64>,
    pub host_loss: Vec<HostCount>,
    /// Counts of loss in bursts; None without it.
    pub bursts: Option<Bursts>,
    /// One count for each queue of a bottleneck with several queues.
    pub queues: Vec<QueueCount>,
}

/// What one queue of a bottleneck did. Bytes are counted as the bottleneck counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueCount {
    pub queue: &'static str,
    /// Packets that went on to the line, and in the next fields their bytes and how many the queue
    /// marked.
    pub packets: u64,
    pub bytes: u64,
    pub marked: u64,
    /// Packets that the queue dropped, because it was full or for another reason.
    pub dropped: u64,
    /// Median time in ns that packets waited in the queue.
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

impl QueueCount {
    /// Adds what the queue counted before the link changed. The percentiles are those of the
    /// changed link alone, once a packet has passed it; the maximum is that of both links.
    fn add(&mut self, before: &Self) {
        if self.packets == 0 {
            (self.p50_ns, self.p99_ns) = (before.p50_ns, before.p99_ns);
        }
        self.packets += before.packets;
        self.bytes += before.bytes;
        self.marked += before.marked;
        self.dropped += before.dropped;
        self.max_ns = self.max_ns.max(before.max_ns);
    }
}

impl Counts {
    /// Adds what was counted before the link changed. The fates are those of the changed link alone.
    fn add(&mut self, before: &Self) {
        self.loss_trials += before.loss_trials;
        self.duplicated += before.duplicated;
        for (event, count) in &before.events {
            *self.events.entry(event).or_default() += count;
        }
        for queue in &before.queues {
            match (self.queues.iter_mut()).find(|now| now.queue == queue.queue) {
                Some(now) => now.add(queue),
                None => self.queues.push(*queue),
            }
        }
        for host in &before.host_loss {
            match (self.host_loss.iter_mut()).find(|now| now.address == host.address) {
                Some(now) => {
                    now.trials += host.trials;
                    now.lost += host.lost;
                }
                None => self.host_loss.push(host.clone()),
            }
        }
        let sum = |now: Option<u64>, then: Option<u64>| match (now, then) {
            (Some(now), Some(then)) => Some(now + then),
            (now, then) => now.or(then),
        };
        self.bursts = match (self.bursts.take(), &before.bursts) {
            (Some(now), Some(then)) => Some(Bursts {
                trials: now.trials + then.trials,
                lost: now.lost + then.lost,
                bad_ns: sum(now.bad_ns, then.bad_ns),
                watched_ns: sum(now.watched_ns, then.watched_ns),
            }),
            (now, then) => now.or_else(|| then.clone()),
        };
    }
}

/// Counts of the bad state of loss in bursts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bursts {
    /// Packets that met the bad state, and in the next field the number of these that were lost.
    pub trials: u64,
    pub lost: u64,
    /// How long the bad state lasted in total, and in the next field how long the chain ran until
    /// its last packet; None if the chain steps with packets.
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

/// The model's view of a packet. The owner keeps the packet's bytes, in `slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Position among the packets of its direction, from 0, in order of arrival.
    pub index: u64,
    /// Length at layer 3, in bytes.
    pub bytes: u32,
    /// Bytes that the bottleneck counts for the packet; set when it reaches a bottleneck.
    pub line_bytes: u32,
    /// The owner's key for the packet's bytes.
    pub slot: u32,
    /// When the packet reached the link.
    pub arrival_ns: u64,
    /// When the packet ideally reached its current place; at the end, its ideal departure.
    pub at_ns: u64,
    /// How long the packet waited for the bottleneck; None before it has passed one.
    pub waited_ns: Option<u64>,
    /// How long the bottleneck took to carry the packet.
    pub line_ns: u64,
    /// Set if the packet was in the queue when the link changed.
    pub resumed: Option<Resumed>,
    /// Whether the packet was in the link when it changed, or waits behind such a packet: its times
    /// belong to more than one link.
    pub straddles: bool,
    pub dropped: Option<DropCause>,
    /// Whether the link marks the packet Congestion Experienced when it sends it.
    pub marked: bool,
    /// Whether the packet is one of two that share an index and a slot.
    pub twin: bool,
    /// Whether the packet is the second of two that share an index.
    pub copy: bool,
    /// Set if the packet was dropped as too long: the link answers its sender that packets of this
    /// length pass.
    pub next_hop_mtu: Option<u32>,
    /// Value that the link writes into the packet's MSS option when it sends it.
    pub clamped_mss: Option<u16>,
    pub header: Header,
    /// Index of the packet's far end in the owner's list.
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
            resumed: None,
            straddles: false,
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

impl Packet {
    /// Bytes of `line_bytes` that have crossed the line.
    fn crossed(&self) -> u32 {
        self.resumed
            .and_then(|resumed| resumed.crossed)
            .unwrap_or(0)
    }
}

/// How far a packet had come in its queue when the link changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// When the packet had come to the queue.
    pub came_ns: u64,
    /// Bytes of `line_bytes` that had crossed the line; None if the packet still waited for its
    /// turn.
    pub crossed: Option<u32>,
}

/// What a stage holds when the link changes.
#[derive(Default)]
pub struct Held {
    /// Packets that wait for the line, in order, each with [`Resumed`]. The stage in the same place
    /// takes them.
    pub waiting: Vec<Packet>,
    /// Packets on their way. They leave at their `at_ns`, whatever the link becomes.
    pub going: Vec<Packet>,
}

/// One effect of the link. A stage takes a packet, says when the next packet leaves, and releases
/// it.
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

    /// Releases the packet that leaves at `next_ns`, with its `at_ns` set to that time; None if
    /// none leaves then.
    fn release(&mut self) -> Option<Packet> {
        None
    }

    /// The least time that any packet spends in this stage.
    fn least_ns(&self) -> u64 {
        0
    }

    /// Gives up the stage's packets, because the link changes at `now_ns`.
    fn hand_over(&mut self, _now_ns: u64) -> Held {
        Held {
            waiting: Vec::new(),
            going: std::iter::from_fn(|| self.release()).collect(),
        }
    }

    /// Adds what this stage counted.
    fn count(&self, _counts: &mut Counts) {}

    /// Whether the time that packets spend here follows a recording or a schedule, so that it is
    /// to be recorded over time.
    fn scheduled(&self) -> bool {
        false
    }
}

/// The stages of one direction, in order. Without stages every packet passes at once.
#[derive(Default)]
pub struct Pipeline {
    /// The stages, each with its place. After a change of the link, the stage in the same place
    /// takes over the packets.
    stages: Vec<(usize, Box<dyn Stage>)>,
    epoch_ns: Option<u64>,
    /// Packets that left the link before the last arrival and were not returned yet.
    left: VecDeque<Packet>,
    /// What the stages counted before the link changed.
    before: Counts,
}

impl Pipeline {
    pub fn new(stages: Vec<Box<dyn Stage>>) -> Self {
        Self::placed(stages.into_iter().map(Some))
    }

    /// Creates a pipeline from a stage for every effect in order, or None for an effect that is not
    /// requested. So each stage keeps its place, whichever other stages there are.
    pub fn placed(stages: impl Iterator<Item = Option<Box<dyn Stage>>>) -> Self {
        let placed = stages.enumerate();
        Self {
            stages: placed
                .filter_map(|(at, stage)| Some((at, stage?)))
                .collect(),
            ..Self::default()
        }
    }

    /// Sets time 0 of effects that follow a clock, once. By default it is the first packet's
    /// arrival.
    pub fn begin(&mut self, epoch_ns: u64) {
        if self.epoch_ns.is_none() {
            self.epoch_ns = Some(epoch_ns);
            (self.stages.iter_mut()).for_each(|(_, stage)| stage.begin(epoch_ns));
        }
    }

    /// Whether the time that packets spend here is to be recorded: see [`Stage::scheduled`].
    pub fn scheduled(&self) -> bool {
        self.stages.iter().any(|(_, stage)| stage.scheduled())
    }

    /// Becomes `next` at `now_ns`; its effects have the same places. Packets that wait for the line
    /// wait for the new line, and keep the bytes that have crossed, unless they are dropped.
    /// Packets on their way leave when they would have left, and no later packet overtakes them.
    pub fn change(&mut self, now_ns: u64, mut next: Self, queue: Waiting) {
        while let Some(left) = self.step(now_ns) {
            self.left.push_back(left);
        }
        if let Some(epoch_ns) = self.epoch_ns {
            next.begin(epoch_ns);
        }
        next.before = self.counts();
        next.left.append(&mut self.left);
        let mut waiting = Vec::new();
        for (place, stage) in &mut self.stages {
            let held = stage.hand_over(now_ns);
            next.go_on(*place, held.going);
            waiting.extend(held.waiting.into_iter().map(|packet| (*place, packet)));
        }
        for (place, mut packet) in waiting {
            let came_ns = packet.resumed.map_or(now_ns, |resumed| resumed.came_ns);
            packet.at_ns = now_ns.max(came_ns);
            packet.straddles = true;
            if queue == Waiting::Dropped {
                packet.dropped = Some(HANDED_OVER);
                next.left.push_back(packet);
                continue;
            }
            let first = next.stages.partition_point(|&(at, _)| at < place);
            let passed = next.enter(first, packet);
            next.left.extend(passed);
        }
        *self = next;
    }

    /// Lets packets go on from behind the stage in that place.
    fn go_on(&mut self, place: usize, going: Vec<Packet>) {
        if !going.is_empty() {
            let behind = self.stages.partition_point(|&(at, _)| at <= place);
            let rest = Box::new(Rest::new(going));
            self.stages.insert(behind, (place, rest));
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

    /// Time before which no packet leaves the link; None if no packet is inside.
    ///
    /// Moves between stages need not be accounted for: later stages count with their least time.
    pub fn next_ns(&self) -> Option<u64> {
        if let Some(packet) = self.left.front() {
            return Some(packet.at_ns);
        }
        let mut behind_ns = 0;
        let mut next_ns: Option<u64> = None;
        for (_, stage) in self.stages.iter().rev() {
            let here = stage.next_ns().map(|due_ns| due_ns + behind_ns);
            next_ns = [next_ns, here].into_iter().flatten().min();
            behind_ns += stage.least_ns();
        }
        next_ns
    }

    /// The least time that any packet spends in the link.
    pub fn least_ns(&self) -> u64 {
        self.stages.iter().map(|(_, stage)| stage.least_ns()).sum()
    }

    pub fn counts(&self) -> Counts {
        let mut counts = self.counts_since_change();
        counts.add(&self.before);
        counts
    }

    /// What was counted since the link last changed.
    pub fn counts_since_change(&self) -> Counts {
        let mut counts = Counts::default();
        for (_, stage) in &self.stages {
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
            let Some(packet) = self.stages[stage].1.release() else {
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
        let waiting =
            stages.filter_map(|(at, (_, stage))| stage.next_ns().map(|due_ns| (at, due_ns)));
        waiting.min_by_key(|&(at, due_ns)| (due_ns, Reverse(at)))
    }

    fn enter(&mut self, first: usize, mut packet: Packet) -> Option<Packet> {
        for (_, stage) in &mut self.stages[first..] {
            packet = stage.take(packet)?;
            if packet.dropped.is_some() {
                break;
            }
        }
        Some(packet)
    }
}

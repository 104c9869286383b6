//! The page as a graph: what becomes known when, and when the load event fires.
//!
//! Pure: time comes in as an argument (since navigation start) and nothing is sent from here.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::input::{After, Page, Resource, ResourceId, When, duration};

/// What has happened to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// The answer's headers are here.
    Headers,
    /// Bytes of its body so far.
    Bytes { wire: u64, decoded: u64 },
    /// Its end, good or bad.
    End,
}

/// What the page does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Request(ResourceId),
    LoadEvent,
}

/// What happens when its time has come; in this order where times are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Done(ResourceId),
    Discover(ResourceId),
    LoadEvent,
}

/// The state of a page while it loads.
pub struct Graph {
    nodes: Vec<Node>,
    timers: BTreeSet<(Duration, Timer)>,
    /// How many resources the load event still waits for.
    blocking: usize,
    load_event_delay: Duration,
    after_load_event: Vec<ResourceId>,
}

#[derive(Default)]
struct Node {
    delay: Duration,
    process: Duration,
    blocks_load_event: bool,
    cached: bool,
    /// Conditions that are not met yet.
    waits: usize,
    ended: bool,
    done: bool,
    /// Who waits for its headers or bytes, until they are told.
    at_arrival: Vec<(When, ResourceId)>,
    /// Who waits until it is done.
    when_done: Vec<ResourceId>,
}

impl Graph {
    /// `page` has passed its check. The document is due at once.
    pub fn new(page: &Page) -> Self {
        let node = |resource: &Resource| Node {
            delay: duration(resource.delay_ms),
            process: duration(resource.process_ms),
            blocks_load_event: resource.load_event,
            cached: resource.cached,
            waits: resource.also.len() + usize::from(resource.after.is_some()),
            ..Node::default()
        };
        let mut nodes: Vec<Node> = page.resources.iter().map(node).collect();
        let mut after_load_event = Vec::new();
        for (id, resource) in page.resources.iter().enumerate() {
            match resource.after {
                Some(After::Resource(after)) if after.at == When::Complete => {
                    nodes[after.resource].when_done.push(id);
                }
                Some(After::Resource(after)) => {
                    nodes[after.resource].at_arrival.push((after.at, id));
                }
                Some(After::Event(_)) => after_load_event.push(id),
                None => {}
            }
            for other in &resource.also {
                nodes[*other].when_done.push(id);
            }
        }
        let mut graph = Self {
            blocking: nodes.iter().filter(|node| node.blocks_load_event).count(),
            load_event_delay: duration(page.load_event.delay_ms),
            timers: BTreeSet::from([(nodes[0].delay, Timer::Discover(0))]),
            after_load_event,
            nodes,
        };
        if graph.blocking == 0 {
            graph.plan(Duration::ZERO, graph.load_event_delay, Timer::LoadEvent);
        }
        graph
    }

    /// Takes note of what happened at `now`. What follows from it comes from `act`.
    pub fn learn(&mut self, id: ResourceId, news: News, now: Duration) {
        let node = &mut self.nodes[id];
        if node.ended {
            return;
        }
        node.ended = news == News::End;
        let told = |when: &When| match (when, news) {
            (_, News::End) | (When::Headers, _) => true,
            (When::Wire(offset), News::Bytes { wire, .. }) => wire >= *offset,
            (When::Decoded(offset), News::Bytes { decoded, .. }) => decoded >= *offset,
            _ => false,
        };
        let (known, later): (Vec<_>, Vec<_>) = std::mem::take(&mut node.at_arrival)
            .into_iter()
            .partition(|(when, _)| told(when));
        node.at_arrival = later;
        let (ended, process) = (node.ended, node.process);
        for (_, child) in known {
            self.met(child, now);
        }
        if ended {
            self.plan(now, process, Timer::Done(id));
        }
    }

    /// The next act that is due by `now`, in the order of their times.
    pub fn act(&mut self, now: Duration) -> Option<Act> {
        while let Some((due, timer)) = self.timers.first().copied() {
            if due > now {
                return None;
            }
            self.timers.pop_first();
            match timer {
                Timer::Done(id) => self.finish(id, due),
                Timer::Discover(id) if self.nodes[id].cached => self.learn(id, News::End, due),
                Timer::Discover(id) => return Some(Act::Request(id)),
                Timer::LoadEvent => {
                    for id in std::mem::take(&mut self.after_load_event) {
                        self.met(id, due);
                    }
                    return Some(Act::LoadEvent);
                }
            }
        }
        None
    }

    /// When `act` has something next, if nothing is learnt before.
    pub fn next(&self) -> Option<Duration> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Its body has come and been processed.
    pub fn done(&self, id: ResourceId) -> bool {
        self.nodes[id].done
    }

    fn plan(&mut self, now: Duration, delay: Duration, timer: Timer) {
        self.timers.insert((now + delay, timer));
    }

    /// One condition less.
    fn met(&mut self, id: ResourceId, now: Duration) {
        let node = &mut self.nodes[id];
        node.waits -= 1;
        if node.waits == 0 {
            let delay = node.delay;
            self.plan(now, delay, Timer::Discover(id));
        }
    }

    fn finish(&mut self, id: ResourceId, now: Duration) {
        let node = &mut self.nodes[id];
        node.done = true;
        let blocked = usize::from(node.blocks_load_event);
        for other in std::mem::take(&mut node.when_done) {
            self.met(other, now);
        }
        self.blocking -= blocked;
        if blocked > 0 && self.blocking == 0 {
            self.plan(now, self.load_event_delay, Timer::LoadEvent);
        }
    }
}

/// An error if some resource would never be requested, because it waits for itself.
pub(crate) fn check(page: &Page) -> Result<()> {
    let mut waits = vec![0; page.resources.len()];
    let mut waiting: Vec<Vec<ResourceId>> = vec![Vec::new(); page.resources.len()];
    for (id, resource) in page.resources.iter().enumerate() {
        let parent = match resource.after {
            Some(After::Resource(after)) => Some(after.resource),
            _ => None,
        };
        for other in resource.also.iter().copied().chain(parent) {
            waiting[other].push(id);
            waits[id] += 1;
        }
    }
    let mut free: Vec<ResourceId> = (0..waits.len()).filter(|id| waits[*id] == 0).collect();
    while let Some(id) = free.pop() {
        for other in std::mem::take(&mut waiting[id]) {
            waits[other] -= 1;
            if waits[other] == 0 {
                free.push(other);
            }
        }
    }
    let stuck = waits.iter().position(|waits| *waits > 0);
    ensure!(
        stuck.is_none(),
        "load.page.resources[{}].after, also: it waits for itself, directly or through others",
        stuck.unwrap_or_default()
    );
    Ok(())
}

//! The page as a graph: what is discovered when, and when the load event fires.
//!
//! It is pure: time is an argument (since navigation start), and it sends nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::input::{After, Page, Resource, ResourceId, When, duration};

/// What has happened to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// The answer's headers are here.
    Headers,
    /// Number of bytes of the body that came so far.
    Bytes { wire: u64, decoded: u64 },
    /// The end of its body, good or bad.
    End,
}

/// What the page does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Request(ResourceId),
    LoadEvent,
}

/// What happens at a timer's time; in this order where times are equal.
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
    /// How many resources hold the load event at the moment.
    holding: usize,
    /// Whether the load event is planned, because nothing holds it any more. Requests that start
    /// later do not delay it.
    loaded: bool,
    load_event_delay: Duration,
    after_load_event: Vec<ResourceId>,
}

#[derive(Default)]
struct Node {
    delay: Duration,
    process: Duration,
    /// Whether the load event waits for this resource, once it is under way.
    blocks_load_event: bool,
    /// Whether the delay is that of a timer, which does not hold the load event.
    timer: bool,
    cached: bool,
    /// Conditions that are not met yet.
    waits: usize,
    /// Whether the load event waits for this resource now.
    holds: bool,
    ended: bool,
    done: bool,
    /// Resources that wait for this resource's headers or bytes, and were not told of them yet.
    at_arrival: Vec<(When, ResourceId)>,
    /// Resources that wait until this one is done.
    when_done: Vec<ResourceId>,
}

impl Graph {
    /// Makes the graph of a page that has passed its check. The document is due at once.
    pub fn new(page: &Page) -> Self {
        let node = |resource: &Resource| Node {
            delay: duration(resource.delay_ms),
            process: duration(resource.process_ms),
            blocks_load_event: resource.load_event,
            timer: resource.timer,
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
            holding: 0,
            loaded: false,
            load_event_delay: duration(page.load_event.delay_ms),
            timers: BTreeSet::from([(nodes[0].delay, Timer::Discover(0))]),
            after_load_event,
            nodes,
        };
        graph.nodes[0].blocks_load_event = true; // Nothing has loaded before the document.
        graph.hold(0);
        graph
    }

    /// Records what happened to a resource at `now`. `act` then returns what follows from it.
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

    /// Returns the next act that is due by `now`, in the order of times.
    pub fn act(&mut self, now: Duration) -> Option<Act> {
        while let Some((due, timer)) = self.timers.first().copied() {
            if due > now {
                return None;
            }
            self.timers.pop_first();
            match timer {
                Timer::Done(id) => self.finish(id, due),
                Timer::Discover(id) => {
                    self.hold(id);
                    if !self.nodes[id].cached {
                        return Some(Act::Request(id));
                    }
                    self.learn(id, News::End, due);
                }
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

    /// Returns the time of the next act, if nothing else is learnt before.
    pub fn next(&self) -> Option<Duration> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Whether the resource's body has come and been processed.
    pub fn done(&self, id: ResourceId) -> bool {
        self.nodes[id].done
    }

    fn plan(&mut self, now: Duration, delay: Duration, timer: Timer) {
        self.timers.insert((now + delay, timer));
    }

    /// Notes that one of the resource's conditions is met. If the resource computes before its
    /// request, it holds the load event from now on.
    fn met(&mut self, id: ResourceId, now: Duration) {
        let node = &mut self.nodes[id];
        node.waits -= 1;
        if node.waits > 0 {
            return;
        }
        let (delay, computes) = (node.delay, !node.timer);
        if computes {
            self.hold(id);
        }
        self.plan(now, delay, Timer::Discover(id));
    }

    fn hold(&mut self, id: ResourceId) {
        let node = &mut self.nodes[id];
        if node.blocks_load_event && !node.holds && !self.loaded {
            node.holds = true;
            self.holding += 1;
        }
    }

    fn finish(&mut self, id: ResourceId, now: Duration) {
        let node = &mut self.nodes[id];
        node.done = true;
        let held = std::mem::take(&mut node.holds);
        for other in std::mem::take(&mut node.when_done) {
            self.met(other, now);
        }
        if held {
            self.holding -= 1;
            if self.holding == 0 {
                self.loaded = true;
                self.plan(now, self.load_event_delay, Timer::LoadEvent);
            }
        }
    }
}

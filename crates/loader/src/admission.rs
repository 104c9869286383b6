//! Decides which requests may go to the sockets: Blink's tight mode and Chromium's resource
//! scheduler.
//!
//! Chromium calls requests below `Medium` delayable. It starts at most ten of them at once, and six
//! per host, unless the host is known to obey priorities (h2, h3), because its server then chooses
//! the order (services/network/resource_scheduler). Over every protocol, Blink holds back requests
//! below `Medium` until the page's head is processed (ResourceLoadScheduler).

use std::collections::BTreeMap;

use crate::input::{Priority, ResourceId, Tight};

const MOST_DELAYABLE: usize = 10;
const MOST_DELAYABLE_PER_HOST: usize = 6;

/// A request before it goes to the sockets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub id: ResourceId,
    pub priority: Priority,
    pub host: String,
}

impl Candidate {
    fn delayable(&self) -> bool {
        self.priority < Priority::Medium
    }
}

pub struct Admission {
    tight: Option<Tight>,
    /// Requests that wait: most urgent first, then in the order of their discovery.
    waiting: Vec<Candidate>,
    /// Delayable requests that are under way: each one's host, and whether that host was known to
    /// obey priorities when the request began.
    running: BTreeMap<ResourceId, (String, bool)>,
}

impl Admission {
    pub fn new(tight: Option<Tight>) -> Self {
        Self {
            tight,
            waiting: Vec::new(),
            running: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, candidate: Candidate) {
        let urgent = |other: &Candidate| other.priority >= candidate.priority;
        let place = self.waiting.partition_point(urgent);
        self.waiting.insert(place, candidate);
    }

    pub fn ended(&mut self, id: ResourceId) {
        self.running.remove(&id);
    }

    /// Returns the next request that may start. `done` says whether a resource is processed,
    /// `prioritises` whether a host is known to obey priorities.
    pub fn next(
        &mut self,
        done: impl Fn(ResourceId) -> bool,
        prioritises: impl Fn(&str) -> bool,
    ) -> Option<Candidate> {
        if let Some(tight) = &self.tight
            && tight.until.iter().all(|id| done(*id))
        {
            self.tight = None;
        }
        let free = |candidate: &Candidate| {
            !candidate.delayable()
                || (self.loose() && self.room(&candidate.host, prioritises(&candidate.host)))
        };
        let place = self.waiting.iter().position(free)?;
        let candidate = self.waiting.remove(place);
        if candidate.delayable() {
            let heeded = prioritises(&candidate.host);
            let entry = (candidate.host.clone(), heeded);
            self.running.insert(candidate.id, entry);
        }
        Some(candidate)
    }

    fn loose(&self) -> bool {
        let limit = self.tight.as_ref().map(|tight| tight.limit);
        limit.is_none_or(|limit| self.running.len() < limit)
    }

    fn room(&self, host: &str, prioritises: bool) -> bool {
        let others = || self.running.values().filter(|(_, heeded)| !heeded);
        let here = others().filter(|(other, _)| other == host).count();
        prioritises || (others().count() < MOST_DELAYABLE && here < MOST_DELAYABLE_PER_HOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(id: ResourceId, host: &str) -> Candidate {
        Candidate {
            id,
            priority: Priority::Lowest,
            host: host.to_owned(),
        }
    }

    fn admitted(admission: &mut Admission, prioritises: bool) -> Vec<ResourceId> {
        let next = || admission.next(|_| false, |_| prioritises).map(|c| c.id);
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn six_images_of_a_host_and_ten_in_all_load_at_once_where_no_host_obeys_priorities() {
        let mut admission = Admission::new(None);
        (0..8).for_each(|id| admission.add(image(id, "a.test")));
        (8..16).for_each(|id| admission.add(image(id, "b.test")));
        assert_eq!(
            admitted(&mut admission, false),
            [0, 1, 2, 3, 4, 5, 8, 9, 10, 11]
        );
        admission.ended(3);
        assert_eq!(admitted(&mut admission, false), [6]);
    }

    #[test]
    fn a_host_that_heeds_priorities_gets_everything_at_once() {
        let mut admission = Admission::new(None);
        (0..30).for_each(|id| admission.add(image(id, "a.test")));
        assert_eq!(admitted(&mut admission, true).len(), 30);
    }

    #[test]
    fn urgent_requests_overtake_and_are_never_held_back() {
        let mut admission = Admission::new(None);
        (0..20).for_each(|id| admission.add(image(id, "a.test")));
        admission.add(Candidate {
            id: 20,
            priority: Priority::Medium,
            host: "a.test".into(),
        });
        assert_eq!(admitted(&mut admission, false), [20, 0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn tight_mode_ends_with_the_head() {
        let mut admission = Admission::new(Some(Tight {
            until: vec![7],
            limit: 2,
        }));
        (0..4).for_each(|id| admission.add(image(id, "a.test")));
        assert_eq!(admitted(&mut admission, true), [0, 1]);
        let next = || admission.next(|id| id == 7, |_| true).map(|c| c.id);
        assert_eq!(std::iter::from_fn(next).collect::<Vec<_>>(), [2, 3]);
    }
}

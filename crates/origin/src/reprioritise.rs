//! Handles the client's changes of priorities: PRIORITY_UPDATE (RFC 9218 section 7), over h2 and
//! h3.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::lock::unpoisoned;
use crate::priority::Priority;

/// The requests of one connection that are open, and those that an update named before they came.
/// Clones share them.
#[derive(Clone)]
pub(crate) struct Requests(Arc<Mutex<Table>>);

struct Table {
    /// The client's last priority, by number of the request.
    said: BTreeMap<u64, Said>,
    /// Number of the first request that has not begun.
    begun: u64,
    most: usize,
}

#[derive(Clone, Copy)]
struct Said {
    priority: Priority,
    /// Whether the request has arrived.
    open: bool,
}

/// More requests were named than may be open (RFC 9218 section 7.1).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Requests {
    /// Makes the requests of a connection on which `most` may be open at once.
    pub fn new(most: u32) -> Self {
        Self(Arc::new(Mutex::new(Table {
            said: BTreeMap::new(),
            begun: 0,
            most: most as usize,
        })))
    }

    /// The connection's `nth` request came, and asks for this priority. An update may have come before.
    pub fn begin(&self, nth: u64, asked: Priority) -> Open {
        let mut table = unpoisoned(&self.0);
        table.begun = table.begun.max(nth + 1);
        let said = table.said.entry(nth).or_insert(Said {
            priority: asked,
            open: true,
        });
        said.open = true;
        Open {
            nth,
            requests: self.clone(),
        }
    }

    /// Takes the client's new priority; parts that it does not state get their defaults. Returns
    /// whether the request is open. A request that is over ignores the priority, and a later
    /// request gets it when it begins.
    pub fn update(&self, nth: u64, priority: Priority) -> Result<bool, TooMany> {
        let table = &mut *unpoisoned(&self.0);
        if let Some(said) = table.said.get_mut(&nth) {
            said.priority = priority;
            return Ok(said.open);
        }
        if nth < table.begun {
            return Ok(false);
        }
        if table.said.len() >= table.most {
            // Some of those may have been given up on the way.
            let begun = table.begun;
            table
                .said
                .retain(|other, said| said.open || *other >= begun);
        }
        if table.said.len() >= table.most {
            return Err(TooMany);
        }
        let open = false;
        table.said.insert(nth, Said { priority, open });
        Ok(open)
    }
}

/// A request that is not over. To drop this value ends the request.
pub(crate) struct Open {
    pub nth: u64,
    requests: Requests,
}

impl Open {
    /// Returns the priority that the client stated last.
    pub fn asked(&self) -> Priority {
        let table = unpoisoned(&self.requests.0);
        let said = table.said.get(&self.nth);
        said.map(|said| said.priority).unwrap_or_default()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        unpoisoned(&self.requests.0).said.remove(&self.nth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urgency(urgency: u8) -> Priority {
        Priority::of_value(format!("u={urgency}").as_bytes())
    }

    #[test]
    fn the_last_word_counts() {
        let requests = Requests::new(10);
        let open = requests.begin(0, urgency(5));
        assert_eq!(open.asked(), urgency(5));
        assert_eq!(requests.update(0, urgency(1)), Ok(true));
        assert_eq!(open.asked(), urgency(1));
        drop(open);
        assert_eq!(requests.update(0, urgency(2)), Ok(false), "it is over");
    }

    #[test]
    fn an_update_for_a_request_still_to_come_is_kept() {
        let requests = Requests::new(10);
        assert_eq!(requests.update(7, urgency(0)), Ok(false));
        assert_eq!(requests.begin(7, urgency(5)).asked(), urgency(0));
        assert_eq!(requests.begin(8, urgency(5)).asked(), urgency(5));
    }

    #[test]
    fn no_more_are_kept_than_may_be_open() {
        let requests = Requests::new(3);
        let _open = requests.begin(0, urgency(3));
        assert_eq!(requests.update(5, urgency(1)), Ok(false));
        assert_eq!(requests.update(6, urgency(1)), Ok(false));
        assert_eq!(requests.update(6, urgency(2)), Ok(false), "named already");
        assert_eq!(requests.update(7, urgency(1)), Err(TooMany));
        for over in 1..5 {
            assert_eq!(requests.update(over, urgency(1)), Err(TooMany));
        }
        // 5 and 6 never came, and never will.
        let _later = requests.begin(7, urgency(3));
        assert_eq!(requests.update(8, urgency(1)), Ok(false));
    }
}

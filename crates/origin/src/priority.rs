//! Request priorities (RFC 9218): the `priority` header, and the order it gives answers.
//!
//! Lower urgency first; within an urgency non-incremental answers one after the other in the order
//! of their requests, then incremental ones side by side. h3 hands that order to quinn's packet
//! scheduler, h2 (whose library has no scheduler) takes `Turns`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use http::HeaderMap;

use crate::log::unpoisoned;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Priority {
    /// 0 (most urgent) to 7.
    urgency: u8,
    incremental: bool,
}

impl Default for Priority {
    /// RFC 9218 section 4.
    fn default() -> Self {
        Self {
            urgency: 3,
            incremental: false,
        }
    }
}

/// A place in a connection's order: smaller goes first, equals share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u32);

impl Rank {
    const LAST: Self = Self(8 << 24);

    /// quinn sends higher numbers first; its control streams have 0 and stay ahead of all answers.
    pub fn quinn(self) -> i32 {
        -1 - self.0 as i32
    }
}

impl Priority {
    /// What cannot be read counts as absent (RFC 9218 section 4).
    pub fn of(headers: &HeaderMap) -> Self {
        let mut priority = Self::default();
        for value in headers.get_all("priority") {
            for member in value.to_str().unwrap_or_default().split(',') {
                let member = member.split(';').next().unwrap_or(member).trim();
                match member.split_once('=').unwrap_or((member, "?1")) {
                    ("u", urgency) => {
                        let valid = urgency.parse().ok().filter(|urgency| *urgency <= 7);
                        priority.urgency = valid.unwrap_or(priority.urgency);
                    }
                    ("i", "?1") => priority.incremental = true,
                    ("i", "?0") => priority.incremental = false,
                    _ => {}
                }
            }
        }
        priority
    }

    /// The rank of the connection's `nth` request.
    pub fn rank(self, nth: u64) -> Rank {
        let within = if self.incremental {
            0xff_ffff
        } else {
            nth.min(0xff_fffe) as u32
        };
        Rank(u32::from(self.urgency) << 24 | within)
    }
}

/// The answers of one connection that still have bytes to give.
#[derive(Default)]
pub(crate) struct Turns(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    open: BTreeMap<(Rank, u64), Option<Waker>>,
    opened: u64,
}

impl Queue {
    fn first(&self) -> Option<Rank> {
        self.open.keys().next().map(|(rank, _)| *rank)
    }

    fn wake_first(&mut self) {
        let first = self.first();
        let best = self
            .open
            .iter_mut()
            .take_while(|((rank, _), _)| Some(*rank) == first);
        best.filter_map(|(_, waker)| waker.take())
            .for_each(Waker::wake);
    }
}

/// One answer's place among its connection's answers; gives way when dropped.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    place: (Rank, u64),
}

impl Turn {
    pub fn new(turns: &Arc<Turns>, priority: Priority) -> Self {
        let mut queue = unpoisoned(&turns.0);
        queue.opened += 1;
        let place = (priority.rank(queue.opened), queue.opened);
        queue.open.insert(place, None);
        Self {
            turns: turns.clone(),
            place,
        }
    }

    /// Ready while no answer of a better rank has bytes left.
    pub fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let mut queue = unpoisoned(&self.turns.0);
        if queue.first() == Some(self.place.0) {
            return Poll::Ready(());
        }
        queue.open.insert(self.place, Some(cx.waker().clone()));
        Poll::Pending
    }

    /// Goes on behind everybody else.
    pub fn yield_to_all(&mut self) {
        let mut queue = unpoisoned(&self.turns.0);
        queue.open.remove(&self.place);
        self.place.0 = Rank::LAST;
        queue.open.insert(self.place, None);
        queue.wake_first();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut queue = unpoisoned(&self.turns.0);
        queue.open.remove(&self.place);
        queue.wake_first();
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn parse(value: &str) -> (u8, bool) {
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static("priority"),
            value.parse().unwrap(),
        )]);
        let Priority {
            urgency,
            incremental,
        } = Priority::of(&headers);
        (urgency, incremental)
    }

    #[test]
    fn the_header_is_a_structured_dictionary() {
        assert_eq!(parse("u=0, i"), (0, true));
        assert_eq!(parse("i;x=1,u=5;y"), (5, true));
        assert_eq!(parse("u=1,u=2,i=?0"), (2, false));
        assert_eq!(parse("u=9, i=2, z"), (3, false));
    }

    #[test]
    fn urgent_before_ordered_before_incremental() {
        let rank = |urgency, incremental, nth| {
            Priority {
                urgency,
                incremental,
            }
            .rank(nth)
        };
        assert!(rank(0, true, 9) < rank(1, false, 1));
        assert!(rank(1, false, 1) < rank(1, false, 2));
        assert!(rank(1, false, u64::MAX) < rank(1, true, 1));
        assert_eq!(rank(1, true, 1), rank(1, true, 2));
        assert!(rank(7, true, 1) < Rank::LAST);
        assert!(rank(0, false, 1).quinn() > rank(0, false, 2).quinn());
        assert!(rank(0, false, 1).quinn() < 0);
    }

    #[test]
    fn a_turn_comes_when_better_ones_are_gone_or_give_way() {
        let turns = Arc::new(Turns::default());
        let cx = Context::from_waker(Waker::noop());
        let low = Turn::new(
            &turns,
            Priority {
                urgency: 5,
                incremental: false,
            },
        );
        assert!(low.poll(&cx).is_ready());
        let mut high = Turn::new(
            &turns,
            Priority {
                urgency: 1,
                incremental: true,
            },
        );
        let peer = Turn::new(
            &turns,
            Priority {
                urgency: 1,
                incremental: true,
            },
        );
        assert!(
            high.poll(&cx).is_ready() && peer.poll(&cx).is_ready() && low.poll(&cx).is_pending()
        );
        high.yield_to_all();
        drop(peer);
        assert!(low.poll(&cx).is_ready() && high.poll(&cx).is_pending());
        drop(low);
        assert!(high.poll(&cx).is_ready());
    }
}

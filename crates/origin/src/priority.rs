//! Request priorities (RFC 9218): the `priority` header, and the order it gives answers.
//!
//! Answers with the lowest urgency number come first. Within an urgency, non-incremental answers
//! follow one after the other, in the order of their requests, and then incremental ones share the
//! connection. h3 hands that order to quinn's packet scheduler (`quic::order`); for h2, whose
//! library has none, it is kept in a `Queue`. Both change it when the client sends a
//! PRIORITY_UPDATE frame (`reprioritise`).

use std::collections::BTreeMap;
use std::ops::Bound;

use http::HeaderMap;

/// The priority that one side states; None for parts that it does not state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Priority {
    /// 0 (most urgent) to 7.
    urgency: Option<u8>,
    incremental: Option<bool>,
}

/// The urgency of a request that states none (RFC 9218 section 4.1).
const DEFAULT_URGENCY: u8 = 3;

/// A place in a connection's order of sending: smaller goes first, equal places share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u32);

impl Rank {
    /// The rank of all answers on a connection that obeys no priorities.
    pub const SHARED: Self = Self(0);

    /// Returns quinn's number for this rank. quinn sends higher numbers first; its control streams
    /// have 0 and stay ahead of all answers.
    pub fn quinn(self) -> i32 {
        -1 - self.0.cast_signed()
    }
}

impl Priority {
    /// Reads the priority from these headers. Unreadable parts count as absent (RFC 9218 section
    /// 4).
    pub fn of(headers: &HeaderMap) -> Self {
        let mut priority = Self::default();
        for value in headers.get_all("priority") {
            priority.read(value.as_bytes());
        }
        priority
    }

    /// Reads the priority from a field's value.
    pub fn of_value(value: &[u8]) -> Self {
        let mut priority = Self::default();
        priority.read(value);
        priority
    }

    fn read(&mut self, value: &[u8]) {
        for member in str::from_utf8(value).unwrap_or_default().split(',') {
            let member = member.split(';').next().unwrap_or(member).trim();
            match member.split_once('=').unwrap_or((member, "?1")) {
                ("u", urgency) => {
                    let valid = urgency.parse().ok().filter(|urgency| *urgency <= 7);
                    self.urgency = valid.or(self.urgency);
                }
                ("i", "?1") => self.incremental = Some(true),
                ("i", "?0") => self.incremental = Some(false),
                _ => {}
            }
        }
    }

    /// Returns the priority after the answer's own parts have replaced the client's (RFC 9218
    /// section 8).
    pub fn merged(self, answer: Self) -> Self {
        Self {
            urgency: answer.urgency.or(self.urgency),
            incremental: answer.incremental.or(self.incremental),
        }
    }

    /// Returns the rank of the connection's `nth` request.
    pub fn rank(self, nth: u64) -> Rank {
        let within = if self.incremental.unwrap_or(false) {
            0xff_ffff
        } else {
            nth.min(0xff_fffe) as u32
        };
        Rank(u32::from(self.urgency.unwrap_or(DEFAULT_URGENCY)) << 24 | within)
    }
}

/// The answers of one connection that have bytes to send, best rank first. Answers of equal rank
/// take turns.
pub(crate) struct Queue<T> {
    open: BTreeMap<(Rank, u64), T>,
    turns: u64,
}

/// What an answer gave when it was asked for its next frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Gave {
    /// Nothing: its client takes no more of it for now.
    Nothing,
    /// A frame; there is more.
    Frame,
    /// The last frame, or the end.
    Last,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            open: BTreeMap::new(),
            turns: 0,
        }
    }
}

impl<T> Queue<T> {
    pub fn push(&mut self, rank: Rank, answer: T) {
        self.turns += 1;
        self.open.insert((rank, self.turns), answer);
    }

    /// Asks the answers for one frame, best first, until one gives something; returns its rank. With
    /// `only`, asks those of that rank alone. `give` learns whether the answer shares its rank with
    /// others, and so its time.
    pub fn next(
        &mut self,
        only: Option<Rank>,
        mut give: impl FnMut(&mut T, bool) -> Gave,
    ) -> Option<Rank> {
        let (mut from, to) = match only {
            Some(rank) => (
                Bound::Included((rank, 0)),
                Bound::Included((rank, u64::MAX)),
            ),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        loop {
            let place = *self.open.range((from, to)).next()?.0;
            let shared = self.shares(place);
            let answer = self.open.get_mut(&place).expect("it stands there");
            match give(answer, shared) {
                Gave::Nothing => from = Bound::Excluded(place),
                Gave::Last => {
                    self.open.remove(&place);
                    return Some(place.0);
                }
                Gave::Frame => {
                    let answer = self.open.remove(&place).expect("it stands there");
                    self.push(place.0, answer);
                    return Some(place.0);
                }
            }
        }
    }

    /// Gives the answer that fits, if it is here, the rank that it has now.
    pub fn move_to(&mut self, rank: impl Fn(&T) -> Rank, fits: impl Fn(&T) -> bool) {
        let mut places = self.open.iter();
        let found = places.find(|(_, answer)| fits(answer));
        let moved = found.map(|(place, answer)| (*place, rank(answer)));
        if let Some((place, rank)) = moved.filter(|(place, rank)| place.0 != *rank)
            && let Some(answer) = self.open.remove(&place)
        {
            self.push(rank, answer);
        }
    }

    fn shares(&self, place: (Rank, u64)) -> bool {
        let equals = self.open.range((place.0, 0)..=(place.0, u64::MAX));
        equals.take(2).count() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(value: &str) -> Priority {
        let name = http::HeaderName::from_static("priority");
        let headers = HeaderMap::from_iter([(name, value.parse().unwrap())]);
        let priority = Priority::of(&headers);
        assert_eq!(priority, Priority::of_value(value.as_bytes()));
        priority
    }

    fn priority(urgency: Option<u8>, incremental: Option<bool>) -> Priority {
        Priority {
            urgency,
            incremental,
        }
    }

    #[test]
    fn the_header_is_a_structured_dictionary() {
        assert_eq!(parse("u=0, i"), priority(Some(0), Some(true)));
        assert_eq!(parse("i;x=1,u=5;y"), priority(Some(5), Some(true)));
        assert_eq!(parse("u=1,u=2,i=?0"), priority(Some(2), Some(false)));
        assert_eq!(parse("u=9, i=2, z"), priority(None, None));
        assert_eq!(Priority::of_value(b"u=1, i\xff"), priority(None, None));
    }

    #[test]
    fn what_an_answer_says_counts_before_what_its_client_says() {
        let merged = |client, answer| parse(client).merged(parse(answer));
        assert_eq!(merged("u=5, i", "u=1"), parse("u=1, i"));
        assert_eq!(merged("u=5, i", "i=?0"), parse("u=5, i=?0"));
        assert_eq!(merged("u=5", "nonsense"), parse("u=5"));
        assert_eq!(parse("").rank(7), parse("u=3, i=?0").rank(7));
    }

    #[test]
    fn urgent_before_ordered_before_incremental() {
        let rank = |urgency, incremental, nth| priority(Some(urgency), Some(incremental)).rank(nth);
        assert!(rank(0, true, 9) < rank(1, false, 1));
        assert!(rank(1, false, 1) < rank(1, false, 2));
        assert!(rank(1, false, u64::MAX) < rank(1, true, 1));
        assert_eq!(rank(1, true, 1), rank(1, true, 2));
        assert!(rank(0, false, 1).quinn() > rank(0, false, 2).quinn());
        assert!(rank(0, false, 1).quinn() < 0);
    }

    /// The names of the answers, in the order in which their frames leave. Each answer comes with
    /// its rank and its number of frames.
    fn order(answers: &[(&'static str, Rank, u32)]) -> Vec<&'static str> {
        let mut queue = Queue::default();
        for &(name, rank, frames) in answers {
            queue.push(rank, (name, frames));
        }
        let mut sent = Vec::new();
        let mut give = |(name, frames): &mut (&'static str, u32), _: bool| {
            sent.push(*name);
            *frames -= 1;
            match frames {
                0 => Gave::Last,
                _ => Gave::Frame,
            }
        };
        while queue.next(None, &mut give).is_some() {}
        sent
    }

    #[test]
    fn better_ranks_go_first_and_equals_take_turns() {
        let sent = order(&[
            ("low", Rank(9), 2),
            ("a", Rank(5), 3),
            ("b", Rank(5), 1),
            ("c", Rank(5), 2),
            ("high", Rank(1), 2),
        ]);
        let expected = ["high", "high", "a", "b", "c", "a", "c", "a", "low", "low"];
        assert_eq!(sent, expected);
    }

    #[test]
    fn an_answer_that_cannot_send_holds_up_none() {
        let mut queue = Queue::default();
        for (rank, name) in [(1, "paused"), (5, "other"), (5, "third")] {
            queue.push(Rank(rank), name);
        }
        let mut asked = Vec::new();
        let mut give = |name: &mut &'static str, shared| {
            asked.push((*name, shared));
            match *name {
                "paused" => Gave::Nothing,
                _ => Gave::Last,
            }
        };
        assert_eq!(queue.next(None, &mut give), Some(Rank(5)));
        assert_eq!(queue.next(None, &mut give), Some(Rank(5)));
        assert_eq!(queue.next(None, &mut give), None);
        let (paused, other, third) = (("paused", false), ("other", true), ("third", false));
        assert_eq!(asked, [paused, other, paused, third, paused]);
    }

    #[test]
    fn an_answer_that_waits_can_be_moved() {
        let mut queue = Queue::default();
        for (rank, name) in [(1, "first"), (5, "raised"), (5, "stays")] {
            queue.push(Rank(rank), name);
        }
        queue.move_to(|_| Rank(0), |name| *name == "raised");
        queue.move_to(|_| Rank(9), |name| *name == "first");
        queue.move_to(|_| Rank(2), |name| *name == "gone");
        let mut sent = Vec::new();
        let mut give = |name: &mut &'static str, _| {
            sent.push(*name);
            Gave::Last
        };
        while queue.next(None, &mut give).is_some() {}
        assert_eq!(sent, ["raised", "stays", "first"]);
    }

    #[test]
    fn answers_of_one_rank_alone_can_be_asked() {
        let mut queue = Queue::default();
        for (rank, name) in [(1, "better"), (5, "asked"), (9, "worse")] {
            queue.push(Rank(rank), name);
        }
        let mut give = |name: &mut &'static str, _| {
            assert_eq!(*name, "asked");
            Gave::Last
        };
        assert_eq!(queue.next(Some(Rank(5)), &mut give), Some(Rank(5)));
        assert_eq!(queue.next(Some(Rank(5)), &mut give), None);
    }
}

//! The order of a connection's answers, as the numbers by which quinn sends them.
//!
//! quinn sorts a stream when its data begins to wait, and again after each of its packets. So the
//! rank of a waiting answer cannot be raised, but others can be moved behind it, after one more
//! packet each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dragstrip_http3::Sender;

use crate::lock::unpoisoned;
use crate::priority::{Priority, Rank};
use crate::reprioritise::{Open, Requests, TooMany};

/// The order of answers on a connection that obeys priorities. Clones share it.
#[derive(Clone)]
pub(crate) struct Order {
    requests: Requests,
    answers: Arc<Mutex<Answers>>,
}

#[derive(Default)]
struct Answers {
    numbers: Numbers,
    open: BTreeMap<u64, Answer>,
}

struct Answer {
    sender: Sender,
    /// The priority that the answer itself states.
    own: Priority,
}

impl Order {
    /// Makes the order of a connection on which `most` requests may be open at once.
    pub fn new(most: u32) -> Self {
        Self {
            requests: Requests::new(most),
            answers: Arc::default(),
        }
    }

    /// The answer to the `nth` request is known, and takes its place.
    pub fn begin(&self, nth: u64, asked: Priority, own: Priority, sender: Sender) -> Place {
        let open = self.requests.begin(nth, asked);
        let rank = open.asked().merged(own).rank(nth);
        let answers = &mut *unpoisoned(&self.answers);
        answers.open.insert(nth, Answer { sender, own });
        let changed = answers.numbers.insert(nth, rank);
        answers.apply(changed);
        Place {
            open,
            order: self.clone(),
        }
    }

    /// Handles the client's new priority of the `nth` request.
    pub fn update(&self, nth: u64, asked: Priority) -> Result<(), TooMany> {
        if self.requests.update(nth, asked)? {
            let answers = &mut *unpoisoned(&self.answers);
            if let Some(answer) = answers.open.get(&nth) {
                let rank = asked.merged(answer.own).rank(nth);
                let changed = answers.numbers.move_to(nth, rank);
                answers.apply(changed);
            }
        }
        Ok(())
    }
}

impl Answers {
    fn apply(&self, changed: Vec<(u64, i32)>) {
        for (nth, number) in changed {
            if let Some(answer) = self.open.get(&nth) {
                answer.sender.set_priority(number);
            }
        }
    }
}

/// An answer's place in the order, which it keeps until this is dropped.
pub(crate) struct Place {
    open: Open,
    order: Order,
}

impl Place {
    /// Waits until the client has the whole answer. Until then quinn has parts of it that may have
    /// to move.
    pub async fn left(self) {
        let sender = {
            let answers = unpoisoned(&self.order.answers);
            answers
                .open
                .get(&self.open.nth)
                .map(|answer| answer.sender.clone())
        };
        if let Some(sender) = sender {
            sender.done().await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let answers = &mut *unpoisoned(&self.order.answers);
        answers.numbers.remove(self.open.nth);
        answers.open.remove(&self.open.nth);
    }
}

/// Numbers for quinn: better ranks have higher numbers, equal ranks the same.
#[derive(Default)]
struct Numbers {
    /// The numbers of open answers, by rank and number of the request.
    open: BTreeMap<(Rank, u64), i32>,
    /// Whether some answer has another number than its rank gives.
    moved: bool,
}

impl Numbers {
    /// Adds a request; returns the requests whose numbers change.
    fn insert(&mut self, nth: u64, rank: Rank) -> Vec<(u64, i32)> {
        self.open.insert((rank, nth), rank.quinn());
        if !self.moved {
            return vec![(nth, rank.quinn())];
        }
        let mut changed = self.settle();
        if !changed.iter().any(|(other, _)| *other == nth) {
            changed.push((nth, rank.quinn()));
        }
        changed
    }

    /// Moves a request to a rank. A lower number by which it waits already stays.
    fn move_to(&mut self, nth: u64, rank: Rank) -> Vec<(u64, i32)> {
        let Some(before) = self.remove(nth) else {
            return Vec::new();
        };
        let number = rank.quinn().min(before);
        self.moved |= number != rank.quinn();
        self.open.insert((rank, nth), number);
        let mut changed = self.settle();
        changed.retain(|(other, _)| *other != nth);
        changed.push((nth, self.open[&(rank, nth)]));
        changed
    }

    fn remove(&mut self, nth: u64) -> Option<i32> {
        let place = self.open.keys().find(|(_, other)| *other == nth).copied();
        let number = self.open.remove(&place?);
        self.moved &= !self.open.is_empty();
        number
    }

    /// Lowers what stands in the way of a better rank.
    fn settle(&mut self) -> Vec<(u64, i32)> {
        let mut shared: BTreeMap<Rank, i32> = BTreeMap::new();
        for ((rank, _), number) in &self.open {
            let lowest = shared.entry(*rank).or_insert(*number);
            *lowest = (*number).min(*lowest);
        }
        let mut below = i32::MAX;
        for number in shared.values_mut() {
            *number = (*number).min(below - 1);
            below = *number;
        }
        let mut changed = Vec::new();
        for ((rank, nth), number) in &mut self.open {
            if *number != shared[rank] {
                *number = shared[rank];
                changed.push((*nth, *number));
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rank(value: &str, nth: u64) -> Rank {
        Priority::of_value(value.as_bytes()).rank(nth)
    }

    /// The numbers that quinn has now.
    #[derive(Default)]
    struct Sent(BTreeMap<u64, i32>);

    impl Sent {
        fn take(&mut self, changed: Vec<(u64, i32)>) {
            self.0.extend(changed);
        }
    }

    #[test]
    fn nothing_else_changes_where_no_answer_moves_up() {
        let mut numbers = Numbers::default();
        for (nth, value) in [(0, "u=0"), (1, "u=3, i"), (2, "u=3, i"), (3, "u=1")] {
            let own = rank(value, nth);
            assert_eq!(numbers.insert(nth, own), [(nth, own.quinn())]);
        }
        let down = rank("u=7", 0);
        assert_eq!(numbers.move_to(0, down), [(0, down.quinn())]);
        assert_eq!(numbers.move_to(9, down), []);
    }

    #[test]
    fn an_answer_that_moves_up_stays_and_others_make_way() {
        let (mut numbers, mut quinn) = (Numbers::default(), Sent::default());
        for nth in 0..4 {
            quinn.take(numbers.insert(nth, rank("u=3", nth)));
        }
        let before = quinn.0[&3];
        quinn.take(numbers.move_to(3, rank("u=0", 3)));
        assert_eq!(quinn.0[&3], before);
        assert!(quinn.0[&3] > quinn.0[&0] && quinn.0[&0] > quinn.0[&1]);
        quinn.take(numbers.insert(4, rank("u=1", 4)));
        assert!(quinn.0[&3] > quinn.0[&4] && quinn.0[&4] > quinn.0[&0]);
        for nth in 0..5 {
            numbers.remove(nth);
        }
        assert!(
            !numbers.moved,
            "new answers have the numbers of their ranks again"
        );
    }

    proptest! {
        #[test]
        fn numbers_follow_ranks_and_a_rise_raises_nothing_that_waits(
            steps in prop::collection::vec((0_u64..12, 0_u8..8, any::<bool>()), 1..60),
        ) {
            let (mut numbers, mut quinn) = (Numbers::default(), Sent::default());
            let mut ranks = BTreeMap::new();
            for (nth, urgency, incremental) in steps {
                let value = format!("u={urgency}{}", if incremental { ", i" } else { "" });
                let rank = rank(&value, nth);
                let before = quinn.0.clone();
                if ranks.insert(nth, rank).is_some() {
                    quinn.take(numbers.move_to(nth, rank));
                    for (nth, number) in &quinn.0 {
                        prop_assert!(*number <= before[nth]);
                    }
                } else {
                    quinn.take(numbers.insert(nth, rank));
                }
                for (a, b) in ranks.keys().flat_map(|a| ranks.keys().map(move |b| (a, b))) {
                    let order = ranks[a].cmp(&ranks[b]).reverse();
                    prop_assert_eq!(quinn.0[a].cmp(&quinn.0[b]), order);
                }
            }
        }
    }
}

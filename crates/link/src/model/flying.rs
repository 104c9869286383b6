//! Packets on their way, in order of the time they arrive at the other end.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use super::Packet;

/// Returns packets by their `at_ns`, then by the order of insertion. It is as cheap as a queue
/// while they are inserted in that order.
#[derive(Default)]
pub struct Flying {
    in_order: VecDeque<Due>,
    overtaking: BinaryHeap<Reverse<Due>>,
    put: u64,
}

struct Due {
    place: u64,
    packet: Packet,
}

impl Due {
    fn key(&self) -> (u64, u64) {
        (self.packet.at_ns, self.place)
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Flying {
    pub fn put(&mut self, packet: Packet) {
        let place = self.put;
        self.put += 1;
        let due = Due { place, packet };
        match self.in_order.back() {
            Some(last) if last.packet.at_ns > packet.at_ns => self.overtaking.push(Reverse(due)),
            _ => self.in_order.push_back(due),
        }
    }

    pub fn next_ns(&self) -> Option<u64> {
        let first = self.in_order.front().map(Due::key);
        let other = self.overtaking.peek().map(|Reverse(due)| due.key());
        let next = [first, other].into_iter().flatten().min();
        next.map(|(at_ns, _)| at_ns)
    }

    pub fn pop(&mut self) -> Option<Packet> {
        let overtakes = match (self.overtaking.peek(), self.in_order.front()) {
            (Some(Reverse(one)), Some(other)) => one < other,
            (one, _) => one.is_some(),
        };
        let due = if overtakes {
            self.overtaking.pop().map(|Reverse(due)| due)
        } else {
            self.in_order.pop_front()
        };
        due.map(|due| due.packet)
    }
}

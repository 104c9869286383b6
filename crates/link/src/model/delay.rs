//! Propagation delay.

use std::collections::VecDeque;

use super::{Packet, Stage};

/// Holds every packet for the same time.
pub struct Delay {
    delay_ns: u64,
    flying: VecDeque<Packet>,
}

impl Delay {
    pub fn new(delay_ns: u64) -> Self {
        let flying = VecDeque::new();
        Self { delay_ns, flying }
    }
}

impl Stage for Delay {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        packet.at_ns += self.delay_ns;
        self.flying.push_back(packet);
        None
    }

    fn next_ns(&self) -> Option<u64> {
        self.flying.front().map(|packet| packet.at_ns)
    }

    fn release(&mut self) -> Option<Packet> {
        self.flying.pop_front()
    }

    fn least_ns(&self) -> u64 {
        self.delay_ns
    }
}

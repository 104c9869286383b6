//! The path between the link and single hosts of the origin: additional delay and loss.

use std::collections::HashMap;
use std::net::IpAddr;

use super::draw::{Draws, Effect};
use super::flying::Flying;
use super::{Counts, DropCause, HostCount, Packet, Stage};
use crate::header::key;

/// One host's own stretch of the path, in this direction.
#[derive(Clone, Debug)]
pub struct HostPath {
    pub address: IpAddr,
    pub delay_ns: u64,
    pub loss: f64,
}

/// Delays and loses the packets of single hosts, which are identified by the origin's address.
/// Packets of one host keep their order.
pub struct Hosts {
    paths: Vec<(HostPath, HostCount)>,
    places: HashMap<u64, usize>,
    /// Whether the origin sends the packets (down) or receives them (up).
    origin_sends: bool,
    draws: Draws,
    flying: Flying,
}

impl Hosts {
    pub fn new(paths: Vec<HostPath>, origin_sends: bool, seed: u64, direction: u64) -> Self {
        let count = |path: &HostPath| HostCount {
            address: path.address,
            trials: 0,
            lost: 0,
        };
        let places = paths.iter().enumerate();
        Self {
            places: places.map(|(at, path)| (key(path.address), at)).collect(),
            paths: paths
                .into_iter()
                .map(|path| (path.clone(), count(&path)))
                .collect(),
            origin_sends,
            draws: Draws::new(seed, direction, Effect::HostLoss),
            flying: Flying::default(),
        }
    }
}

impl Stage for Hosts {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        let origin = if self.origin_sends {
            packet.header.source
        } else {
            packet.header.destination
        };
        let Some(&place) = self.places.get(&origin) else {
            return Some(packet);
        };
        let (path, count) = &mut self.paths[place];
        if path.loss > 0.0 {
            count.trials += 1;
            if self.draws.of(&packet) < path.loss {
                count.lost += 1;
                packet.dropped = Some(DropCause::HostLoss);
                return Some(packet);
            }
        }
        packet.at_ns += path.delay_ns;
        self.flying.put(packet);
        None
    }

    fn next_ns(&self) -> Option<u64> {
        self.flying.next_ns()
    }

    fn release(&mut self) -> Option<Packet> {
        self.flying.pop()
    }

    fn count(&self, counts: &mut Counts) {
        let counted = self.paths.iter().map(|(_, count)| count.clone());
        counts.host_loss.extend(counted);
    }
}

//! The path between the link and single hosts of the origin: additional delay and loss.

use std::collections::HashMap;
use std::net::IpAddr;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Context, DropCause, Effect, End, Stage};
use crate::check::{check_ms, check_share};
use crate::header::key;
use crate::model::draw::{Draws, Stream};
use crate::model::flying::Flying;
use crate::model::{Counts, HostCount, Packet};
use crate::units::ns;

/// Random loss on the way of a single host.
pub const LOST: DropCause = DropCause::new("host");

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    #[serde(default)]
    pub hosts: Vec<HostPath>,
}

/// One host's own stretch of the path, in this direction.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HostPath {
    pub address: IpAddr,
    pub delay_ms: f64,
    pub loss: f64,
}

impl Effect for Asked {
    const END: End = End::Origin;
    const CAUSES: &[DropCause] = &[LOST];

    fn understood(&self, side: &str) -> Result<Self> {
        for host in &self.hosts {
            check_ms(side, "hosts.delay_ms", host.delay_ms)?;
            check_share(side, "hosts.loss", host.loss)?;
        }
        Ok(self.clone())
    }

    fn stage(&self, context: &Context) -> Option<Box<dyn Stage>> {
        (!self.hosts.is_empty()).then(|| Box::new(Hosts::new(&self.hosts, context)) as _)
    }
}

/// Delays and loses the packets of single hosts, which are identified by the origin's address.
/// Packets of one host keep their order.
struct Hosts {
    paths: Vec<(HostPath, HostCount)>,
    places: HashMap<u64, usize>,
    /// Whether the origin sends the packets (down) or receives them (up).
    origin_sends: bool,
    draws: Draws,
    flying: Flying,
}

impl Hosts {
    fn new(paths: &[HostPath], context: &Context) -> Self {
        let count = |path: &HostPath| HostCount {
            address: path.address,
            trials: 0,
            lost: 0,
        };
        let places = paths.iter().enumerate();
        Self {
            places: places.map(|(at, path)| (key(path.address), at)).collect(),
            paths: paths
                .iter()
                .map(|path| (path.clone(), count(path)))
                .collect(),
            origin_sends: context.origin_sends,
            draws: Draws::new(context.seed, context.direction, Stream::HostLoss),
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
                packet.dropped = Some(LOST);
                return Some(packet);
            }
        }
        packet.at_ns += ns(path.delay_ms);
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

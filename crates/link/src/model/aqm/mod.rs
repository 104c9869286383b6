//! Active queue management. One file declares one kind: its parameters, their checks, and which
//! packet goes next.

pub mod codel;
pub mod dualpi2;
pub mod fq_codel;
pub mod fq_pie;
pub mod pie;
pub mod red;

mod fair;
mod fifo;

use std::collections::VecDeque;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::effects::Context;
use super::{Counts, Packet};

/// Keeps the packets that wait for the line, and decides which goes next and which is dropped.
pub trait Discipline: Send {
    /// Sets time 0 of everything that follows a clock. It is called before the first packet.
    fn begin(&mut self, _epoch_ns: u64) {}

    /// Accepts a packet at its `at_ns`; `full` means that it exceeds the queue's depth. Returns the
    /// packet if it is dropped instead. Other dropped packets go to `gone`.
    fn put(&mut self, packet: Packet, full: bool, gone: &mut VecDeque<Packet>) -> Option<Packet>;

    /// Takes the packet to send at `now_ns`; its `at_ns` is the time when it was put in. Packets
    /// that are dropped on the way go to `gone`.
    fn take(&mut self, now_ns: u64, gone: &mut VecDeque<Packet>) -> Option<Packet>;

    /// Accepts a packet that waited when the link changed at `now_ns`, and had come at its `at_ns`.
    /// The packet is not dropped, whatever the queue's depth.
    fn resume(&mut self, packet: Packet, now_ns: u64);

    /// Removes all packets, because the link changes. Packets of one flow keep their order.
    fn drain(&mut self) -> Vec<Packet>;

    /// Adds this queue's counts.
    fn count(&self, _counts: &mut Counts) {}
}

/// The parameters of one kind.
trait Kind {
    /// Checks the parameters. An error names `place` and the wrong parameter.
    fn check(&self, place: &str) -> Result<()>;

    fn discipline(&self, context: &Context) -> Box<dyn Discipline>;
}

/// A kind of active queue management with its parameters, as `dragstrip.model.aqm`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Aqm {
    Codel(codel::Asked),
    FqCodel(fq_codel::Asked),
    Pie(pie::Asked),
    FqPie(fq_pie::Asked),
    Red(red::Asked),
    #[serde(rename = "dualpi2")]
    DualPi2(dualpi2::Asked),
}

impl Aqm {
    fn kind(&self) -> &dyn Kind {
        match self {
            Self::Codel(asked) => asked,
            Self::FqCodel(asked) => asked,
            Self::Pie(asked) => asked,
            Self::FqPie(asked) => asked,
            Self::Red(asked) => asked,
            Self::DualPi2(asked) => asked,
        }
    }

    pub fn check(&self, place: &str) -> Result<()> {
        self.kind().check(place)
    }

    pub fn discipline(&self, context: &Context) -> Box<dyn Discipline> {
        self.kind().discipline(context)
    }
}

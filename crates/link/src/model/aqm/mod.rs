//! Active queue management. One file declares one kind: its parameters, their checks, and who goes
//! next.

pub mod codel;
pub mod dualpi2;
pub mod fq_codel;
pub mod pie;
pub mod red;

mod fifo;

use std::collections::VecDeque;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::effects::Context;
use super::{Counts, Packet};

/// Keeps the packets that wait for the line, and decides which goes next and which is dropped.
pub trait Discipline: Send {
    /// Sets time 0 of what follows a clock. Comes before the first packet.
    fn begin(&mut self, _epoch_ns: u64) {}

    /// Takes a packet in at its `at_ns`; `full` says that it is beyond the queue's depth. Returns
    /// it if it is dropped instead. What else is dropped goes to `gone`.
    fn put(&mut self, packet: Packet, full: bool, gone: &mut VecDeque<Packet>) -> Option<Packet>;

    /// The packet that goes at `now_ns`, with its `at_ns` as it was put in. What is dropped on the
    /// way goes to `gone`.
    fn take(&mut self, now_ns: u64, gone: &mut VecDeque<Packet>) -> Option<Packet>;

    /// Takes a packet in that waited when the link changed at `now_ns`, and came at its `at_ns`. It
    /// is not dropped, whatever the queue's depth is.
    fn resume(&mut self, packet: Packet, now_ns: u64);

    /// Takes all packets out, because the link changes. Packets of one flow keep their order.
    fn drain(&mut self) -> Vec<Packet>;

    /// Adds what it counted.
    fn count(&self, _counts: &mut Counts) {}
}

/// The parameters of one kind.
trait Kind {
    /// An error names `place` and the parameter that makes no sense.
    fn check(&self, place: &str) -> Result<()>;

    fn discipline(&self, context: &Context) -> Box<dyn Discipline>;
}

/// A kind and its parameters, as `dragstrip.model.aqm`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Aqm {
    Codel(codel::Asked),
    FqCodel(fq_codel::Asked),
    Pie(pie::Asked),
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

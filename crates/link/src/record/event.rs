//! What happened to one packet, and how a format writes it down.

use std::io::Write;

use anyhow::Result;

use crate::model::{DropCause, Packet};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    Up,
    Down,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// The packet left at that time (CLOCK_MONOTONIC).
    Sent(u64),
    Dropped(DropCause),
    /// The kernel refused to send the packet.
    Refused,
}

pub struct Event {
    pub side: Side,
    pub packet: Packet,
    pub fate: Fate,
    /// The frame from its Ethernet header on; empty if the form does not write it.
    pub frame: Vec<u8>,
}

/// One way to write events down.
pub trait Form: Send {
    /// Writes an event. Times in the file are `offset_ns` later than the event's, because they are
    /// on the wall clock.
    fn write(&mut self, event: &Event, offset_ns: u64, file: &mut dyn Write) -> Result<()>;
}

impl Side {
    pub fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

impl Fate {
    pub fn word(self) -> &'static str {
        match self {
            Self::Sent(_) => "sent",
            Self::Refused => "refused",
            Self::Dropped(cause) => cause.name,
        }
    }
}

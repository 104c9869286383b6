//! The peer of a connection, and the end of the connection if the peer breaks a rule.

use quinn::VarInt;

use crate::arrivals::Streams;
use crate::qpack::{Broken, Qpack};

/// The connection to a peer, and what reads the peer's streams.
#[derive(Clone)]
pub(crate) struct Peer {
    pub quinn: quinn::Connection,
    pub qpack: Qpack,
    pub streams: Streams,
}

/// Ends a connection whose peer broke a rule of QPACK.
pub(crate) fn close(quinn: &quinn::Connection, broken: Broken) {
    quinn.close(VarInt::from_u32(broken as u32), b"QPACK");
}

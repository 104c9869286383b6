//! Every integration test of this crate, in one program: it links the crate once.

mod answers;
mod chains;
mod coalescing;
mod ecn;
mod hints;
mod hold;
mod limits;
mod mtu;
mod path;
mod plain;
mod ports;
mod qlog;
mod recording;
mod records;
mod replay;
mod reprioritising;
mod scheduling;
mod serving;
mod sockets;
mod streams;
mod support;

//! The origin: serves a recorded page over HTTP/1.1, HTTP/2 and HTTP/3 from one content path.
//!
//! `Recording` is the page file in memory, `Replay` finds the answer to a request, `Origin` sends
//! it over TCP and QUIC and keeps a log, `control` takes commands as JSON lines.

mod algorithms;
mod certs;
mod connections;
mod control;
mod families;
mod lock;
mod log;
mod offers;
mod origin;
mod page;
mod priority;
pub mod program;
mod protocol;
mod qlog;
mod quic;
mod reprioritise;
mod servers;
mod shared;
mod sockets;
mod tcp;
mod telemetry;
mod tls;
mod tuning;

pub use algorithms::Congestion;
pub use certs::{Chain, Compression, KeyShare, Kind, Shown};
pub use log::{Connection, Entries, Served};
pub use offers::Offer;
pub use origin::{Certificates, Origin, Summary};
pub use page::answer::{Answer, Match};
pub use page::recording::{Entry, Recording};
pub use page::replay::Replay;
pub use page::sockets::{Frame, RecordedSocket};
pub use protocol::Protocol;
pub use servers::Servers;
pub use sockets::{Carried, WebSocket};
pub use tcp::records::{Records, Sent};
pub use telemetry::Transport;
pub use tuning::{Http, Quic, Tcp, Tls, TlsVersion, Tuning};

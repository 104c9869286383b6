//! The origin: serves a recorded page over HTTP/1.1, HTTP/2 and HTTP/3 from one content path.
//!
//! `Recording` is the page file in memory, `Replay` finds the answer to a request, `Origin` carries
//! it over TCP and QUIC and logs what it did, `control` takes commands as JSON lines.

mod certs;
mod connections;
mod control;
mod log;
mod offers;
mod origin;
mod page;
mod priority;
pub mod program;
mod quic;
mod reprioritise;
mod servers;
mod sockets;
mod tcp;
mod telemetry;
mod tls;
mod tuning;

pub use log::{Connection, Entries, Protocol, Served};
pub use offers::Offer;
pub use origin::{Certificates, Origin, Summary};
pub use page::answer::Answer;
pub use page::recording::{Entry, Recording};
pub use page::replay::{Match, Replay};
pub use page::sockets::{Frame, RecordedSocket};
pub use servers::Servers;
pub use sockets::{Carried, WebSocket};
pub use tcp::records::{Records, Sent};
pub use telemetry::Transport;
pub use tuning::{Congestion, Http, Quic, Tcp, Tls, TlsVersion, Tuning};

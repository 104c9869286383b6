//! The origin: serves a recorded page over HTTP/1.1, HTTP/2 and HTTP/3 from one content path.
//!
//! `Recording` is the page file in memory, `Replay` finds the answer to a request, `Origin` carries
//! it over TCP and QUIC and logs what it did, `control` takes commands as JSON lines.

mod answer;
mod bbr;
mod body;
mod certs;
mod congestion;
mod connections;
pub mod control;
mod delivery;
mod digest;
mod fast_open;
mod har;
mod log;
mod origin;
mod paced_socket;
mod plain;
mod priority;
mod qlog;
mod quic;
mod range;
mod recording;
mod records;
mod replay;
mod tcp;
mod telemetry;
mod tls;
mod tls_stream;
mod tuning;

pub use answer::Answer;
pub use log::{Connection, Entries, Protocol, Served};
pub use origin::{Certificates, Origin, Summary};
pub use recording::{Entry, Recording};
pub use records::{Records, Sent};
pub use replay::{Match, Replay};
pub use telemetry::Transport;
pub use tuning::{Congestion, Http, Quic, Tcp, Tls, TlsVersion, Tuning};

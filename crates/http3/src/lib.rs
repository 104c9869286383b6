//! HTTP/3 for origin and load generator: h3 over quinn, with what h3 lacks.
//!
//! h3 encodes and decodes field sections without a dynamic table. `Connection` sits between h3 and
//! quinn and encodes these sections with a table (RFC 9204) in both directions. It also reports
//! whether a request came as 0-RTT data, sets the priority of its answer, and handles the client's
//! changes of it (RFC 9218). `WithKeys` and `Reader` change packets before they are encrypted,
//! because quinn lacks settings for that.

mod arrivals;
mod bidi;
mod encoder;
mod errors;
mod frames;
mod keys;
mod offer;
mod peer;
mod qpack;
mod reader;
mod recv;
mod send;
mod sender;
mod streams;
mod transport;

pub use arrivals::{Arrival, Streams};
pub use keys::{PacketKeys, WithKeys};
pub use offer::{LastOffer, Offer};
pub use qpack::{Qpack, Usage};
pub use reader::Reader;
pub use sender::Sender;
pub use transport::{Connection, Opener};

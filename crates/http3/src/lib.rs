//! HTTP/3 for origin and load generator: h3 over quinn, with what h3 lacks.
//!
//! h3 encodes and decodes field sections without a dynamic table. `Connection` stands between h3 and
//! quinn and carries those sections over a table (RFC 9204), each way. It also tells whether a
//! request came as 0-RTT data, takes the priority of its answer, and hears when the client changes it
//! (RFC 9218). `WithKeys` and `Reader` are for what quinn has no settings for: they change packets where
//! they are encrypted.

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
pub use keys::WithKeys;
pub use offer::{LastOffer, Offer};
pub use qpack::{Qpack, Usage};
pub use reader::Reader;
pub use sender::Sender;
pub use transport::{Connection, Opener};

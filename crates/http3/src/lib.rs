//! HTTP/3 for origin and load generator: h3 over quinn, with what h3 lacks.
//!
//! h3 encodes and decodes field sections without a dynamic table. `Connection` stands between h3 and
//! quinn and carries those sections over a table (RFC 9204), each way. It also tells whether a
//! request came as 0-RTT data, and takes the priority of its answer. `WithKeys` and `Reader` are for
//! what quinn has no settings for: they change packets where they are encrypted.

mod encoder;
mod frames;
mod keys;
mod qpack;
mod reader;
mod streams;
mod transport;

pub use keys::WithKeys;
pub use qpack::{LastOffer, Offer, Qpack, Usage};
pub use reader::Reader;
pub use transport::{Arrival, Connection, Opener, Streams};

//! A recorded page, and the answers it gives.

pub(crate) mod answer;
pub(crate) mod digest;
pub(crate) mod har;
pub(crate) mod range;
pub(crate) mod recording;
pub(crate) mod replay;
pub(crate) mod sockets;
pub(crate) mod stream;
pub(crate) mod url;

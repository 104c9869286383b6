//! Lengths of the preface of HTTP/2 and of the header of its frames.

/// Bytes of a client's preface (RFC 9113 section 3.4).
pub(super) const PREFACE: usize = 24;
/// Bytes of a frame's header (RFC 9113 section 4.1).
pub(super) const HEADER: usize = 9;

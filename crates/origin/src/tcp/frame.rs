//! Lengths of what HTTP/2 frames a message with.

/// RFC 9113 section 3.4.
pub(super) const PREFACE: usize = 24;
/// RFC 9113 section 4.1.
pub(super) const HEADER: usize = 9;

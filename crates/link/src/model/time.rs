//! Units and bounds of the model's time.

/// Nanoseconds in a second.
pub const NS: u64 = 1_000_000_000;
/// 146 years in ns. A line is never busy beyond this time, so that no sum of times and delays
/// overflows.
pub const NEVER_NS: u64 = 1 << 62;

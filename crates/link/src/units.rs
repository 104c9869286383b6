//! Converts the units of a configuration to the link's own.

use hdrhistogram::Histogram;

pub fn bits_per_s(mbps: f64) -> u64 {
    (mbps * 1e6).round() as u64
}

/// A histogram with two significant digits for times of up to an hour, in ns.
pub fn times() -> Histogram<u64> {
    Histogram::new_with_max(3_600_000_000_000, 2)
        .expect("an hour in ns at two digits is within hdrhistogram's bounds")
}

pub fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

//! Converts the units of a configuration to the link's own.

pub fn bits_per_s(mbps: f64) -> u64 {
    (mbps * 1e6).round() as u64
}

pub fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

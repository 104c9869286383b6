//! How delays are spread around their mean.

use std::sync::Arc;

use super::draw::Normals;

/// How delays are spread around their mean.
#[derive(Clone, Debug)]
pub enum Spread {
    /// Evenly, at most this many ns from the delay.
    Uniform(f64),
    /// Normally, with this standard deviation in ns.
    Normal(f64),
    /// Quantiles in ns from the delay: ascending, at least two, evenly spaced from the least to the
    /// most.
    Table(Arc<[f64]>),
}

impl Spread {
    /// The most that a delay can be below the mean, in ns.
    pub fn below_ns(&self) -> f64 {
        match self {
            Self::Uniform(most_ns) => *most_ns,
            Self::Normal(sigma_ns) => Normals::FURTHEST * sigma_ns,
            Self::Table(quantiles) => (-quantiles[0]).max(0.0),
        }
    }
}

/// The quantile of a table at a share in 0..=1, interpolated between its two neighbours.
pub fn quantile(table: &[f64], share: f64) -> f64 {
    let place = share * (table.len() - 1) as f64;
    let low = (place as usize).min(table.len() - 2);
    table[low] + (place - low as f64) * (table[low + 1] - table[low])
}

//! A delay that changes with time, as behind a queue that other traffic fills too.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2};

use super::draw::Normals;
use super::spread::{Spread, quantile};

/// Least time from one drawn delay to the next, in units of the spread. The delay then hardly ever
/// falls faster than time passes, so packets keep their order by themselves: docs/decisions/0057.
pub const LEAST_PERIODS: f64 = 8.0;

/// The delay is a pure function of (seed, direction, time since the link's time 0), whatever
/// packets are sent. At every instant its distribution is exactly its [`Spread`].
///
/// It follows a Gaussian process: independent normal draws `period_ns` apart, and between two of
/// them cos x of the one and sin x of the other, x from 0 to pi / 2, so that the variance is 1
/// everywhere. Its integral correlation time is 8 / pi^2 = 0.81 periods.
pub struct Wander {
    pub(super) spread: Spread,
    period_ns: u64,
    normals: Normals,
    epoch_ns: u64,
    /// Number of the last draw, its value, and the value of the next draw.
    last: Option<(u64, f64, f64)>,
}

impl Wander {
    /// `period_ns` is at least 1, and [`LEAST_PERIODS`] times the spread.
    pub fn new(spread: Spread, period_ns: u64, seed: u64, direction: u64) -> Self {
        Self {
            spread,
            period_ns,
            normals: Normals::new(seed, direction),
            epoch_ns: 0,
            last: None,
        }
    }

    pub fn begin(&mut self, epoch_ns: u64) {
        self.epoch_ns = epoch_ns;
    }

    /// Difference between the delay and its mean at that time, in ns.
    pub fn offset_ns(&mut self, at_ns: u64) -> f64 {
        let since_ns = at_ns.saturating_sub(self.epoch_ns);
        let (one, other) = self.draws(since_ns / self.period_ns);
        let way = (since_ns % self.period_ns) as f64 / self.period_ns as f64;
        let (sin, cos) = libm::sincos(way * FRAC_PI_2);
        let normal = cos * one + sin * other;
        match &self.spread {
            // The distribution function of a normal variable is (1 + erf(x / sqrt 2)) / 2.
            Spread::Uniform(most_ns) => libm::erf(normal * FRAC_1_SQRT_2) * most_ns,
            Spread::Table(quantiles) => {
                quantile(quantiles, (1.0 + libm::erf(normal * FRAC_1_SQRT_2)) / 2.0)
            }
            Spread::Normal(sigma_ns) => {
                normal.clamp(-Normals::FURTHEST, Normals::FURTHEST) * sigma_ns
            }
        }
    }

    fn draws(&mut self, number: u64) -> (f64, f64) {
        match self.last {
            Some((last, one, other)) if last == number => (one, other),
            _ => {
                let (one, other) = (self.normals.at(number), self.normals.at(number + 1));
                self.last = Some((number, one, other));
                (one, other)
            }
        }
    }
}

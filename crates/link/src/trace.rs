//! Recorded rates and delays to play: docs/reference/network.md has their forms.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::check::MAX_MS;
use crate::model::{Line, Opportunities, Recorded, Silence, Step};
use crate::units::{bits_per_s, ns};

/// Highest rate in Mbit/s that is accepted: far beyond any network.
pub const MAX_MBPS: f64 = 1_000_000.0;

/// A trace as `dragstrip.model.trace.Trace` writes it; one of the two lists is empty. The answer to
/// `configure` leaves the lists out.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    pub name: String,
    /// Mahimahi's times in ms at which a packet of 1500 bytes may leave; the trace loops at the
    /// last.
    #[serde(default, skip_serializing)]
    pub opportunities_ms: Vec<u64>,
    /// Pairs (second, Mbit/s); the last pair only marks the end of the trace, which then loops.
    #[serde(default, skip_serializing)]
    pub steps: Vec<(f64, f64)>,
}

impl Trace {
    pub fn check(&self, direction: &str) -> Result<()> {
        let place = format!("{direction}.trace {:?}", self.name);
        ensure!(
            self.opportunities_ms.is_empty() != self.steps.is_empty(),
            "{place} needs either opportunities_ms or steps"
        );
        ensure!(
            self.opportunities_ms.is_sorted(),
            "{place}: opportunities_ms must not go back in time"
        );
        let last_ms = self.opportunities_ms.last();
        ensure!(
            last_ms.is_none_or(|&ms| ms > 0 && ms <= 1_000_000_000),
            "{place} must end after 1 ms to 1000000 s"
        );
        if self.steps.is_empty() {
            return Ok(());
        }
        let (first, last) = (self.steps[0].0, self.steps[self.steps.len() - 1].0);
        ensure!(
            first == 0.0 && self.steps.is_sorted_by(|a, b| b.0 - a.0 >= 1e-6),
            "{place}: steps must begin at 0 s and go on in time by at least 1 us"
        );
        ensure!(
            self.steps.len() > 1 && last <= 1e6,
            "{place} needs at least two steps within 1000000 s"
        );
        let played = &self.steps[..self.steps.len() - 1];
        ensure!(
            played.iter().all(|step| (0.0..=MAX_MBPS).contains(&step.1))
                && played.iter().any(|step| step.1 >= 1e-3),
            "{place}: rates must lie between 0 and {MAX_MBPS} Mbit/s, and one reach 0.001"
        );
        Ok(())
    }

    /// The line that plays the trace from `offset_ns` on.
    pub fn line(&self, offset_ns: u64) -> Line {
        if self.steps.is_empty() {
            self.opportunities_from(offset_ns)
        } else {
            Line::steps(self.steps_from(offset_ns))
        }
    }

    /// When the line carries nothing, from `offset_ns` on. Between opportunities it rests, and is
    /// not silent.
    pub fn silence(&self, offset_ns: u64) -> Silence {
        if self.steps.is_empty() {
            Silence::default()
        } else {
            Silence::of(&self.steps_from(offset_ns))
        }
    }

    fn opportunities_from(&self, offset_ns: u64) -> Line {
        let times_ns = self.opportunities_ms.iter().map(|ms| ms * 1_000_000);
        let lap_ns = times_ns.clone().next_back().unwrap_or(1);
        let offset_ns = offset_ns % lap_ns;
        let turned = |time_ns| (time_ns + lap_ns * u64::from(time_ns < offset_ns)) - offset_ns;
        let mut times_ns: Vec<u64> = times_ns.map(turned).collect();
        times_ns.sort_unstable();
        Line::Opportunities(Opportunities::new(times_ns, lap_ns))
    }

    fn steps_from(&self, offset_ns: u64) -> Vec<Step> {
        let step = |pair: &[(f64, f64)]| Step {
            bits_per_s: bits_per_s(pair[0].1),
            lasts_ns: ns(pair[1].0 * 1e3) - ns(pair[0].0 * 1e3),
        };
        let mut steps: Vec<Step> = self.steps.windows(2).map(step).collect();
        let mut skip_ns = offset_ns % steps.iter().map(|step| step.lasts_ns).sum::<u64>();
        let passed = |step: &&Step| {
            let over = step.lasts_ns <= skip_ns;
            skip_ns -= if over { step.lasts_ns } else { 0 };
            over
        };
        let from = steps.iter().take_while(passed).count();
        steps.rotate_left(from);
        if skip_ns > 0 {
            let rest = Step {
                lasts_ns: skip_ns,
                ..steps[0]
            };
            steps[0].lasts_ns -= skip_ns;
            steps.push(rest);
        }
        steps
    }
}

/// Recorded delays as `dragstrip.model.trace.DelayTrace` writes them. The answer to `configure`
/// leaves the steps out.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DelayTrace {
    pub name: String,
    /// Pairs (second, ms); the last pair only marks the end of the trace, which then loops.
    #[serde(default, skip_serializing)]
    pub steps: Vec<(f64, f64)>,
}

impl DelayTrace {
    pub fn check(&self, direction: &str) -> Result<()> {
        let place = format!("{direction}.delay_trace {:?}", self.name);
        ensure!(
            self.steps.len() > 1,
            "{place} needs at least two steps: the last one ends the trace"
        );
        ensure!(
            self.steps[0].0 == 0.0 && self.steps.is_sorted_by(|a, b| b.0 - a.0 >= 1e-6),
            "{place}: steps must begin at 0 s and go on in time by at least 1 us"
        );
        ensure!(
            self.steps[self.steps.len() - 1].0 <= 1e6,
            "{place} must end within 1000000 s"
        );
        ensure!(
            (self.steps.iter()).all(|step| (0.0..=MAX_MS).contains(&step.1)),
            "{place}: delays must lie between 0 and {MAX_MS} ms"
        );
        Ok(())
    }

    pub fn delays(&self) -> Recorded {
        let step = |pair: &[(f64, f64)]| (ns(pair[1].0 * 1e3), ns(pair[0].1));
        Recorded::new(self.steps.windows(2).map(step).collect())
    }
}

//! Propagation delay, fixed or as recorded, with jitter and reordering.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Context, Effect, Stage};
use crate::check::{MAX_MS, check_ms, check_share};
use crate::model::draw::{Draws, Normals, Stream};
use crate::model::flying::Flying;
use crate::model::spread::{Spread, quantile};
use crate::model::wander::{LEAST_PERIODS, Wander};
use crate::model::{Packet, Recorded};
use crate::trace::DelayTrace;
use crate::units::ns;

/// A table's largest deviation from the mean, in units of `jitter_ms`; netem's tables reach 4.
const MOST_DEVIATIONS: f64 = 100.0;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    pub delay_ms: f64,
    #[serde(default)]
    pub jitter_ms: f64,
    #[serde(default)]
    pub jitter_shape: JitterShape,
    /// Quantiles of the delay's deviation, ascending, in units of `jitter_ms`; of shape `table`.
    #[serde(default, skip_serializing)]
    pub jitter_table: Vec<f64>,
    #[serde(default)]
    pub jitter_reorders: bool,
    /// Time in ms from one random delay to the next, if jitter keeps packets in order; None is the
    /// least possible time.
    #[serde(default)]
    pub jitter_period_ms: Option<f64>,
    /// Share of packets that skip the delay and so overtake others.
    #[serde(default)]
    pub reorder: f64,
    /// Recorded delays, in addition to `delay_ms`. Packets keep their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_trace: Option<DelayTrace>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JitterShape {
    #[default]
    Uniform,
    Normal,
    Table,
}

impl Effect for Asked {
    fn understood(&self, side: &str) -> Result<Self> {
        check_ms(side, "delay_ms", self.delay_ms)?;
        check_ms(side, "jitter_ms", self.jitter_ms)?;
        check_share(side, "reorder", self.reorder)?;
        ensure!(
            self.reorder == 0.0 || self.delay_ms > 0.0,
            "{side}.reorder sends packets ahead of the delay: give {side}.delay_ms too"
        );
        self.check_jitter(side)?;
        if let Some(trace) = &self.delay_trace {
            trace.check(side)?;
            ensure!(
                self.jitter_ms == 0.0 && self.reorder == 0.0,
                "{side}.delay_trace excludes {side}.jitter_ms and {side}.reorder: it has the \
                 delay's changes"
            );
        }
        Ok(Self {
            delay_ms: ns(self.delay_ms) as f64 / 1e6,
            jitter_period_ms: self.wanders().then(|| self.period_ms()),
            ..self.clone()
        })
    }

    fn stage(&self, context: &Context) -> Option<Box<dyn Stage>> {
        if self.delay_ms == 0.0 && self.jitter_ms == 0.0 && self.delay_trace.is_none() {
            return None;
        }
        let (seed, direction) = (context.seed, context.direction);
        let jitter_ns = self.jitter_ms * 1e6;
        let spread = match self.jitter_shape {
            JitterShape::Uniform => Spread::Uniform(jitter_ns),
            JitterShape::Normal => Spread::Normal(jitter_ns),
            JitterShape::Table => {
                Spread::Table(self.jitter_table.iter().map(|x| x * jitter_ns).collect())
            }
        };
        let period_ns = ns(self.period_ms()).max(1);
        let jitter = if let Some(trace) = &self.delay_trace {
            Some(Jitter::Recorded(trace.delays()))
        } else if self.wanders() {
            Some(Jitter::Wander(Wander::new(
                spread, period_ns, seed, direction,
            )))
        } else {
            (jitter_ns > 0.0).then(|| Jitter::Scatter(Scatter::new(spread, seed, direction)))
        };
        let reorder = (self.reorder > 0.0).then(|| Reorder::new(self.reorder, seed, direction));
        Some(Box::new(Delay::new(ns(self.delay_ms), jitter, reorder)))
    }
}

impl Asked {
    /// Whether jitter keeps packets in order. Then the delay changes with time.
    fn wanders(&self) -> bool {
        self.jitter_ms > 0.0 && !self.jitter_reorders
    }

    fn period_ms(&self) -> f64 {
        self.jitter_period_ms
            .unwrap_or(LEAST_PERIODS * self.jitter_ms)
    }

    fn check_jitter(&self, side: &str) -> Result<()> {
        let table = &self.jitter_table;
        ensure!(
            (self.jitter_shape == JitterShape::Table) != table.is_empty(),
            "{side}.jitter_table is of jitter_shape table: give both or neither"
        );
        let ascends = table.windows(2).all(|pair| pair[0] <= pair[1]);
        let bounded = table.iter().all(|x| x.abs() <= MOST_DEVIATIONS);
        ensure!(
            table.is_empty() || (table.len() >= 2 && ascends && bounded),
            "{side}.jitter_table needs at least 2 ascending numbers from -{MOST_DEVIATIONS} to \
             {MOST_DEVIATIONS}"
        );
        let Some(period_ms) = self.jitter_period_ms else {
            return Ok(());
        };
        ensure!(
            self.wanders(),
            "{side}.jitter_period_ms is of jitter in order: give {side}.jitter_ms, and no \
             jitter_reorders"
        );
        let least_ms = LEAST_PERIODS * self.jitter_ms;
        ensure!(
            (least_ms..=MAX_MS.max(least_ms)).contains(&period_ms),
            "{side}.jitter_period_ms is {period_ms}: give {least_ms} ({LEAST_PERIODS} times \
             jitter_ms) to {MAX_MS}"
        );
        Ok(())
    }
}

/// Jitter that reorders: each packet has its own delay, a pure function of (seed, direction,
/// index).
pub struct Scatter {
    spread: Spread,
    lots: Draws,
    normals: Normals,
}

impl Scatter {
    pub fn new(spread: Spread, seed: u64, direction: u64) -> Self {
        Self {
            spread,
            lots: Draws::new(seed, direction, Stream::Jitter),
            normals: Normals::new(seed, direction),
        }
    }

    fn offset_ns(&self, packet: &Packet) -> f64 {
        match &self.spread {
            Spread::Uniform(most_ns) => (2.0 * self.lots.of(packet) - 1.0) * most_ns,
            Spread::Normal(sigma_ns) => self.normals.at(Draws::place(packet)) * sigma_ns,
            Spread::Table(quantiles) => quantile(quantiles, self.lots.of(packet)),
        }
    }
}

/// The kinds of jitter.
pub enum Jitter {
    Scatter(Scatter),
    Wander(Wander),
    Recorded(Recorded),
}

impl Jitter {
    /// The least delay with this jitter about a delay.
    fn least_ns(&self, delay_ns: u64) -> u64 {
        let below = |below_ns: f64| (delay_ns as f64 - below_ns).max(0.0) as u64;
        match self {
            Self::Scatter(scatter) => below(scatter.spread.below_ns()),
            Self::Wander(wander) => below(wander.spread.below_ns()),
            Self::Recorded(recorded) => delay_ns + recorded.least_ns(),
        }
    }
}

/// Sends a share of the packets ahead: they skip the delay, as with netem's `reorder`.
pub struct Reorder {
    share: f64,
    draws: Draws,
}

impl Reorder {
    pub fn new(share: f64, seed: u64, direction: u64) -> Self {
        let draws = Draws::new(seed, direction, Stream::Reorder);
        Self { share, draws }
    }
}

/// Delays every packet by the same time plus jitter, but never by less than zero.
pub struct Delay {
    delay_ns: u64,
    jitter: Option<Jitter>,
    reorder: Option<Reorder>,
    last_ns: u64,
    flying: Flying,
}

impl Delay {
    pub fn new(delay_ns: u64, jitter: Option<Jitter>, reorder: Option<Reorder>) -> Self {
        Self {
            delay_ns,
            jitter,
            reorder,
            last_ns: 0,
            flying: Flying::default(),
        }
    }

    fn varied_ns(&self, offset_ns: f64) -> u64 {
        (self.delay_ns as f64 + offset_ns).max(0.0).round() as u64
    }
}

impl Stage for Delay {
    fn begin(&mut self, epoch_ns: u64) {
        match &mut self.jitter {
            Some(Jitter::Wander(wander)) => wander.begin(epoch_ns),
            Some(Jitter::Recorded(recorded)) => recorded.begin(epoch_ns),
            _ => (),
        }
    }

    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        let ahead = |reorder: &Reorder| reorder.draws.of(&packet) < reorder.share;
        if self.reorder.as_ref().is_some_and(ahead) {
            return Some(packet);
        }
        match &mut self.jitter {
            None => packet.at_ns += self.delay_ns,
            Some(Jitter::Scatter(scatter)) => {
                let offset_ns = scatter.offset_ns(&packet);
                packet.at_ns += self.varied_ns(offset_ns);
            }
            Some(Jitter::Wander(wander)) => {
                let offset_ns = wander.offset_ns(packet.at_ns);
                packet.at_ns += self.varied_ns(offset_ns);
                packet.at_ns = packet.at_ns.max(self.last_ns);
                self.last_ns = packet.at_ns;
            }
            Some(Jitter::Recorded(recorded)) => {
                packet.at_ns += self.delay_ns + recorded.delay_ns(packet.at_ns);
                packet.at_ns = packet.at_ns.max(self.last_ns);
                self.last_ns = packet.at_ns;
            }
        }
        self.flying.put(packet);
        None
    }

    fn next_ns(&self) -> Option<u64> {
        self.flying.next_ns()
    }

    fn release(&mut self) -> Option<Packet> {
        self.flying.pop()
    }

    fn least_ns(&self) -> u64 {
        match (&self.reorder, &self.jitter) {
            (Some(_), _) => 0,
            (None, None) => self.delay_ns,
            (None, Some(jitter)) => jitter.least_ns(self.delay_ns),
        }
    }

    fn scheduled(&self) -> bool {
        matches!(self.jitter, Some(Jitter::Recorded(_)))
    }
}

//! What a link is asked to be, and the stages that make it so.

use anyhow::{Result, ensure};
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::{Bottleneck, Delay, Loss, Pipeline, Stage};

/// Far beyond any network, and small enough that no sum of times can overflow.
const MAX_MS: f64 = 3_600_000.0;
const MAX_MBPS: f64 = 1_000_000.0;

/// One direction of a link, as `dragstrip.model.network.Direction`. Every field must be there.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Mbit/s of layer 3 bytes; None leaves the direction unlimited.
    #[serde(deserialize_with = "required")]
    pub rate_mbps: Option<f64>,
    pub delay_ms: f64,
    /// Share of packets lost at random, 0..=1.
    pub loss: f64,
    /// Droptail depth as time at the rate; None is an unbounded queue.
    #[serde(deserialize_with = "required")]
    pub queue_ms: Option<f64>,
}

/// Both directions and the seed of their loss.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub seed: u64,
    pub up: Direction,
    pub down: Direction,
}

impl Config {
    /// The same in the link's own units (bit/s, ns), written back in the caller's. Fails with a
    /// sentence that names the field that makes no sense.
    pub fn understood(&self) -> Result<Self> {
        Ok(Self {
            seed: self.seed,
            up: self.up.understood("up")?,
            down: self.down.understood("down")?,
        })
    }

    /// Client to origin: loss, then queue and rate, then delay.
    pub fn up_pipeline(&self) -> Pipeline {
        let stages = [
            self.up.loss(self.seed, 1),
            self.up.bottleneck(),
            self.up.delay(),
        ];
        Pipeline::new(stages.into_iter().flatten().collect())
    }

    /// Origin to client: queue and rate, then delay, then loss.
    pub fn down_pipeline(&self) -> Pipeline {
        let stages = [
            self.down.bottleneck(),
            self.down.delay(),
            self.down.loss(self.seed, 2),
        ];
        Pipeline::new(stages.into_iter().flatten().collect())
    }
}

impl Direction {
    fn understood(&self, name: &str) -> Result<Self> {
        if let Some(rate) = self.rate_mbps {
            ensure!(
                (1e-6..=MAX_MBPS).contains(&rate),
                "{name}.rate_mbps is {rate}: give 0.000001 to {MAX_MBPS}, or null for no limit"
            );
        }
        ensure!(
            (0.0..=MAX_MS).contains(&self.delay_ms),
            "{name}.delay_ms is {}: give 0 to {MAX_MS}",
            self.delay_ms
        );
        ensure!(
            (0.0..=1.0).contains(&self.loss),
            "{name}.loss is {}: give a share from 0 to 1",
            self.loss
        );
        if let Some(queue) = self.queue_ms {
            ensure!(
                (0.0..=MAX_MS).contains(&queue) && queue > 0.0,
                "{name}.queue_ms is {queue}: give more than 0, at most {MAX_MS}, or null for an \
                 unbounded queue"
            );
        }
        Ok(Self {
            rate_mbps: self.rate_mbps.map(|rate| bits_per_s(rate) as f64 / 1e6),
            delay_ms: ns(self.delay_ms) as f64 / 1e6,
            loss: self.loss,
            queue_ms: self.queue_ms.map(|queue| ns(queue) as f64 / 1e6),
        })
    }

    fn loss(&self, seed: u64, direction: u64) -> Option<Box<dyn Stage>> {
        (self.loss > 0.0).then(|| Box::new(Loss::new(self.loss, seed, direction)) as _)
    }

    fn bottleneck(&self) -> Option<Box<dyn Stage>> {
        let rate = bits_per_s(self.rate_mbps?);
        Some(Box::new(Bottleneck::new(rate, self.queue_ms.map(ns))))
    }

    fn delay(&self) -> Option<Box<dyn Stage>> {
        (self.delay_ms > 0.0).then(|| Box::new(Delay::new(ns(self.delay_ms))) as _)
    }
}

fn bits_per_s(mbps: f64) -> u64 {
    (mbps * 1e6).round() as u64
}

fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// A null must be written: an absent field is a mistake, never a silent "unlimited".
fn required<'de, D: Deserializer<'de>>(value: D) -> Result<Option<f64>, D::Error> {
    Option::deserialize(value)
}

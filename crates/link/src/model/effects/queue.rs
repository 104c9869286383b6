//! Queue and rate: droptail, or under active management.

use anyhow::{Result, ensure};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Context, DropCause, Effect, Stage};
use crate::check::{MAX_MS, check_ms};
use crate::model::aqm::Aqm;
use crate::model::{Bottleneck, Depth, Line, Managed, Silence};
use crate::trace::{MAX_MBPS, Trace};
use crate::units::{bits_per_s, ns};

/// The queue in front of the bottleneck was full.
pub const FULL: DropCause = DropCause::in_queue("queue");
/// Active queue management.
pub const MANAGED: DropCause = DropCause::in_queue("aqm");

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    /// Mbit/s of bytes as `accounting` counts them; None leaves the direction unlimited.
    #[serde(deserialize_with = "required")]
    pub rate_mbps: Option<f64>,
    /// Queue depth in ms of sending at the rate. If no depth is given in ms, bytes or packets, the
    /// queue is unbounded.
    #[serde(deserialize_with = "required")]
    pub queue_ms: Option<f64>,
    #[serde(default)]
    pub queue_bytes: Option<u64>,
    #[serde(default)]
    pub queue_packets: Option<u64>,
    #[serde(default)]
    pub aqm: Option<Aqm>,
    #[serde(default)]
    pub trace: Option<Trace>,
    #[serde(default)]
    pub trace_offset_ms: f64,
    /// Whether the line is stopped, so that packets wait in the queue.
    #[serde(default)]
    pub outage: bool,
}

impl Effect for Asked {
    const CAUSES: &[DropCause] = &[FULL, MANAGED];

    fn understood(&self, side: &str) -> Result<Self> {
        if let Some(rate) = self.rate_mbps {
            ensure!(
                (1e-6..=MAX_MBPS).contains(&rate),
                "{side}.rate_mbps is {rate}: give 0.000001 to {MAX_MBPS}, or null for no limit"
            );
        }
        check_ms(side, "trace_offset_ms", self.trace_offset_ms)?;
        self.check_depth(side)?;
        if let Some(trace) = &self.trace {
            trace.check(side)?;
            ensure!(
                self.rate_mbps.is_none(),
                "{side}.rate_mbps and {side}.trace exclude each other: give one"
            );
        }
        if let Some(aqm) = &self.aqm {
            ensure!(
                self.rate_mbps.is_some() || self.trace.is_some(),
                "{side}.aqm manages the queue of a rate or trace: give {side}.rate_mbps too"
            );
            ensure!(
                self.trace.is_none() || self.queue_ms.is_none(),
                "{side}.queue_ms has no meaning under {side}.aqm with a trace: give queue_bytes or \
                 queue_packets"
            );
            aqm.check(&format!("{side}.aqm"))?;
        }
        Ok(Self {
            rate_mbps: self.rate_mbps.map(|rate| bits_per_s(rate) as f64 / 1e6),
            queue_ms: self.queue_ms.map(|queue| ns(queue) as f64 / 1e6),
            ..self.clone()
        })
    }

    fn stage(&self, context: &Context) -> Option<Box<dyn Stage>> {
        let line = match (&self.trace, self.rate_mbps) {
            _ if self.outage => Line::Stopped,
            (Some(trace), _) => trace.line(ns(self.trace_offset_ms)),
            (None, Some(rate)) => Line::fixed(bits_per_s(rate)),
            (None, None) => return None,
        };
        let Some(aqm) = &self.aqm else {
            // In an outage a time does not say how much fits.
            let depth = if self.outage {
                self.depth_in_bytes()
            } else {
                self.depth()
            };
            return Some(Box::new(Bottleneck::new(line, depth, context.overhead)));
        };
        let discipline = aqm.discipline(context);
        let depth = self.depth_in_bytes();
        Some(Box::new(Managed::new(
            line,
            discipline,
            depth,
            context.overhead,
        )))
    }
}

impl Asked {
    /// When the line carries nothing.
    pub fn silence(&self) -> Silence {
        if self.outage {
            return Silence::stopped();
        }
        (self.trace.as_ref()).map_or_else(Silence::default, |trace| {
            trace.silence(ns(self.trace_offset_ms))
        })
    }

    /// Converts a depth by time to the bytes that the rate carries in that time; without a rate it
    /// is unbounded.
    fn depth_in_bytes(&self) -> Depth {
        match (self.depth(), self.rate_mbps) {
            (Depth::Time(depth_ns), Some(rate)) => {
                let bytes = u128::from(bits_per_s(rate)) * u128::from(depth_ns) / 8_000_000_000;
                Depth::Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
            }
            (Depth::Time(_), None) => Depth::Unbounded,
            (depth, _) => depth,
        }
    }

    fn depth(&self) -> Depth {
        match (self.queue_ms, self.queue_bytes, self.queue_packets) {
            (Some(ms), _, _) => Depth::Time(ns(ms)),
            (_, Some(bytes), _) => Depth::Bytes(bytes),
            (_, _, Some(packets)) => Depth::Packets(packets),
            _ => Depth::Unbounded,
        }
    }

    fn check_depth(&self, side: &str) -> Result<()> {
        if let Some(queue) = self.queue_ms {
            ensure!(
                (0.0..=MAX_MS).contains(&queue) && queue > 0.0,
                "{side}.queue_ms is {queue}: give more than 0, at most {MAX_MS}, or null for an \
                 unbounded queue"
            );
        }
        for (field, depth) in [
            ("queue_bytes", self.queue_bytes),
            ("queue_packets", self.queue_packets),
        ] {
            ensure!(
                depth != Some(0),
                "{side}.{field} is 0: give at least 1, or null for an unbounded queue"
            );
        }
        let depths = usize::from(self.queue_ms.is_some())
            + usize::from(self.queue_bytes.is_some())
            + usize::from(self.queue_packets.is_some());
        ensure!(
            depths <= 1,
            "{side}.queue_ms, queue_bytes and queue_packets exclude each other: give one"
        );
        Ok(())
    }
}

/// Requires a null to be written: an absent field is an error, and never means "unlimited".
fn required<'de, D: Deserializer<'de>>(value: D) -> Result<Option<f64>, D::Error> {
    Option::deserialize(value)
}

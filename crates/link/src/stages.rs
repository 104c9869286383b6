//! Makes the stages that a configuration asks for.

use anyhow::{Result, bail, ensure};

use crate::config::{Accounting, Aqm, AqmKind, Config, Direction, JitterShape, StageName};
use crate::model::{
    Bottleneck, Chain, Codel, Delay, Depth, Discipline, Duplicate, FqCodel, GilbertElliott,
    HostPath, Hosts, Jitter, Line, Loss, Managed, Middlebox, Mtu, Parameters, Pipeline, Reorder,
    Scatter, Spread, Stage, Wander,
};
use crate::units::{bits_per_s, ns};

const ETHERNET_HEADER: u32 = 14;

/// Where a pipeline's random numbers come from, and how it counts.
struct Context {
    seed: u64,
    number: u64,
    overhead: u32,
    origin_sends: bool,
}

impl Config {
    /// Client to origin.
    pub fn up_pipeline(&self) -> Pipeline {
        self.up.pipeline(&StageName::UP, &self.context(1, false))
    }

    /// Origin to client.
    pub fn down_pipeline(&self) -> Pipeline {
        self.down.pipeline(&StageName::DOWN, &self.context(2, true))
    }

    fn context(&self, number: u64, origin_sends: bool) -> Context {
        Context {
            seed: self.seed,
            number,
            overhead: match self.accounting {
                Accounting::L3 => 0,
                Accounting::L2 => ETHERNET_HEADER,
            },
            origin_sends,
        }
    }
}

impl Direction {
    /// The asked order of stages, or the side's own. Fails if a stage is named twice, or an effect
    /// is asked for whose stage is missing.
    pub fn order(&self, name: &str, default: &[StageName]) -> Result<Vec<StageName>> {
        let Some(order) = &self.stages else {
            return Ok(default.to_vec());
        };
        for (at, stage) in order.iter().enumerate() {
            ensure!(
                !order[..at].contains(stage),
                "{name}.stages names {stage:?} twice: each stage has one place"
            );
        }
        let context = Context {
            seed: 0,
            number: 0,
            overhead: 0,
            origin_sends: false,
        };
        for stage in StageName::UP {
            if !order.contains(&stage) && self.stage(stage, &context).is_some() {
                bail!("{name}.stages lacks {stage:?}, which is asked for: give it a place");
            }
        }
        Ok(order.clone())
    }

    fn pipeline(&self, default: &[StageName], context: &Context) -> Pipeline {
        let order = self.stages.as_deref().unwrap_or(default);
        let middlebox = (self.drops_syn_data).then(|| (0, Box::new(Middlebox) as _));
        // A stage keeps its place whichever others there are, for the link may change.
        let placed = (1..).zip(order);
        let stages = placed.filter_map(|(at, &name)| Some((at, self.stage(name, context)?)));
        Pipeline::placed(middlebox.into_iter().chain(stages).collect())
    }

    /// None for an effect that is not configured.
    fn stage(&self, name: StageName, context: &Context) -> Option<Box<dyn Stage>> {
        let (seed, number) = (context.seed, context.number);
        match name {
            StageName::Hosts => self.hosts(context),
            StageName::Mtu => self.mtu.map(|bytes| Box::new(Mtu { bytes }) as _),
            StageName::Queue => self.queue(context),
            StageName::Delay => self.delay(seed, number),
            StageName::Duplicate => (self.duplicate > 0.0)
                .then(|| Box::new(Duplicate::new(self.duplicate, seed, number)) as _),
            StageName::Loss => self.lossy(seed, number),
        }
    }

    fn lossy(&self, seed: u64, number: u64) -> Option<Box<dyn Stage>> {
        if let Some(asked) = self.gilbert_elliott {
            let chain = Chain {
                pace: asked.pace().expect("checked when it was configured"),
                loss_good: asked.loss_good,
                loss_bad: asked.loss_bad,
            };
            return Some(Box::new(GilbertElliott::new(chain, seed, number)));
        }
        (self.loss > 0.0).then(|| Box::new(Loss::new(self.loss, seed, number)) as _)
    }

    fn delay(&self, seed: u64, number: u64) -> Option<Box<dyn Stage>> {
        if self.delay_ms == 0.0 && self.jitter_ms == 0.0 {
            return None;
        }
        let jitter_ns = self.jitter_ms * 1e6;
        let spread = match self.jitter_shape {
            JitterShape::Uniform => Spread::Uniform(jitter_ns),
            JitterShape::Normal => Spread::Normal(jitter_ns),
            JitterShape::Table => {
                Spread::Table(self.jitter_table.iter().map(|x| x * jitter_ns).collect())
            }
        };
        let period_ns = ns(self.period_ms()).max(1);
        let jitter = if self.wanders() {
            Some(Jitter::Wander(Wander::new(spread, period_ns, seed, number)))
        } else {
            (jitter_ns > 0.0).then(|| Jitter::Scatter(Scatter::new(spread, seed, number)))
        };
        let reorder = (self.reorder > 0.0).then(|| Reorder::new(self.reorder, seed, number));
        Some(Box::new(Delay::new(ns(self.delay_ms), jitter, reorder)))
    }

    fn queue(&self, context: &Context) -> Option<Box<dyn Stage>> {
        let line = match (&self.trace, self.rate_mbps) {
            _ if self.outage => Line::Stopped,
            (Some(trace), _) => trace.line(ns(self.trace_offset_ms)),
            (None, Some(rate)) => Line::fixed(bits_per_s(rate)),
            (None, None) => return None,
        };
        let Some(aqm) = self.aqm else {
            // In an outage no time says how much fits.
            let depth = if self.outage {
                self.depth_in_bytes()
            } else {
                self.depth()
            };
            return Some(Box::new(Bottleneck::new(line, depth, context.overhead)));
        };
        let discipline = aqm.discipline(context.seed);
        let depth = self.depth_in_bytes();
        Some(Box::new(Managed::new(
            line,
            discipline,
            depth,
            context.overhead,
        )))
    }

    /// A depth by time is what the rate carries in it; without a rate it is unbounded.
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

    fn hosts(&self, context: &Context) -> Option<Box<dyn Stage>> {
        let path = |host: &crate::config::HostPath| HostPath {
            address: host.address,
            delay_ns: ns(host.delay_ms),
            loss: host.loss,
        };
        let paths: Vec<HostPath> = self.hosts.iter().map(path).collect();
        let Context {
            seed,
            number,
            origin_sends,
            ..
        } = *context;
        (!paths.is_empty()).then(|| Box::new(Hosts::new(paths, origin_sends, seed, number)) as _)
    }
}

impl Aqm {
    fn discipline(&self, seed: u64) -> Discipline {
        let parameters = Parameters {
            target_ns: ns(self.target_ms),
            interval_ns: ns(self.interval_ms),
            ecn: self.ecn,
        };
        match self.kind {
            AqmKind::Codel => Discipline::Codel(Codel::new(parameters)),
            AqmKind::FqCodel => Discipline::FqCodel(FqCodel::new(
                parameters,
                self.flows,
                self.quantum_bytes,
                seed,
            )),
        }
    }
}

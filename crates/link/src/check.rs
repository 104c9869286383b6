//! Checks a configuration, and fills in its defaults.

use anyhow::{Result, bail, ensure};

use crate::config::{Config, Direction, GilbertElliott, JitterShape, StageName};
use crate::model::{LEAST_PERIODS, Pace};
use crate::trace::MAX_MBPS;
use crate::units::{bits_per_s, ns};

/// Far beyond any network, and small enough that no sum of times can overflow.
const MAX_MS: f64 = 3_600_000.0;
/// Shortest state of loss in bursts: a shorter one would keep the link busy after a long silence.
const LEAST_STATE_MS: f64 = 0.1;
/// A table's largest deviation from the mean, in units of `jitter_ms`; netem's tables reach 4.
const MOST_DEVIATIONS: f64 = 100.0;

impl Config {
    /// The configuration as the link reads it: checked, in the caller's units, and with the order
    /// of the stages filled in. An error names the field that makes no sense.
    pub fn understood(&self) -> Result<Self> {
        for (from, to) in &self.ports {
            ensure!(
                from <= to,
                "ports has {from} to {to}: give the lower one first"
            );
        }
        Ok(Self {
            up: self.up.understood("up", &StageName::UP)?,
            down: self.down.understood("down", &StageName::DOWN)?,
            ..self.clone()
        })
    }
}

impl Direction {
    fn understood(&self, name: &str, order: &[StageName]) -> Result<Self> {
        if let Some(rate) = self.rate_mbps {
            ensure!(
                (1e-6..=MAX_MBPS).contains(&rate),
                "{name}.rate_mbps is {rate}: give 0.000001 to {MAX_MBPS}, or null for no limit"
            );
        }
        for (field, ms) in [
            ("delay_ms", self.delay_ms),
            ("jitter_ms", self.jitter_ms),
            ("trace_offset_ms", self.trace_offset_ms),
        ] {
            ensure_ms(name, field, ms)?;
        }
        for (field, share) in [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
        ] {
            ensure_share(name, field, share)?;
        }
        ensure!(
            self.reorder == 0.0 || self.delay_ms > 0.0,
            "{name}.reorder sends packets ahead of the delay: give {name}.delay_ms too"
        );
        self.check_jitter(name)?;
        if let Some(chain) = self.gilbert_elliott {
            chain.check(name)?;
            for (field, share) in [("loss_good", chain.loss_good), ("loss_bad", chain.loss_bad)] {
                ensure_share(name, &format!("gilbert_elliott.{field}"), share)?;
            }
            ensure!(
                self.loss == 0.0,
                "{name}.loss and {name}.gilbert_elliott exclude each other: give one"
            );
        }
        for host in &self.hosts {
            ensure_ms(name, "hosts.delay_ms", host.delay_ms)?;
            ensure_share(name, "hosts.loss", host.loss)?;
        }
        ensure!(
            self.mtu != Some(0),
            "{name}.mtu is 0: give at least 1, or null for no limit"
        );
        self.check_line(name)?;
        Ok(Self {
            rate_mbps: self.rate_mbps.map(|rate| bits_per_s(rate) as f64 / 1e6),
            delay_ms: ns(self.delay_ms) as f64 / 1e6,
            queue_ms: self.queue_ms.map(|queue| ns(queue) as f64 / 1e6),
            jitter_period_ms: self.wanders().then(|| self.period_ms()),
            stages: Some(self.order(name, order)?),
            ..self.clone()
        })
    }

    fn check_jitter(&self, name: &str) -> Result<()> {
        let table = &self.jitter_table;
        ensure!(
            (self.jitter_shape == JitterShape::Table) != table.is_empty(),
            "{name}.jitter_table is of jitter_shape table: give both or neither"
        );
        let ascends = table.windows(2).all(|pair| pair[0] <= pair[1]);
        let bounded = table.iter().all(|x| x.abs() <= MOST_DEVIATIONS);
        ensure!(
            table.is_empty() || (table.len() >= 2 && ascends && bounded),
            "{name}.jitter_table needs at least 2 ascending numbers from -{MOST_DEVIATIONS} to \
             {MOST_DEVIATIONS}"
        );
        let Some(period_ms) = self.jitter_period_ms else {
            return Ok(());
        };
        ensure!(
            self.wanders(),
            "{name}.jitter_period_ms is of jitter in order: give {name}.jitter_ms, and no \
             jitter_reorders"
        );
        let least_ms = LEAST_PERIODS * self.jitter_ms;
        ensure!(
            (least_ms..=MAX_MS.max(least_ms)).contains(&period_ms),
            "{name}.jitter_period_ms is {period_ms}: give {least_ms} ({LEAST_PERIODS} times \
             jitter_ms) to {MAX_MS}"
        );
        Ok(())
    }

    fn check_line(&self, name: &str) -> Result<()> {
        if let Some(queue) = self.queue_ms {
            ensure!(
                (0.0..=MAX_MS).contains(&queue) && queue > 0.0,
                "{name}.queue_ms is {queue}: give more than 0, at most {MAX_MS}, or null for an \
                 unbounded queue"
            );
        }
        for (field, depth) in [
            ("queue_bytes", self.queue_bytes),
            ("queue_packets", self.queue_packets),
        ] {
            ensure!(
                depth != Some(0),
                "{name}.{field} is 0: give at least 1, or null for an unbounded queue"
            );
        }
        let depths = usize::from(self.queue_ms.is_some())
            + usize::from(self.queue_bytes.is_some())
            + usize::from(self.queue_packets.is_some());
        ensure!(
            depths <= 1,
            "{name}.queue_ms, queue_bytes and queue_packets exclude each other: give one"
        );
        if let Some(trace) = &self.trace {
            trace.check(name)?;
            ensure!(
                self.rate_mbps.is_none(),
                "{name}.rate_mbps and {name}.trace exclude each other: give one"
            );
        }
        let Some(aqm) = self.aqm else {
            return Ok(());
        };
        ensure!(
            self.rate_mbps.is_some() || self.trace.is_some(),
            "{name}.aqm manages the queue of a rate or trace: give {name}.rate_mbps too"
        );
        ensure!(
            self.trace.is_none() || self.queue_ms.is_none(),
            "{name}.queue_ms has no meaning under {name}.aqm with a trace: give queue_bytes or \
             queue_packets"
        );
        for (field, ms) in [
            ("target_ms", aqm.target_ms),
            ("interval_ms", aqm.interval_ms),
        ] {
            ensure_ms(name, &format!("aqm.{field}"), ms)?;
            ensure!(ms > 0.0, "{name}.aqm.{field} is {ms}: give more than 0");
        }
        ensure!(
            (1..=65_536).contains(&aqm.flows),
            "{name}.aqm.flows is {}: give 1 to 65536",
            aqm.flows
        );
        ensure!(
            aqm.quantum_bytes > 0,
            "{name}.aqm.quantum_bytes is 0: give at least 1"
        );
        Ok(())
    }
}

impl GilbertElliott {
    fn check(&self, name: &str) -> Result<()> {
        let field = |field| format!("gilbert_elliott.{field}");
        match self.pace() {
            Some(Pace::Packets { p, r }) => {
                ensure_share(name, &field("p"), p)?;
                ensure_share(name, &field("r"), r)?;
                // The state is found by going back to where the chain forgets; see `model::gilbert`.
                ensure!(
                    p + r >= 1e-6 && p + r <= 2.0 - 1e-6,
                    "{name}.gilbert_elliott.p and r add up to {}: give 0.000001 to 1.999999",
                    p + r
                );
            }
            Some(Pace::Time { .. }) => {
                let times = [("good_ms", self.good_ms), ("bad_ms", self.bad_ms)];
                for (what, ms) in times.into_iter().filter_map(|(what, ms)| Some((what, ms?))) {
                    ensure!(
                        (LEAST_STATE_MS..=MAX_MS).contains(&ms),
                        "{name}.gilbert_elliott.{what} is {ms}: give {LEAST_STATE_MS} to {MAX_MS}"
                    );
                }
            }
            None => bail!(
                "{name}.gilbert_elliott: give good_ms and bad_ms, or p and r to step with packets"
            ),
        }
        Ok(())
    }
}

fn ensure_ms(name: &str, field: &str, ms: f64) -> Result<()> {
    ensure!(
        (0.0..=MAX_MS).contains(&ms),
        "{name}.{field} is {ms}: give 0 to {MAX_MS}"
    );
    Ok(())
}

fn ensure_share(name: &str, field: &str, share: f64) -> Result<()> {
    ensure!(
        (0.0..=1.0).contains(&share),
        "{name}.{field} is {share}: give a share from 0 to 1"
    );
    Ok(())
}

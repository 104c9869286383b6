//! The settings of a link. docs/reference/network.md gives unit, default and source of every field.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::model::Pipeline;
use crate::model::effects::Context;
pub use crate::model::effects::{Direction, StageName};
use crate::nat::Nat;
use crate::steps::{self, Ready, Step};
use crate::units::ns;

const ETHERNET_HEADER: u32 = 14;

/// What counts as a packet's length for rate and queue.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Accounting {
    /// The IP packet.
    #[default]
    L3,
    /// The Ethernet frame: 14 bytes more, as netem counts.
    L2,
}

/// The settings of both directions, and the seed of their random streams.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub seed: u64,
    pub up: Direction,
    pub down: Direction,
    #[serde(default)]
    pub accounting: Accounting,
    /// Ranges of ports (first, last) whose packets the link shapes. All others are forwarded at
    /// once. If there are no ranges, every packet is shaped.
    #[serde(default)]
    pub ports: Vec<(u16, u16)>,
    /// What the link becomes while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<Step>,
    /// File for the fate of every packet: docs/reference/processes.md.
    #[serde(default)]
    pub record: Option<PathBuf>,
}

impl Config {
    /// The configuration as the link reads it: checked, in the caller's units, and with the order
    /// of the stages filled in. An error names the wrong field.
    pub fn understood(&self) -> Result<Self> {
        for (from, to) in &self.ports {
            ensure!(
                from <= to,
                "ports has {from} to {to}: give the lower one first"
            );
        }
        let read = Self {
            up: self.up.understood("up", StageName::up())?,
            down: self.down.understood("down", StageName::down())?,
            ..self.clone()
        };
        let at = steps::understood(&self.at, &read.order())?;
        Ok(Self { at, ..read })
    }

    /// What the link becomes, up and down.
    pub fn steps(&self) -> [Vec<Ready>; 2] {
        let at = |step: &Step| Self {
            up: step.up.clone(),
            down: step.down.clone(),
            at: Vec::new(),
            ..self.clone()
        };
        [
            (self.at.iter())
                .map(|step| Ready::new(step, at(step).up_pipeline(), step.drops_up))
                .collect(),
            (self.at.iter())
                .map(|step| Ready::new(step, at(step).down_pipeline(), step.drops_down))
                .collect(),
        ]
    }

    /// The NAT whose losses are among the steps.
    pub fn nat(&self) -> Nat {
        let losses = (self.at.iter()).filter_map(|step| Some((ns(step.t_ms), step.rebind?)));
        Nat::new(losses.collect())
    }

    /// The names of all effects that have a place, in their order, up and down.
    pub fn order(&self) -> [Vec<StageName>; 2] {
        [
            self.up.places(StageName::up()),
            self.down.places(StageName::down()),
        ]
    }

    /// The stages from client to origin.
    pub fn up_pipeline(&self) -> Pipeline {
        let context = self.context(1, false, &self.down);
        self.up.pipeline(StageName::up(), &context)
    }

    /// The stages from origin to client.
    pub fn down_pipeline(&self) -> Pipeline {
        let context = self.context(2, true, &self.up);
        self.down.pipeline(StageName::down(), &context)
    }

    fn context(&self, direction: u64, origin_sends: bool, other: &Direction) -> Context {
        Context {
            seed: self.seed,
            direction,
            overhead: match self.accounting {
                Accounting::L3 => 0,
                Accounting::L2 => ETHERNET_HEADER,
            },
            origin_sends,
            clamps: other.mtu.clamps(),
            silence: other.queue.silence(),
        }
    }
}

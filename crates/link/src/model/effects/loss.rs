//! Random loss: each packet by itself, or in bursts.

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::{Context, DropCause, Effect, End, Stage};
use crate::check::{MAX_MS, check_share};
use crate::model::draw::{Draws, Stream};
use crate::model::gilbert::{Chain, GilbertElliott as Chained, Pace};
use crate::model::{Counts, Fates, Packet};

/// Random loss.
pub const LOST: DropCause = DropCause::new("loss");

/// Shortest state of loss in bursts: a shorter one would keep the link busy after a long silence.
const LEAST_STATE_MS: f64 = 0.1;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    /// Share of packets lost at random, 0..=1.
    pub loss: f64,
    #[serde(default)]
    pub gilbert_elliott: Option<GilbertElliott>,
}

/// Loss in bursts: either `p` and `r`, per packet, or `good_ms` and `bad_ms`, by time.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    #[serde(default)]
    pub p: Option<f64>,
    #[serde(default)]
    pub r: Option<f64>,
    #[serde(default)]
    pub good_ms: Option<f64>,
    #[serde(default)]
    pub bad_ms: Option<f64>,
    pub loss_good: f64,
    pub loss_bad: f64,
}

impl Effect for Asked {
    const END: End = End::Client;
    const CAUSES: &[DropCause] = &[LOST];

    fn understood(&self, side: &str) -> Result<Self> {
        check_share(side, "loss", self.loss)?;
        if let Some(chain) = self.gilbert_elliott {
            chain.check(side)?;
            ensure!(
                self.loss == 0.0,
                "{side}.loss and {side}.gilbert_elliott exclude each other: give one"
            );
        }
        Ok(self.clone())
    }

    fn stage(&self, context: &Context) -> Option<Box<dyn Stage>> {
        let (seed, direction) = (context.seed, context.direction);
        if let Some(asked) = self.gilbert_elliott {
            let chain = Chain {
                pace: asked.pace().expect("checked when it was configured"),
                loss_good: asked.loss_good,
                loss_bad: asked.loss_bad,
            };
            return Some(Box::new(Chained::new(chain, seed, direction)));
        }
        (self.loss > 0.0).then(|| Box::new(Loss::new(self.loss, seed, direction)) as _)
    }
}

impl GilbertElliott {
    /// How the chain of losses moves; None without a complete pair of parameters, or with more than
    /// one pair.
    fn pace(&self) -> Option<Pace> {
        match *self {
            Self {
                p: Some(p),
                r: Some(r),
                good_ms: None,
                bad_ms: None,
                ..
            } => Some(Pace::Packets { p, r }),
            Self {
                p: None,
                r: None,
                good_ms: Some(good_ms),
                bad_ms: Some(bad_ms),
                ..
            } => Some(Pace::Time {
                good_ns: good_ms * 1e6,
                bad_ns: bad_ms * 1e6,
            }),
            _ => None,
        }
    }

    fn check(&self, side: &str) -> Result<()> {
        let field = |field| format!("gilbert_elliott.{field}");
        match self.pace() {
            Some(Pace::Packets { p, r }) => {
                check_share(side, &field("p"), p)?;
                check_share(side, &field("r"), r)?;
                // The state is found by going back to where the chain forgets; see `model::gilbert`.
                ensure!(
                    p + r >= 1e-6 && p + r <= 2.0 - 1e-6,
                    "{side}.gilbert_elliott.p and r add up to {}: give 0.000001 to 1.999999",
                    p + r
                );
            }
            Some(Pace::Time { .. }) => {
                let times = [("good_ms", self.good_ms), ("bad_ms", self.bad_ms)];
                for (what, ms) in times.into_iter().filter_map(|(what, ms)| Some((what, ms?))) {
                    ensure!(
                        (LEAST_STATE_MS..=MAX_MS).contains(&ms),
                        "{side}.gilbert_elliott.{what} is {ms}: give {LEAST_STATE_MS} to {MAX_MS}"
                    );
                }
            }
            None => bail!(
                "{side}.gilbert_elliott: give good_ms and bad_ms, or p and r to step with packets"
            ),
        }
        check_share(side, &field("loss_good"), self.loss_good)?;
        check_share(side, &field("loss_bad"), self.loss_bad)
    }
}

/// Bernoulli loss as a pure function of (seed, direction, packet index).
///
/// It loses each packet with the same probability, by its index alone: whatever a stack sends and
/// whenever it sends it, the n-th packet of a direction meets the same fate under the same seed.
/// The loss sets of one seed are nested: what is lost at 1 % is also lost at 2 %.
pub struct Loss {
    share: f64,
    draws: Draws,
    trials: u64,
    fates: Fates,
}

impl Loss {
    /// `share` of packets is lost, 0..=1; `direction` separates the two streams of a seed.
    pub fn new(share: f64, seed: u64, direction: u64) -> Self {
        let draws = Draws::new(seed, direction, Stream::Loss);
        Self {
            share,
            draws,
            trials: 0,
            fates: Fates::default(),
        }
    }
}

impl Stage for Loss {
    fn take(&mut self, mut packet: Packet) -> Option<Packet> {
        self.trials += 1;
        let lost = self.draws.of(&packet) < self.share;
        self.fates.note(&packet, lost);
        packet.dropped = lost.then_some(LOST);
        Some(packet)
    }

    fn count(&self, counts: &mut Counts) {
        counts.loss_trials += self.trials;
        counts.loss_fates.push_str(&self.fates.runs());
    }
}

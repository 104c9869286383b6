//! The effects of a link. One file declares one effect: its parameters, their checks, the stage
//! that applies it, and why it drops packets. docs/howto/add-an-effect.md adds an effect.

pub mod clamp;
pub mod delay;
pub mod duplicate;
pub mod grant;
pub mod hosts;
pub mod loss;
pub mod middlebox;
pub mod mtu;
pub mod policer;
pub mod queue;
pub mod udp;

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Deserializer, Serialize};

use super::{DropCause, Pipeline, Silence, Stage};

/// Makes the configuration of a direction from its effects, in the order in which a packet meets
/// them downstream. The effects in `first` come before all others and cannot be placed.
macro_rules! effects {
    (first [$($first:ident)*] placed [$($placed:ident)*]) => {
        /// One direction of a link, as `dragstrip.model.effects.Direction`. An absent field is an
        /// effect that is switched off, except for the few fields that must be present.
        #[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
        #[serde(deny_unknown_fields)]
        pub struct Direction {
            $(#[serde(flatten)] pub $first: $first::Asked,)*
            $(#[serde(flatten)] pub $placed: $placed::Asked,)*
            /// Order of the stages; None is the side's default order.
            #[serde(default)]
            pub stages: Option<Vec<StageName>>,
        }

        /// Effects that have a place, from origin to client.
        const PLACES: &[(&str, End)] =
            &[$((stringify!($placed), <$placed::Asked as Effect>::END)),*];

        /// Why packets are dropped, by effect.
        pub const CAUSES: &[&[DropCause]] = &[
            $(<$first::Asked as Effect>::CAUSES,)* $(<$placed::Asked as Effect>::CAUSES,)*
        ];

        impl Direction {
            fn each_understood(&self, side: &str) -> Result<Self> {
                Ok(Self {
                    $($first: self.$first.understood(side)?,)*
                    $($placed: self.$placed.understood(side)?,)*
                    stages: self.stages.clone(),
                })
            }

            fn first(&self, context: &Context) -> Vec<Option<Box<dyn Stage>>> {
                vec![$(self.$first.stage(context)),*]
            }

            fn stage(&self, name: &str, context: &Context) -> Option<Box<dyn Stage>> {
                match name {
                    $(stringify!($placed) => self.$placed.stage(context),)*
                    _ => None,
                }
            }
        }
    };
}

effects! {
    first [middlebox clamp udp grant]
    placed [hosts mtu policer queue delay duplicate loss]
}

/// One effect of a direction with its parameters. An absent field is switched off.
pub trait Effect: Sized {
    /// Where the effect belongs: at an end, or between.
    const END: End = End::Between;
    /// Why the effect drops packets.
    const CAUSES: &[DropCause] = &[];

    /// Checks the parameters and returns them as the link reads them, in the caller's units. An
    /// error names `side` and the wrong field.
    fn understood(&self, side: &str) -> Result<Self>;

    /// The stage that applies the effect; None if the effect is not requested.
    fn stage(&self, context: &Context) -> Option<Box<dyn Stage>>;
}

/// The place that an effect belongs to. Upstream a packet meets the client's end first, downstream
/// last. Effects in between keep their order.
#[derive(Clone, Copy, PartialEq)]
pub enum End {
    Origin,
    Between,
    Client,
}

/// What a stage needs to know: the source of its random numbers, and how bytes are counted.
#[derive(Clone, Default)]
pub struct Context {
    pub seed: u64,
    /// Separates the random streams of up (1) and down (2).
    pub direction: u64,
    /// Additional bytes that are counted with every packet.
    pub overhead: u32,
    pub origin_sends: bool,
    /// The other direction's MTU, if it clamps SYNs.
    pub clamps: Option<u32>,
    /// When the other direction carries nothing.
    pub silence: Silence,
}

/// A place in a direction's order of stages, by the name of its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StageName(&'static str);

impl<'de> Deserialize<'de> for StageName {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let name = String::deserialize(value)?;
        let place = PLACES.iter().find(|(known, _)| *known == name);
        place.map(|(known, _)| Self(known)).ok_or_else(|| {
            let known: Vec<&str> = Self::down().iter().map(|stage| stage.0).collect();
            serde::de::Error::custom(format!(
                "unknown stage `{name}`, expected one of {}",
                known.join(", ")
            ))
        })
    }
}

impl StageName {
    /// The order from origin to client.
    pub fn down() -> Vec<Self> {
        PLACES.iter().map(|(name, _)| Self(name)).collect()
    }

    /// The order from client to origin.
    pub fn up() -> Vec<Self> {
        let at = |end: End| PLACES.iter().filter(move |place| place.1 == end);
        let order = at(End::Client)
            .rev()
            .chain(at(End::Between))
            .chain(at(End::Origin).rev());
        order.map(|(name, _)| Self(name)).collect()
    }
}

impl Direction {
    /// The direction as the link reads it: checked, and with the order of its stages.
    pub fn understood(&self, side: &str, default: Vec<StageName>) -> Result<Self> {
        let stages = Some(self.order(side, default)?);
        Ok(Self {
            stages,
            ..self.each_understood(side)?
        })
    }

    pub fn pipeline(&self, default: Vec<StageName>, context: &Context) -> Pipeline {
        let first = self.first(context).into_iter();
        let order = self.places(default).into_iter();
        Pipeline::placed(first.chain(order.map(|name| self.stage(name.0, context))))
    }

    /// Every effect that has a place. Effects that the requested order leaves out follow their
    /// neighbour in the default order.
    pub fn places(&self, default: Vec<StageName>) -> Vec<StageName> {
        let Some(mut order) = self.stages.clone() else {
            return default;
        };
        let mut neighbour = None;
        for stage in default {
            if !order.contains(&stage) {
                let before = order.iter().position(|other| Some(*other) == neighbour);
                order.insert(before.map_or(0, |at| at + 1), stage);
            }
            neighbour = Some(stage);
        }
        order
    }

    /// The requested order of stages, or the side's default order. Fails if a stage is named twice,
    /// or if the stage of a requested effect is missing.
    fn order(&self, side: &str, default: Vec<StageName>) -> Result<Vec<StageName>> {
        let Some(order) = &self.stages else {
            return Ok(default);
        };
        for (at, stage) in order.iter().enumerate() {
            ensure!(
                !order[..at].contains(stage),
                "{side}.stages names {} twice: each stage has one place",
                stage.0
            );
        }
        for stage in default {
            if !order.contains(&stage) && self.stage(stage.0, &Context::default()).is_some() {
                bail!(
                    "{side}.stages lacks {}, which is asked for: give it a place",
                    stage.0
                );
            }
        }
        Ok(order.clone())
    }
}

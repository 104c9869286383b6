//! Steps: moments of a load at which the link becomes another one.

use std::collections::VecDeque;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::check::MAX_MS;
use crate::config::{Direction, StageName};
use crate::meter::{Meter, Report};
use crate::model::{Counts, DropCause, Packet, Pipeline, Waiting};
use crate::nat::{Rebind, Rebinding};
use crate::units::ns;

/// Both directions as they are from `t_ms` after the moment that `start` names.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub t_ms: f64,
    pub up: Direction,
    pub down: Direction,
    /// Whether packets that wait for the upstream line are dropped; otherwise they wait for the new
    /// line.
    #[serde(default)]
    pub drops_up: bool,
    #[serde(default)]
    pub drops_down: bool,
    /// What a NAT at the client's end forgets.
    #[serde(default)]
    pub rebind: Option<Rebind>,
}

/// The steps as the link reads them. An error names the step.
pub fn understood(steps: &[Step], order: &[Vec<StageName>; 2]) -> Result<Vec<Step>> {
    let mut before_ms = 0.0;
    let mut read = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        ensure!(
            step.t_ms > before_ms && step.t_ms <= MAX_MS,
            "at[{at}].t_ms is {}: give more than {before_ms}, at most {MAX_MS}",
            step.t_ms
        );
        before_ms = step.t_ms;
        let up = (step.up).understood(&format!("at[{at}].up"), StageName::up())?;
        let down = (step.down).understood(&format!("at[{at}].down"), StageName::down())?;
        ensure!(
            [up.places(StageName::up()), down.places(StageName::down())] == *order,
            "at[{at}] has another order of stages: a link that changes keeps it"
        );
        read.push(Step {
            up,
            down,
            ..step.clone()
        });
    }
    Ok(read)
}

/// A step of one direction, ready to be made.
pub struct Ready {
    /// The step's time, in ns after the steps' zero.
    pub after_ns: u64,
    pub pipeline: Pipeline,
    pub waiting: Waiting,
}

impl Ready {
    pub fn new(step: &Step, pipeline: Pipeline, drops: bool) -> Self {
        Self {
            after_ns: ns(step.t_ms),
            pipeline,
            waiting: if drops {
                Waiting::Dropped
            } else {
                Waiting::Kept
            },
        }
    }
}

/// The steps of one direction that are still to come. Nothing is due before they start.
#[derive(Default)]
pub struct Schedule {
    steps: VecDeque<Ready>,
    zero_ns: Option<u64>,
}

impl Schedule {
    pub fn new(steps: Vec<Ready>) -> Self {
        Self {
            steps: steps.into(),
            zero_ns: None,
        }
    }

    /// Sets the moment from which the steps count.
    pub fn start(&mut self, zero_ns: u64) {
        self.zero_ns = Some(zero_ns);
    }

    /// When the next step is due.
    pub fn next_ns(&self) -> Option<u64> {
        Some(self.zero_ns? + self.steps.front()?.after_ns)
    }

    /// The next step, if it is due by `now_ns`, and when it is due.
    pub fn due(&mut self, now_ns: u64) -> Option<(u64, Ready)> {
        let at_ns = self.next_ns().filter(|at_ns| *at_ns <= now_ns)?;
        self.steps.pop_front().map(|step| (at_ns, step))
    }
}

/// What a direction did between two steps.
pub struct Phase {
    at_ns: u64,
    meter: Meter,
    /// What the direction's stages counted; None while the phase lasts.
    counts: Option<Counts>,
}

/// What a direction did between its steps, one phase after the other; none without steps.
#[derive(Default)]
pub struct Phases(Vec<Phase>);

impl Phases {
    /// Begins a phase, and ends the one before, whose stages counted `counts`.
    pub fn begin(&mut self, at_ns: u64, counts: Counts) {
        if let Some(before) = self.0.last_mut() {
            before.counts = Some(counts);
        }
        self.0.push(Phase {
            at_ns,
            meter: Meter::default(),
            counts: None,
        });
    }

    /// Counts something in the current phase.
    pub fn count(&mut self, count: impl FnOnce(&mut Meter)) {
        if let Some(phase) = self.0.last_mut() {
            count(&mut phase.meter);
        }
    }

    /// Counts a packet that was sent. A packet that met two links counts in no measure of time.
    pub fn sent(&mut self, packet: &Packet, actual_ns: u64) {
        self.count(|meter| {
            if packet.straddles {
                meter.straddled();
            } else {
                meter.sent(packet, actual_ns);
            }
        });
    }

    /// Counts a packet that was dropped. A packet that met two links counts in no measure of time.
    pub fn dropped(&mut self, packet: &Packet, cause: DropCause) {
        self.count(|meter| {
            if packet.straddles {
                meter.straddled();
                meter.lost(cause);
            } else {
                meter.dropped(packet, cause);
            }
        });
    }

    /// When each phase began, and what happened in it. `counts` are those since the last step.
    pub fn report(&self, counts: &Counts) -> Vec<(u64, Report)> {
        let report = |phase: &Phase| {
            let counts = phase.counts.as_ref().unwrap_or(counts).clone();
            (phase.at_ns, phase.meter.report(0, counts, 0).of_phase())
        };
        self.0.iter().map(report).collect()
    }
}

/// One phase of the answer to `stats`, as `dragstrip.model.visit.PhaseReport`.
#[derive(Serialize)]
pub struct PhaseReport {
    pub at_us: u64,
    pub up: Report,
    pub down: Report,
    /// How clients' flows appeared to the origin, where a NAT had forgotten them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebinding: Option<Rebinding>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(after_ns: u64) -> Ready {
        Ready {
            after_ns,
            pipeline: Pipeline::default(),
            waiting: Waiting::Kept,
        }
    }

    #[test]
    fn no_step_is_due_before_the_schedule_starts() {
        let mut schedule = Schedule::new(vec![ready(10)]);
        assert!(schedule.due(1_000).is_none());
        schedule.start(500);
        assert_eq!(schedule.next_ns(), Some(510));
        assert!(schedule.due(509).is_none());
        assert_eq!(schedule.due(600).map(|(at_ns, _)| at_ns), Some(510));
        assert_eq!(schedule.next_ns(), None);
    }

    #[test]
    fn a_packet_of_two_links_is_in_no_measure_of_time() {
        let mut phases = Phases::default();
        phases.begin(0, Counts::default());
        let packet = Packet::new(0, 100, 5, 0);
        phases.sent(&packet, 25);
        phases.begin(30, Counts::default());
        phases.sent(
            &Packet {
                straddles: true,
                ..packet
            },
            31,
        );
        let report = phases.report(&Counts::default());
        assert_eq!(report[0].1.transit_min_ms, Some(20e-6));
        assert_eq!(report[1].1.transit_min_ms, None);
        assert_eq!((report[0].0, report[1].0), (0, 30));
    }
}

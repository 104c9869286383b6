//! The line after a queue: computes when waiting bytes have crossed it.

use super::opportunities::Opportunities;
use super::time::{NEVER_NS, NS};

/// A line with a fixed rate, with a rate that follows a trace, or with single opportunities to
/// send.
pub enum Line {
    Fluid(Fluid),
    Opportunities(Opportunities),
    /// Carries no packets.
    Stopped,
}

impl Line {
    /// A line with a fixed rate of `bits_per_s`, at least 1.
    pub fn fixed(bits_per_s: u64) -> Self {
        let lasts_ns = u64::MAX;
        Self::Fluid(Fluid::new(vec![Step {
            bits_per_s,
            lasts_ns,
        }]))
    }

    /// A line that plays these rates one after the other, in a loop. At least one rate is above 0.
    pub fn steps(steps: Vec<Step>) -> Self {
        Self::Fluid(Fluid::new(steps))
    }

    /// Sets the time from which a trace plays.
    pub fn begin(&mut self, epoch_ns: u64) {
        match self {
            Self::Fluid(fluid) => fluid.begin(epoch_ns),
            Self::Opportunities(opportunities) => opportunities.begin(epoch_ns),
            Self::Stopped => (),
        }
    }

    /// When the first byte of a packet that came at `at_ns` can be sent.
    pub fn start_ns(&self, at_ns: u64) -> u64 {
        match self {
            Self::Fluid(fluid) => fluid.free_ns.max(at_ns),
            Self::Opportunities(opportunities) => opportunities.start_ns(at_ns),
            Self::Stopped => NEVER_NS,
        }
    }

    /// Carries a packet that came at `at_ns`, after all earlier ones; returns when its last byte
    /// has crossed, rounded up.
    pub fn carry(&mut self, at_ns: u64, bytes: u32) -> u64 {
        match self {
            Self::Fluid(fluid) => fluid.carry(at_ns, bytes),
            Self::Opportunities(opportunities) => opportunities.carry(at_ns, bytes),
            Self::Stopped => NEVER_NS,
        }
    }
}

/// A stretch of constant rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub bits_per_s: u64,
    pub lasts_ns: u64,
}

/// A line on which bytes flow at the current rate.
pub struct Fluid {
    steps: Vec<Step>,
    lap_ns: u64,
    /// Capacity of a lap, in bits times ns per s, like `work` below.
    lap_work: u128,
    /// The step that is in effect at `free_ns`, and when it ends.
    place: (usize, u64),
    /// The line is free from `free_ns` + `remainder` / rate ns. This is exact, so nothing drifts.
    free_ns: u64,
    remainder: u64,
}

impl Fluid {
    fn new(steps: Vec<Step>) -> Self {
        let work = |step: &Step| u128::from(step.bits_per_s) * u128::from(step.lasts_ns);
        Self {
            lap_ns: steps.iter().map(|step| step.lasts_ns).sum(),
            lap_work: steps.iter().map(work).sum(),
            place: (0, steps[0].lasts_ns),
            steps,
            free_ns: 0,
            remainder: 0,
        }
    }

    fn begin(&mut self, epoch_ns: u64) {
        self.place = (0, epoch_ns.saturating_add(self.steps[0].lasts_ns));
    }

    fn carry(&mut self, at_ns: u64, bytes: u32) -> u64 {
        if at_ns > self.free_ns {
            self.free_ns = at_ns;
            self.remainder = 0;
        }
        let (mut at, mut ends_ns) = self.sought();
        let mut work = u64::from(bytes) * 8 * NS + self.remainder;
        if u128::from(work) > self.lap_work {
            if self.free_ns == NEVER_NS {
                return NEVER_NS;
            }
            let laps = u128::from(work - 1) / self.lap_work;
            let leap_ns = (laps * u128::from(self.lap_ns)).min(u128::from(NEVER_NS)) as u64;
            self.free_ns += leap_ns;
            ends_ns += leap_ns;
            work -= (laps * self.lap_work) as u64; // the rest is less than `work`
        }
        let bits_per_s = loop {
            let bits_per_s = self.steps[at].bits_per_s;
            let room = u128::from(bits_per_s) * u128::from(ends_ns - self.free_ns);
            // In an outage nothing crosses, not even a packet without bytes.
            if bits_per_s > 0 && u128::from(work) <= room {
                break bits_per_s;
            }
            work -= room as u64; // the room is less than `work`
            self.free_ns = ends_ns;
            at = (at + 1) % self.steps.len();
            ends_ns += self.steps[at].lasts_ns;
        };
        self.place = (at, ends_ns);
        self.free_ns = NEVER_NS.min(self.free_ns + work / bits_per_s);
        self.remainder = work % bits_per_s;
        self.free_ns + u64::from(self.remainder > 0)
    }

    /// The step that is in effect at `free_ns`. Whole laps since the last packet are skipped.
    fn sought(&self) -> (usize, u64) {
        let (mut at, mut ends_ns) = self.place;
        if ends_ns <= self.free_ns {
            ends_ns += (self.free_ns - ends_ns) / self.lap_ns * self.lap_ns;
        }
        while ends_ns <= self.free_ns {
            at = (at + 1) % self.steps.len();
            ends_ns += self.steps[at].lasts_ns;
        }
        (at, ends_ns)
    }
}

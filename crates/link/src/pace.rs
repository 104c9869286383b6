//! Decides how a forwarding thread waits: asleep until shortly before a packet is due, then awake.
//!
//! A timer wakes a thread some tens of microseconds late, more on a virtual machine. So the thread
//! sets its timer earlier, by as much as recent wakings were late, and spins for the rest. A budget
//! bounds the spinning: once it is spent, the thread sleeps to the deadline itself. In virtual time
//! timers fire when they are due, and each reading of the clock in a spin would cost time.

/// Longest spin before a deadline.
const MAX_MARGIN_NS: u64 = 80_000;
const MIN_MARGIN_NS: u64 = 5_000;
/// The part of time that may be spent spinning, saved up to `BUDGET_CAP_NS`.
const BUDGET_SHARE: u64 = 4;
const BUDGET_CAP_NS: u64 = 2_000_000;

#[derive(Debug, PartialEq)]
pub enum Wait {
    /// Sleep for this many ns, or forever, until something happens.
    Sleep(Option<u64>),
    /// Stay awake until that time.
    Spin(u64),
}

pub struct Pace {
    pub exact_timers: bool,
    margin_ns: u64,
    budget_ns: u64,
    planned_ns: u64,
}

impl Pace {
    pub fn new(now_ns: u64, exact_timers: bool) -> Self {
        Self {
            exact_timers,
            margin_ns: MAX_MARGIN_NS,
            budget_ns: BUDGET_CAP_NS,
            planned_ns: now_ns,
        }
    }

    /// Decides how to wait for `due_ns`, which lies in the future.
    pub fn plan(&mut self, now_ns: u64, due_ns: Option<u64>) -> Wait {
        let earned_ns = (now_ns - self.planned_ns) / BUDGET_SHARE;
        self.budget_ns = (self.budget_ns + earned_ns).min(BUDGET_CAP_NS);
        self.planned_ns = now_ns;
        let Some(left_ns) = due_ns.map(|due_ns| due_ns.saturating_sub(now_ns)) else {
            return Wait::Sleep(None);
        };
        if self.exact_timers || self.budget_ns < MAX_MARGIN_NS {
            Wait::Sleep(Some(left_ns))
        } else if left_ns > self.margin_ns {
            Wait::Sleep(Some(left_ns - self.margin_ns))
        } else {
            Wait::Spin(now_ns + left_ns)
        }
    }

    pub fn spun(&mut self, spun_ns: u64) {
        self.budget_ns = self.budget_ns.saturating_sub(spun_ns);
    }

    /// Records a sleep that a timer ended. The margin grows quickly after late wakings, and shrinks
    /// slowly.
    pub fn slept(&mut self, asked_ns: u64, slept_ns: u64) {
        let late_ns = slept_ns.saturating_sub(asked_ns);
        self.margin_ns = if late_ns > self.margin_ns {
            self.margin_ns + (late_ns - self.margin_ns) / 4
        } else {
            self.margin_ns - (self.margin_ns - late_ns) / 64
        }
        .clamp(MIN_MARGIN_NS, MAX_MARGIN_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_due_means_sleep_without_end() {
        assert_eq!(Pace::new(0, false).plan(5, None), Wait::Sleep(None));
    }

    #[test]
    fn sleeps_until_the_margin_and_spins_through_it() {
        let mut pace = Pace::new(0, false);
        let asleep = Wait::Sleep(Some(1_000_000 - MAX_MARGIN_NS));
        assert_eq!(pace.plan(0, Some(1_000_000)), asleep);
        assert_eq!(pace.plan(950_000, Some(1_000_000)), Wait::Spin(1_000_000));
    }

    #[test]
    fn exact_timers_need_neither_margin_nor_spin() {
        let mut pace = Pace::new(0, true);
        for due_ns in [1, 1_000, 1_000_000] {
            assert_eq!(pace.plan(0, Some(due_ns)), Wait::Sleep(Some(due_ns)));
        }
    }

    #[test]
    fn margin_shrinks_to_what_punctual_timers_need() {
        let mut pace = Pace::new(0, false);
        for _ in 0..1000 {
            pace.slept(100_000, 100_000 + 10_000);
        }
        let Wait::Sleep(Some(ns)) = pace.plan(0, Some(1_000_000)) else {
            panic!("a distant deadline is slept towards");
        };
        assert!((985_000..=990_000).contains(&ns), "slept {ns} ns");
    }

    #[test]
    fn never_spins_longer_than_its_share() {
        let mut pace = Pace::new(0, false);
        let (mut now_ns, mut spun_ns) = (0, 0);
        while now_ns < 1_000_000_000 {
            let due_ns = now_ns + 10_000;
            if let Wait::Spin(until_ns) = pace.plan(now_ns, Some(due_ns)) {
                assert!(until_ns - now_ns <= MAX_MARGIN_NS);
                pace.spun(until_ns - now_ns);
                spun_ns += until_ns - now_ns;
            }
            now_ns = due_ns;
        }
        assert!(spun_ns <= 1_000_000_000 / BUDGET_SHARE + BUDGET_CAP_NS);
    }
}

//! A delay that was recorded over time.

/// The delay is a function of the time since the link's time 0, whatever packets are sent. After
/// its end the recording begins again.
pub struct Recorded {
    /// When each delay ends, ascending, and the delay, in ns.
    steps: Vec<(u64, u64)>,
    epoch_ns: u64,
}

impl Recorded {
    /// Creates a recording of at least one step that ends after its beginning.
    pub fn new(steps: Vec<(u64, u64)>) -> Self {
        Self { steps, epoch_ns: 0 }
    }

    pub fn begin(&mut self, epoch_ns: u64) {
        self.epoch_ns = epoch_ns;
    }

    /// The delay of a packet that begins its way at `at_ns`.
    pub fn delay_ns(&self, at_ns: u64) -> u64 {
        let lap_ns = self.steps[self.steps.len() - 1].0;
        let into_ns = at_ns.saturating_sub(self.epoch_ns) % lap_ns;
        self.steps[self.steps.partition_point(|(end_ns, _)| *end_ns <= into_ns)].1
    }

    pub fn least_ns(&self) -> u64 {
        self.steps
            .iter()
            .map(|(_, delay_ns)| *delay_ns)
            .min()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_holds_until_the_next_and_the_recording_loops() {
        let mut recorded = Recorded::new(vec![(10, 7), (25, 3)]);
        recorded.begin(100);
        let at = [0, 100, 109, 110, 124, 125, 134, 135];
        assert_eq!(at.map(|ns| recorded.delay_ns(ns)), [7, 7, 7, 3, 3, 7, 7, 3]);
        assert_eq!(recorded.least_ns(), 3);
    }
}

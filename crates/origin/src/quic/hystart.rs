//! Ends slow start without a loss: as Linux's CUBIC does, or by RFC 9406.
//!
//! Both were made for TCP, whose receivers acknowledge every second packet. Chromium acknowledges
//! every tenth packet of a long QUIC answer. So each acknowledgement counts as the number that TCP
//! would have got; otherwise a queue would be found one round trip later.
//!
//! Pure: time is an argument. A round lasts until a packet is acknowledged that was sent after the
//! round began.

use std::time::{Duration, Instant};

use crate::algorithms::SlowStartExit;

/// RTT samples that a round needs before its least one counts: `HYSTART_MIN_SAMPLES`, N_RTT_SAMPLE.
const SAMPLES: u32 = 8;
/// Growth of the least round trip that shows a queue: an eighth, within these bounds.
const SHARE_OF_RTT: u32 = 8;
const LEAST_GROWTH: Duration = Duration::from_millis(4);
const MOST_GROWTH: Duration = Duration::from_millis(16);

/// What has just been acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acks {
    pub now: Instant,
    pub packets: u32,
    /// When the newest of the acknowledged packets was made.
    pub sent: Instant,
    /// The round trip of the newest acknowledged packet.
    pub rtt: Duration,
    /// When the newest packet of all those sent was made.
    pub last_sent: Instant,
}

impl Acks {
    /// Returns how many acknowledgements TCP would have got.
    fn of_tcp(&self) -> u32 {
        self.packets.div_ceil(2)
    }
}

/// How slow start goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// The window grows by each acknowledged byte; by at most `packets` for one acknowledgement.
    Full { packets: Option<u32> },
    /// The window grows by a share of the acknowledged bytes (RFC 9406's Conservative Slow Start).
    Slow { divisor: u32, packets: Option<u32> },
    /// Slow start is over: the window stays as it is.
    Over,
}

#[derive(Debug, Clone)]
pub(crate) enum Watch {
    Nothing,
    Linux(Hystart),
    PlusPlus(HystartPlusPlus),
}

impl Watch {
    pub fn new(exit: SlowStartExit, paced: bool, now: Instant) -> Self {
        match exit {
            SlowStartExit::None => Self::Nothing,
            SlowStartExit::Hystart => Self::Linux(Hystart::new(paced, now)),
            SlowStartExit::HystartPlusPlus => Self::PlusPlus(HystartPlusPlus::new(paced, now)),
        }
    }

    /// The configured exit.
    pub fn kind(&self) -> SlowStartExit {
        match self {
            Self::Nothing => SlowStartExit::None,
            Self::Linux(_) => SlowStartExit::Hystart,
            Self::PlusPlus(_) => SlowStartExit::HystartPlusPlus,
        }
    }

    /// Looks at acknowledgements during slow start, before the window grows by them.
    pub fn look(&mut self, acks: Acks, window_packets: u64) -> Growth {
        match self {
            Self::Nothing => Growth::Full { packets: None },
            Self::Linux(hystart) => hystart.look(acks, window_packets),
            Self::PlusPlus(plus) => plus.look(acks),
        }
    }

    /// Starts again, because slow start begins again.
    pub fn restart(&mut self, now: Instant) {
        match self {
            Self::Nothing => {}
            Self::Linux(hystart) => *hystart = Hystart::new(hystart.paced, now),
            Self::PlusPlus(plus) => *plus = HystartPlusPlus::new(plus.paced, now),
        }
    }
}

/// A round trip's worth of acknowledgements.
#[derive(Debug, Clone, Copy)]
struct Round {
    began: Instant,
    /// The round ends when a packet is acknowledged that was made after this.
    until: Instant,
    least: Duration,
    samples: u32,
}

impl Round {
    fn new(began: Instant, until: Instant) -> Self {
        Self {
            began,
            until,
            least: Duration::MAX,
            samples: 0,
        }
    }
}

/// HyStart as in Linux 6.18 and 7.2 (`hystart_update` of net/ipv4/tcp_cubic.c): a train of
/// acknowledgements that lasts half the least round trip, or a round trip that grows.
#[derive(Debug, Clone)]
pub(crate) struct Hystart {
    paced: bool,
    delay_min: Duration,
    round: Round,
    /// The last acknowledgement of the train.
    train: Instant,
}

impl Hystart {
    /// `hystart_low_window`, packets.
    const LOW_WINDOW: u64 = 16;
    /// `hystart_ack_delta_us`: acknowledgements this close belong to one train.
    const TRAIN_GAP: Duration = Duration::from_millis(2);
    /// `hystart_ack_delay`: the allowance for aggregated segments, which below 2 Gbit/s is always at
    /// its limit.
    const AGGREGATION: Duration = Duration::from_millis(1);

    fn new(paced: bool, now: Instant) -> Self {
        Self {
            paced,
            delay_min: Duration::MAX,
            round: Round::new(now, now),
            train: now,
        }
    }

    fn look(&mut self, acks: Acks, window_packets: u64) -> Growth {
        self.delay_min = self.delay_min.min(acks.rtt);
        if acks.sent > self.round.until {
            self.round = Round::new(acks.now, acks.last_sent);
            self.train = acks.now;
        }
        if window_packets < Self::LOW_WINDOW {
            return Growth::Full { packets: None };
        }
        if self.train_is_long(acks) | self.delay_grew(acks) {
            return Growth::Over;
        }
        Growth::Full { packets: None }
    }

    fn train_is_long(&mut self, acks: Acks) -> bool {
        let now = acks.now;
        if now - self.train > Self::TRAIN_GAP * acks.of_tcp() {
            return false;
        }
        self.train = now;
        let mut threshold = self.delay_min + Self::AGGREGATION;
        // Pacing spreads packets over up to half a round trip in slow start.
        if !self.paced {
            threshold /= 2;
        }
        now - self.round.began > threshold
    }

    fn delay_grew(&mut self, acks: Acks) -> bool {
        self.round.least = self.round.least.min(acks.rtt);
        self.round.samples += acks.of_tcp();
        if self.round.samples <= SAMPLES {
            return false;
        }
        self.round.least > self.delay_min + growth(self.delay_min)
    }
}

/// HyStart++ (RFC 9406 section 4.2).
#[derive(Debug, Clone)]
pub(crate) struct HystartPlusPlus {
    paced: bool,
    round: Round,
    /// Least round trip of the round before; `Duration::MAX` if there was none.
    last_least: Duration,
    /// State of Conservative Slow Start; None outside it.
    conservative: Option<Conservative>,
}

#[derive(Debug, Clone, Copy)]
struct Conservative {
    /// cssBaselineMinRtt.
    baseline: Duration,
    rounds: u32,
}

impl HystartPlusPlus {
    /// CSS_GROWTH_DIVISOR and CSS_ROUNDS (section 4.3).
    const GROWTH_DIVISOR: u32 = 4;
    const ROUNDS: u32 = 5;
    /// L, packets: infinite for a sender that paces.
    const MOST_PACKETS: u32 = 8;

    fn new(paced: bool, now: Instant) -> Self {
        Self {
            paced,
            round: Round::new(now, now),
            last_least: Duration::MAX,
            conservative: None,
        }
    }

    fn look(&mut self, acks: Acks) -> Growth {
        if acks.sent > self.round.until {
            self.last_least = self.round.least;
            self.round = Round::new(acks.now, acks.last_sent);
            if let Some(conservative) = &mut self.conservative {
                conservative.rounds += 1;
                if conservative.rounds > Self::ROUNDS {
                    return Growth::Over;
                }
            }
        }
        self.round.least = self.round.least.min(acks.rtt);
        self.round.samples += acks.of_tcp();
        if self.round.samples >= SAMPLES {
            self.judge();
        }
        let packets = (!self.paced).then_some(Self::MOST_PACKETS);
        match self.conservative {
            None => Growth::Full { packets },
            Some(_) => Growth::Slow {
                divisor: Self::GROWTH_DIVISOR,
                packets,
            },
        }
    }

    fn judge(&mut self) {
        let least = self.round.least;
        match self.conservative {
            None if self.last_least < Duration::MAX
                && least >= self.last_least + growth(self.last_least) =>
            {
                self.conservative = Some(Conservative {
                    baseline: least,
                    rounds: 1, // the rest of this round counts
                });
            }
            Some(conservative) if least < conservative.baseline => self.conservative = None,
            _ => {}
        }
    }
}

/// Returns the growth that shows a queue, for a round trip of this length.
fn growth(rtt: Duration) -> Duration {
    (rtt / SHARE_OF_RTT).clamp(LEAST_GROWTH, MOST_GROWTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Growth = Growth::Full { packets: None };

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Feeds rounds of acknowledgements to a watch, as a sender that fills its window does: each
    /// acknowledgement lets further packets out.
    struct Rounds {
        watch: Watch,
        now: Instant,
        /// Packets of an acknowledgement.
        packets: u32,
    }

    impl Rounds {
        fn new(exit: SlowStartExit, paced: bool) -> Self {
            let now = Instant::now();
            Self {
                watch: Watch::new(exit, paced, now),
                now,
                packets: 2,
            }
        }

        /// Plays a round of `acks` acknowledgements, `gap` apart, of packets that took `rtt`.
        /// Returns the last growth, and how many acknowledgements kept the growth `FULL`.
        fn round(&mut self, acks: u32, gap: Duration, rtt: Duration) -> (Growth, u32) {
            let began = self.now;
            self.now += rtt;
            for number in 1..=acks {
                let acks = Acks {
                    now: self.now,
                    packets: self.packets,
                    sent: began + ms(1),
                    rtt,
                    last_sent: self.now,
                };
                let said = self.watch.look(acks, 64);
                if said != FULL {
                    return (said, number);
                }
                self.now += gap;
            }
            (FULL, acks)
        }
    }

    #[test]
    fn linux_leaves_slow_start_when_a_round_trip_grows_by_an_eighth() {
        // Net of the 4 ms below which nothing counts, and the 16 ms above which everything does.
        for (rtt, stays, leaves) in [(16, 20, 21), (80, 90, 91), (400, 416, 417)] {
            for (later, expected) in [(stays, FULL), (leaves, Growth::Over)] {
                let mut rounds = Rounds::new(SlowStartExit::Hystart, true);
                assert_eq!(rounds.round(12, ms(3), ms(rtt)).0, FULL);
                let (said, after) = rounds.round(12, ms(3), ms(later));
                assert_eq!(said, expected, "{rtt} ms, then {later}");
                assert!(said == FULL || after == SAMPLES + 1);
            }
        }
    }

    #[test]
    fn linux_leaves_slow_start_after_a_train_of_half_a_round_trip() {
        for (paced, lasts) in [(false, 51 / 2), (true, 51)] {
            let mut rounds = Rounds::new(SlowStartExit::Hystart, paced);
            assert_eq!(rounds.round(10, ms(1), ms(50)).0, FULL);
            let (said, after) = rounds.round(100, ms(1), ms(50));
            assert_eq!(said, Growth::Over);
            assert_eq!(
                after,
                lasts + 2,
                "the first is at 0 ms, and longer is meant"
            );
            let mut rounds = Rounds::new(SlowStartExit::Hystart, paced);
            assert_eq!(rounds.round(100, ms(3), ms(50)).0, FULL, "no train");
        }
    }

    #[test]
    fn acknowledgements_of_ten_packets_end_slow_start_as_soon_as_five_of_two() {
        for exit in [SlowStartExit::Hystart, SlowStartExit::HystartPlusPlus] {
            // By the round trip: with the second one in place of the eighth or ninth.
            let mut rounds = Rounds::new(exit, true);
            rounds.packets = 10;
            assert_eq!(rounds.round(2, ms(12), ms(80)).0, FULL);
            let (said, after) = rounds.round(12, ms(12), ms(110));
            assert_eq!((said == FULL, after), (false, 2), "{exit:?}");
        }
        // By a train.
        let mut rounds = Rounds::new(SlowStartExit::Hystart, false);
        rounds.packets = 10;
        assert_eq!(rounds.round(2, ms(5), ms(50)).0, FULL);
        let (said, after) = rounds.round(12, ms(5), ms(50));
        assert_eq!((said, after), (Growth::Over, 7), "more than 25.5 ms");
    }

    #[test]
    fn linux_does_not_look_below_sixteen_packets() {
        let now = Instant::now();
        let mut watch = Watch::new(SlowStartExit::Hystart, true, now);
        for (window, expected) in [(15, FULL), (16, Growth::Over)] {
            let mut said = FULL;
            for number in 0..20 {
                said = watch.look(
                    Acks {
                        now: now + ms(900),
                        packets: 2,
                        sent: now,
                        rtt: ms(if number == 0 { 10 } else { 900 }),
                        last_sent: now,
                    },
                    window,
                );
                if said != FULL {
                    break;
                }
                if let Watch::Linux(hystart) = &mut watch {
                    hystart.round.least = ms(900); // as if the round had begun with this one
                }
            }
            assert_eq!(said, expected, "{window} packets");
        }
    }

    #[test]
    fn rfc_9406_goes_over_to_a_quarter_and_ends_five_rounds_later() {
        let slow = Growth::Slow {
            divisor: 4,
            packets: None,
        };
        let mut rounds = Rounds::new(SlowStartExit::HystartPlusPlus, true);
        assert_eq!(rounds.round(10, ms(1), ms(80)).0, FULL);
        assert_eq!(rounds.round(10, ms(1), ms(89)).0, FULL);
        // An eighth of the round before, which is 11 ms.
        let (said, after) = rounds.round(10, ms(1), ms(101));
        assert_eq!((said, after), (slow, SAMPLES));
        for _ in 1..HystartPlusPlus::ROUNDS {
            assert_eq!(rounds.round(1, ms(1), ms(101)).0, slow);
        }
        assert_eq!(rounds.round(1, ms(1), ms(101)).0, Growth::Over);
    }

    #[test]
    fn rfc_9406_goes_back_when_the_queue_was_none() {
        let mut rounds = Rounds::new(SlowStartExit::HystartPlusPlus, true);
        rounds.round(10, ms(1), ms(80));
        assert_ne!(rounds.round(10, ms(1), ms(91)).0, FULL);
        let mut said = FULL;
        for _ in 0..SAMPLES {
            said = rounds.watch.look(
                Acks {
                    now: rounds.now,
                    packets: 2,
                    sent: rounds.now,
                    rtt: ms(82),
                    last_sent: rounds.now,
                },
                64,
            );
        }
        assert_eq!(said, FULL);
    }

    #[test]
    fn rfc_9406_limits_bursts_of_a_sender_that_does_not_pace() {
        let mut rounds = Rounds::new(SlowStartExit::HystartPlusPlus, false);
        let (said, _) = rounds.round(1, ms(1), ms(80));
        assert_eq!(said, Growth::Full { packets: Some(8) });
    }
}

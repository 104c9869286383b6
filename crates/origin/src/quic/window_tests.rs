//! Windows over a simulated path: a line of fixed rate with a droptail queue, and a delay.

use std::collections::{BTreeMap, VecDeque};

use super::*;

const PACKET: u64 = 1448;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn window(congestion: Congestion, exit: SlowStartExit, packets: u64) -> Window {
    let initial = packets * PACKET;
    Window::new(congestion, exit, false, PACKET, initial, Instant::now())
}

/// A sender that sends what its window lets it, over a line, and is acknowledged packet by packet.
struct Line {
    window: Window,
    now: Instant,
    rtt: Duration,
    /// Time between packets.
    spacing: Duration,
    queue_packets: u32,
    free: Instant,
    /// When each packet was made, by number.
    sent: BTreeMap<u64, Instant>,
    next: u64,
    acks: VecDeque<(Instant, u64)>,
    dropped: u32,
    /// Bytes of data that are left to send.
    left: u64,
}

impl Line {
    fn new(window: Window, rate_mbps: f64, rtt: Duration, queue_packets: u32) -> Self {
        let now = Instant::now();
        Self {
            window,
            now,
            rtt,
            spacing: Duration::from_secs_f64(PACKET as f64 * 8e-6 / rate_mbps),
            queue_packets,
            free: now,
            sent: BTreeMap::new(),
            next: 0,
            acks: VecDeque::new(),
            dropped: 0,
            left: 0,
        }
    }

    fn in_flight(&self) -> u64 {
        self.sent.len() as u64 * PACKET
    }

    /// Sends this number of packets and waits until all are acknowledged.
    fn answer(&mut self, packets: u64) {
        self.left = packets;
        self.fill();
        while let Some((at, number)) = self.acks.pop_front() {
            self.now = at;
            self.acknowledge(number);
            self.fill();
        }
        assert_eq!((self.left, self.sent.len()), (0, 0), "it stands still");
    }

    fn fill(&mut self) {
        while self.left > 0 && self.in_flight() + PACKET <= self.window.window() {
            self.left -= 1;
            self.window.sent(self.now, self.in_flight(), PACKET);
            self.sent.insert(self.next, self.now);
            self.free = self.free.max(self.now);
            let waiting = self.free - self.now;
            if waiting > self.spacing * self.queue_packets {
                self.dropped += 1;
            } else {
                self.free += self.spacing;
                self.acks.push_back((self.free + self.rtt, self.next));
            }
            self.next += 1;
        }
    }

    fn acknowledge(&mut self, number: u64) {
        let now = self.now;
        let made = self.sent.remove(&number).unwrap();
        self.window.acked(now, made, now - made, PACKET);
        self.window.acks_end(now, self.in_flight());
        // RFC 9002 section 6.1.1; and at the end whatever is missing.
        let threshold = if self.acks.is_empty() { 0 } else { 2 };
        let lost: Vec<u64> = self
            .sent
            .range(..number.saturating_sub(threshold))
            .map(|(&number, _)| number)
            .collect();
        if let Some(newest) = lost.last() {
            let made = self.sent[newest];
            for number in &lost {
                self.sent.remove(number);
            }
            self.left += lost.len() as u64; // these are sent again
            let bytes = lost.len() as u64 * PACKET;
            self.window.lost(now, made, false, bytes, self.in_flight());
        }
    }
}

#[test]
fn it_grows_while_answers_fit_into_it() {
    // Linux: if the window is less than twice what was out.
    for congestion in [Congestion::Cubic, Congestion::Reno] {
        for (packets, grown) in [(9, 19), (6, 16), (5, 10), (1, 10)] {
            let window = window(congestion, SlowStartExit::None, 10);
            let mut line = Line::new(window, 1e3, ms(100), 1000);
            line.answer(packets);
            let found = line.window.window() / PACKET;
            assert_eq!(found, grown.min(2 * packets).max(10), "{packets} packets");
        }
    }
}

#[test]
fn in_congestion_avoidance_only_a_full_window_grows() {
    for congestion in [Congestion::Cubic, Congestion::Reno] {
        let mut line = Line::new(
            window(congestion, SlowStartExit::None, 20),
            1e3,
            ms(100),
            1000,
        );
        line.window.threshold = line.window.window;
        line.answer(19);
        assert_eq!(line.window.window(), 20 * PACKET, "{congestion:?}");
        line.answer(200);
        assert!(line.window.window() > 22 * PACKET, "{congestion:?}");
    }
}

#[test]
fn hystart_keeps_a_deep_queue_from_overflowing() {
    // 20 Mbit/s, 100 ms, 200 ms of queue, as in the report.
    let dropped = [
        SlowStartExit::None,
        SlowStartExit::Hystart,
        SlowStartExit::HystartPlusPlus,
    ]
    .map(|exit| {
        let mut line = Line::new(window(Congestion::Cubic, exit, 10), 20.0, ms(100), 345);
        line.answer(2000);
        line.dropped
    });
    let [never, linux, rfc_9406] = dropped;
    assert!(
        never > 400 && linux == 0 && rfc_9406 < never / 2,
        "{dropped:?}"
    );
}

#[test]
fn a_loss_lets_out_seven_packets_for_ten_that_arrive() {
    let now = Instant::now();
    let at = |millis| now + ms(millis);
    // Not full, and beyond slow start: acknowledgements alone change nothing.
    let mut window = window(Congestion::Cubic, SlowStartExit::None, 110);
    window.threshold = window.window;
    for number in 0..100 {
        window.sent(now, number * PACKET, PACKET);
    }
    // Packets 1 to 3 arrive, packet 0 is lost: one packet leaves at once.
    let mut in_flight = 97 * PACKET;
    window.acked(at(100), now, ms(100), 3 * PACKET);
    window.acks_end(at(100), in_flight);
    in_flight -= PACKET;
    window.lost(at(100), now, false, PACKET, in_flight);
    assert_eq!(window.threshold(), Some(77 * PACKET));
    let mut out = 0;
    for millis in 100..120 {
        while in_flight + PACKET <= window.window() {
            window.sent(at(millis), in_flight, PACKET);
            (in_flight, out) = (in_flight + PACKET, out + 1);
        }
        if millis == 100 {
            assert_eq!(out, 3, "seven tenths of three, rounded up");
        }
        in_flight -= PACKET;
        window.acked(at(millis + 1), now, ms(100), PACKET);
        window.acks_end(at(millis + 1), in_flight);
    }
    assert_eq!(
        out, 16,
        "seven tenths of the 22 that had arrived, rounded up"
    );
    // One that left since ends it.
    window.acked(at(200), at(101), ms(99), PACKET);
    window.acks_end(at(200), in_flight);
    assert_eq!(window.window() / PACKET, 77);
}

#[test]
fn further_losses_of_one_round_trip_count_once() {
    let now = Instant::now();
    let mut window = window(Congestion::Reno, SlowStartExit::None, 40);
    for number in 0..40 {
        window.sent(now, number * PACKET, PACKET);
    }
    for later in [100, 101, 102] {
        window.lost(now + ms(later), now, false, PACKET, 20 * PACKET);
        assert_eq!(window.threshold(), Some(20 * PACKET));
    }
    window.lost(now + ms(203), now + ms(150), false, PACKET, 10 * PACKET);
    assert!(window.threshold() < Some(20 * PACKET));
}

#[test]
fn a_retransmission_that_is_lost_again_counts_as_the_same_loss() {
    let (begin, mut window) = (
        Instant::now(),
        window(Congestion::Cubic, SlowStartExit::None, 40),
    );
    let at = |millis| begin + ms(millis);
    for number in 0..40 {
        window.sent(at(0), number * PACKET, PACKET);
    }
    window.lost(at(100), at(0), false, 2 * PACKET, 20 * PACKET);
    let threshold = window.threshold();
    for millis in [101, 102, 103] {
        window.sent(at(millis), 20 * PACKET, PACKET); // two for those two, and a new one
    }
    window.lost(at(201), at(102), false, PACKET, 20 * PACKET);
    assert_eq!(window.threshold(), threshold);
    window.lost(at(202), at(103), false, PACKET, 20 * PACKET);
    assert!(window.threshold() < threshold);
}

#[test]
fn a_lost_retransmission_does_not_close_the_window() {
    let now = Instant::now();
    let mut window = window(Congestion::Cubic, SlowStartExit::None, 10);
    window.sent(now, 0, PACKET);
    window.lost(now + ms(100), now, false, PACKET, 0);
    window.sent(now + ms(100), 0, PACKET);
    window.lost(now + ms(300), now + ms(100), false, PACKET, 0);
    assert!(window.window() >= 2 * PACKET);
}

#[test]
fn persistent_congestion_begins_anew() {
    let now = Instant::now();
    let mut window = window(Congestion::Cubic, SlowStartExit::Hystart, 40);
    window.sent(now, 0, PACKET);
    window.lost(now + ms(900), now, true, PACKET, 0);
    assert_eq!(window.window(), 2 * PACKET);
    assert_eq!(window.threshold(), Some(28 * PACKET));
    assert!(window.in_slow_start());
}

#[test]
fn it_fills_a_line() {
    for congestion in [Congestion::Cubic, Congestion::Reno] {
        for (rate, rtt, queue) in [(20.0, 50, 90), (5.0, 20, 10), (1.0, 200, 20)] {
            let window = window(congestion, SlowStartExit::Hystart, 10);
            let mut line = Line::new(window, rate, ms(rtt), queue);
            let (begin, packets) = (line.now, 20_000);
            line.answer(packets);
            let least = line.spacing * packets as u32;
            let share = least.as_secs_f64() / (line.now - begin).as_secs_f64();
            assert!(
                share > 0.9,
                "{congestion:?}, {rate} Mbit/s, {rtt} ms: {share}"
            );
        }
    }
}

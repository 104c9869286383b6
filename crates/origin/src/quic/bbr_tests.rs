//! BBR over a simulated path: a line of fixed rate with a droptail queue, a delay, random loss.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::*;

const PACKET: u64 = 1448;

struct Path {
    /// Bytes per second.
    rate: f64,
    rtt: Duration,
    queue_bytes: f64,
    loss: f64,
}

struct Flight {
    bbr: Bbr,
    /// Packets under way, by number: when sent.
    sent: BTreeMap<u64, Instant>,
    next_packet: u64,
    may_send: Instant,
    delivered: u64,
}

impl Flight {
    fn in_flight(&self) -> u64 {
        self.sent.len() as u64 * PACKET
    }
}

struct Simulation {
    path: Path,
    begin: Instant,
    now: Instant,
    /// When the line is free again.
    free: Instant,
    acks: VecDeque<(Instant, usize, u64)>,
    flights: Vec<Flight>,
    random: u64,
    queued_max: Duration,
}

impl Simulation {
    fn new(path: Path, flows: usize) -> Self {
        let begin = Instant::now();
        let flights = (0..flows).map(|seed| Flight {
            bbr: Bbr::new(begin, PACKET, 32 * PACKET, path.rtt, seed as u64),
            sent: BTreeMap::new(),
            next_packet: 0,
            may_send: begin,
            delivered: 0,
        });
        Self {
            flights: flights.collect(),
            path,
            begin,
            now: begin,
            free: begin,
            acks: VecDeque::new(),
            random: 1,
            queued_max: Duration::ZERO,
        }
    }

    fn lost(&mut self) -> bool {
        // Knuth's MMIX generator; its upper bits are good enough for coins.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 11) as f64 / (1_u64 << 53) as f64) < self.path.loss
    }

    /// Runs until `at` after the beginning.
    fn run(&mut self, at: Duration) {
        let end = self.begin + at;
        loop {
            let send = (0..self.flights.len())
                .filter(|&i| {
                    let flight = &self.flights[i];
                    flight.in_flight() + PACKET <= flight.bbr.window()
                })
                .map(|i| (self.flights[i].may_send.max(self.now), i))
                .min();
            let ack = self.acks.front().map(|&(at, ..)| at);
            match (send, ack) {
                (Some((at, i)), ack) if ack.is_none_or(|ack| at <= ack) => {
                    if at > end {
                        break;
                    }
                    self.now = at;
                    self.send(i);
                }
                (_, Some(at)) => {
                    if at > end {
                        break;
                    }
                    self.now = at;
                    self.acknowledge();
                }
                (_, None) => panic!("nothing under way and nothing may be sent: stuck"),
            }
        }
        self.now = end;
    }

    fn send(&mut self, i: usize) {
        let now = self.now;
        let flight = &mut self.flights[i];
        let before = flight.in_flight();
        flight.bbr.on_sent(now, before);
        let number = flight.next_packet;
        flight.next_packet += 1;
        flight.sent.insert(number, now);
        let gap = PACKET as f64 / flight.bbr.pacing_rate();
        flight.may_send = now + Duration::from_secs_f64(gap);
        let waiting = self.free.saturating_duration_since(now);
        let lost = self.lost();
        if lost || waiting.as_secs_f64() * self.path.rate > self.path.queue_bytes {
            return;
        }
        self.queued_max = self.queued_max.max(waiting);
        let time = PACKET as f64 / self.path.rate;
        self.free = self.free.max(now) + Duration::from_secs_f64(time);
        self.acks.push_back((self.free + self.path.rtt, i, number));
    }

    fn acknowledge(&mut self) {
        let (now, i, number) = self.acks.pop_front().unwrap();
        let flight = &mut self.flights[i];
        let Some(sent) = flight.sent.remove(&number) else {
            return;
        };
        flight.delivered += PACKET;
        flight.bbr.on_acked(now, sent, PACKET);
        let in_flight = flight.in_flight();
        flight.bbr.on_acks_end(now, in_flight, false);
        // Three later packets arrived: RFC 9002 section 6.1.1.
        let gone: Vec<_> = flight.sent.range(..number.saturating_sub(2)).collect();
        let Some(&(&last, _)) = gone.last() else {
            return;
        };
        let bytes = gone.len() as u64 * PACKET;
        flight.sent = flight.sent.split_off(&(last + 1));
        flight.bbr.on_lost(now, false, bytes);
    }

    /// Bytes per second of a flow between two times.
    fn goodput(&mut self, from: Duration, to: Duration) -> Vec<f64> {
        self.run(from);
        let before: Vec<_> = self.flights.iter().map(|f| f.delivered).collect();
        self.run(to);
        let seconds = to.saturating_sub(from).as_secs_f64();
        self.flights
            .iter()
            .zip(before)
            .map(|(f, before)| (f.delivered - before) as f64 / seconds)
            .collect()
    }
}

fn path(rate_mbps: f64, rtt_ms: u64, queue_rtts: f64, loss: f64) -> Path {
    let rate = rate_mbps * 1e6 / 8.0;
    let rtt = Duration::from_millis(rtt_ms);
    Path {
        rate,
        rtt,
        queue_bytes: (queue_rtts * rate * rtt.as_secs_f64()).max(3.0 * PACKET as f64),
        loss,
    }
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn it_fills_the_pipe_and_keeps_the_queue_short() {
    for (rate, rtt) in [(25.0, 24), (10.0, 74), (1.0, 100), (100.0, 10)] {
        let mut line = Simulation::new(path(rate, rtt, 10.0, 0.0), 1);
        let share = line.goodput(s(2), s(8))[0] / line.path.rate;
        assert!(share > 0.95, "{rate} Mbit/s, {rtt} ms: {share}");
        line.queued_max = Duration::ZERO;
        line.run(s(9));
        assert!(
            line.queued_max < line.path.rtt + Duration::from_millis(40),
            "{rate} Mbit/s: {:?} queued",
            line.queued_max
        );
    }
}

#[test]
fn it_finds_the_rate_within_a_few_round_trips() {
    let mut line = Simulation::new(path(20.0, 50, 4.0, 0.0), 1);
    line.run(Duration::from_millis(600));
    let bandwidth = line.flights[0].bbr.bandwidth.get().unwrap() / line.path.rate;
    assert!((0.95..1.02).contains(&bandwidth), "{bandwidth}");
    line.run(s(1));
    assert!(line.flights[0].bbr.filled);
}

#[test]
fn random_loss_does_not_slow_it() {
    for loss in [0.01, 0.05] {
        let mut line = Simulation::new(path(20.0, 50, 2.0, loss), 1);
        let share = line.goodput(s(2), s(9))[0] / line.path.rate;
        assert!(share > 0.9 * (1.0 - loss), "{loss}: {share}");
    }
}

#[test]
fn a_shallow_queue_is_enough() {
    let mut line = Simulation::new(path(20.0, 50, 0.1, 0.0), 1);
    let share = line.goodput(s(2), s(9))[0] / line.path.rate;
    assert!(share > 0.85, "{share}");
}

#[test]
fn two_flows_share() {
    let mut line = Simulation::new(path(20.0, 40, 4.0, 0.0), 2);
    let shares = line.goodput(s(5), s(45));
    let (low, high) = (shares[0].min(shares[1]), shares[0].max(shares[1]));
    assert!(low + high > 0.93 * line.path.rate, "{shares:?}");
    assert!(high / low < 2.0, "{shares:?}");
}

#[test]
fn the_round_trip_is_probed_after_ten_seconds_and_not_before() {
    let mut line = Simulation::new(path(20.0, 50, 2.0, 0.0), 1);
    line.run(Duration::from_millis(100));
    // Longer from now on: the least round trip known grows old.
    line.path.rtt += Duration::from_millis(10);
    line.run(Duration::from_millis(9_900));
    assert_ne!(line.flights[0].bbr.mode, Mode::ProbeRtt);
    let mut probed = false;
    for at in 9_900..11_500 {
        line.run(Duration::from_millis(at));
        let bbr = &line.flights[0].bbr;
        probed |= bbr.mode == Mode::ProbeRtt && bbr.window == 4 * PACKET;
    }
    assert!(probed);
    assert_ne!(line.flights[0].bbr.mode, Mode::ProbeRtt, "and it ends");
    let share = line.goodput(s(12), s(15))[0] / line.path.rate;
    assert!(share > 0.95, "{share}");
}

#[test]
fn the_first_round_trip_seen_replaces_the_guess() {
    let begin = Instant::now();
    let mut bbr = Bbr::new(begin, PACKET, 32 * PACKET, Duration::from_millis(333), 0);
    bbr.on_sent(begin, 0);
    let now = begin + Duration::from_millis(10);
    bbr.on_acked(now, begin, PACKET);
    // One packet per round trip is not a bandwidth to pace by.
    bbr.on_acks_end(now, 0, true);
    let expected = HIGH_GAIN * (32 * PACKET) as f64 / 0.010;
    assert!((bbr.pacing_rate() / expected - 1.0).abs() < 1e-9);
}

#[test]
fn an_application_that_says_little_does_not_lower_the_estimate() {
    let mut line = Simulation::new(path(20.0, 50, 2.0, 0.0), 1);
    line.run(s(3));
    let known = line.flights[0].bbr.bandwidth.get().unwrap();
    let mut now = line.now + s(1);
    let bbr = &mut line.flights[0].bbr;
    bbr.on_acks_end(now, 0, true);
    for _ in 0..30 {
        bbr.on_sent(now, 0);
        let sent = now;
        now += Duration::from_millis(50);
        bbr.on_acked(now, sent, PACKET);
        bbr.on_acks_end(now, 0, true);
    }
    assert_eq!(bbr.bandwidth.get().unwrap(), known);
}

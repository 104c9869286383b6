//! BBR over a simulated path.

use std::time::{Duration, Instant};

use super::*;
use crate::quic::simulation::{self, PACKET, Path, path};

type Simulation = simulation::Simulation<Bbr>;

fn simulation(path: Path, flows: usize) -> Simulation {
    Simulation::new(path, flows, |begin, path, seed| {
        Bbr::new(begin, PACKET, 32 * PACKET, path.rtt, seed)
    })
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn it_fills_the_pipe_and_keeps_the_queue_short() {
    for (rate, rtt) in [(25.0, 24), (10.0, 74), (1.0, 100), (100.0, 10)] {
        let mut line = simulation(path(rate, rtt, 10.0, 0.0), 1);
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
    let mut line = simulation(path(20.0, 50, 4.0, 0.0), 1);
    line.run(Duration::from_millis(600));
    let bandwidth = line.flights[0].law.bandwidth.get().unwrap() / line.path.rate;
    assert!((0.95..1.02).contains(&bandwidth), "{bandwidth}");
    line.run(s(1));
    assert!(line.flights[0].law.filled);
}

#[test]
fn random_loss_does_not_slow_it() {
    for loss in [0.01, 0.05] {
        let mut line = simulation(path(20.0, 50, 2.0, loss), 1);
        let share = line.goodput(s(2), s(9))[0] / line.path.rate;
        assert!(share > 0.9 * (1.0 - loss), "{loss}: {share}");
    }
}

#[test]
fn a_shallow_queue_is_enough() {
    let mut line = simulation(path(20.0, 50, 0.1, 0.0), 1);
    let share = line.goodput(s(2), s(9))[0] / line.path.rate;
    assert!(share > 0.85, "{share}");
}

#[test]
fn two_flows_share() {
    let mut line = simulation(path(20.0, 40, 4.0, 0.0), 2);
    let shares = line.goodput(s(5), s(45));
    let (low, high) = (shares[0].min(shares[1]), shares[0].max(shares[1]));
    assert!(low + high > 0.93 * line.path.rate, "{shares:?}");
    assert!(high / low < 2.0, "{shares:?}");
}

#[test]
fn the_round_trip_is_probed_after_ten_seconds_and_not_before() {
    let mut line = simulation(path(20.0, 50, 2.0, 0.0), 1);
    line.run(Duration::from_millis(100));
    // Longer from now on: the least round trip known grows old.
    line.path.rtt += Duration::from_millis(10);
    line.run(Duration::from_millis(9_900));
    assert_ne!(line.flights[0].law.mode, Mode::ProbeRtt);
    let mut probed = false;
    for at in 9_900..11_500 {
        line.run(Duration::from_millis(at));
        let bbr = &line.flights[0].law;
        probed |= bbr.mode == Mode::ProbeRtt && bbr.window == 4 * PACKET;
    }
    assert!(probed);
    assert_ne!(line.flights[0].law.mode, Mode::ProbeRtt, "and it ends");
    let share = line.goodput(s(12), s(15))[0] / line.path.rate;
    assert!(share > 0.95, "{share}");
}

#[test]
fn the_first_round_trip_seen_replaces_the_guess() {
    let begin = Instant::now();
    let mut bbr = Bbr::new(begin, PACKET, 32 * PACKET, Duration::from_millis(333), 0);
    bbr.sent(begin, 0);
    let now = begin + Duration::from_millis(10);
    bbr.acked(now, begin, PACKET);
    // One packet per round trip is not a bandwidth to pace by.
    bbr.acks_end(now, 0, true);
    let expected = HIGH_GAIN * (32 * PACKET) as f64 / 0.010;
    assert!((bbr.rate / expected - 1.0).abs() < 1e-9);
}

#[test]
fn an_application_that_says_little_does_not_lower_the_estimate() {
    let mut line = simulation(path(20.0, 50, 2.0, 0.0), 1);
    line.run(s(3));
    let known = line.flights[0].law.bandwidth.get().unwrap();
    let mut now = line.now + s(1);
    let bbr = &mut line.flights[0].law;
    bbr.acks_end(now, 0, true);
    for _ in 0..30 {
        bbr.sent(now, 0);
        let sent = now;
        now += Duration::from_millis(50);
        bbr.acked(now, sent, PACKET);
        bbr.acks_end(now, 0, true);
    }
    assert_eq!(bbr.bandwidth.get().unwrap(), known);
}

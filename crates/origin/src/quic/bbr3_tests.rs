//! BBR version 3 by made acknowledgements, and over a simulated path.

use super::*;
use crate::quic::simulation::{self, PACKET, Path, path};

type Simulation = simulation::Simulation<Bbr3>;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn simulation(path: Path, flows: usize) -> Simulation {
    Simulation::new(path, flows, |begin, path, seed| {
        Bbr3::new(begin, PACKET, 32 * PACKET, path.rtt, seed)
    })
}

/// States that a flow goes through, each with the time at which it began.
fn states(line: &mut Simulation, to: Duration) -> Vec<(State, Duration)> {
    let mut seen = vec![(line.flights[0].law.state, Duration::ZERO)];
    let mut at = Duration::ZERO;
    while at < to {
        at += ms(1);
        line.run(at);
        let state = line.flights[0].law.state;
        if seen.last().is_some_and(|&(last, _)| last != state) {
            seen.push((state, at));
        }
    }
    seen
}

/// A sender past its startup, whose window of 100 packets is under way since `begin`.
fn steady(begin: Instant) -> Bbr3 {
    let mut bbr = Bbr3::new(begin, PACKET, 100 * PACKET, ms(50), 0);
    bbr.sampler = Sampler::remembering(begin); // it is not limited by the application
    bbr.filled = true;
    bbr.min_rtt = Some(ms(50));
    bbr.bandwidths = [0.0, 100.0 * PACKET as f64 / 0.05];
    for sent in 0..100 {
        bbr.on_sent(begin, sent * PACKET, PACKET);
    }
    bbr
}

fn lost(now: Instant, sent: Instant, packets: u64) -> Loss {
    Loss {
        now,
        sent,
        persistent: false,
        bytes: packets * PACKET,
        in_flight: (100 - packets) * PACKET,
    }
}

fn acked(bbr: &mut Bbr3, now: Instant, sent: Instant, packets: u64, in_flight: u64) {
    for _ in 0..packets {
        bbr.on_acked(now, sent, now - sent, PACKET);
    }
    bbr.on_acks_end(Batch {
        now,
        in_flight: in_flight * PACKET,
        app_limited: false,
        marks: 0,
    });
}

#[test]
fn it_fills_the_pipe_and_keeps_the_queue_short() {
    for (rate, rtt) in [(25.0, 24), (10.0, 74), (1.0, 100), (100.0, 10)] {
        let mut line = simulation(path(rate, rtt, 10.0, 0.0), 1);
        let share = line.goodput(s(2), s(12))[0] / line.path.rate;
        assert!(share > 0.93, "{rate} Mbit/s, {rtt} ms: {share}");
        line.queued_max = Duration::ZERO;
        line.run(s(16));
        assert!(
            line.queued_max < 2 * line.path.rtt + ms(40),
            "{rate} Mbit/s: {:?} queued",
            line.queued_max
        );
    }
}

#[test]
fn it_starts_drains_and_cycles_as_the_draft_says() {
    use State::{Cruise, Down, Drain, Refill, Startup, Up};
    let mut line = simulation(path(20.0, 50, 4.0, 0.0), 1);
    let seen = states(&mut line, s(4));
    let order: Vec<_> = seen.iter().map(|&(state, _)| state).collect();
    assert_eq!(order[..2], [Startup, Drain], "{seen:?}");
    assert!(seen[1].1 < ms(700), "{seen:?}");
    let cycle = [Cruise, Refill, Up, Down, Cruise];
    let cycles = order.windows(5).filter(|part| *part == cycle).count();
    assert!(cycles >= 1, "{seen:?}");
    // Between probes: 2 to 3 s, or the rounds that Reno takes.
    let probes: Vec<_> = seen.iter().filter(|(state, _)| *state == Refill).collect();
    for pair in probes.windows(2) {
        let wait = pair[1].1.saturating_sub(pair[0].1);
        assert!(wait > s(1) && wait < ms(3_700), "{wait:?}");
    }
}

#[test]
fn the_round_trip_is_probed_after_five_seconds() {
    let mut line = simulation(path(20.0, 50, 2.0, 0.0), 1);
    let seen = states(&mut line, ms(8_000));
    let probe = seen.iter().position(|(state, _)| *state == State::ProbeRtt);
    let probe = probe.expect("no probe");
    let (begin, end) = (seen[probe].1, seen[probe + 1].1);
    assert!(begin >= s(5), "{seen:?}");
    assert!(
        (begin + PROBE_RTT..begin + ms(500)).contains(&end),
        "{seen:?}"
    );
    assert_eq!(seen[probe + 1].0, State::Cruise);
    let share = line.goodput(s(8), s(10))[0] / line.path.rate;
    assert!(share > 0.9, "{share}");
}

#[test]
fn random_loss_below_its_threshold_does_not_slow_it() {
    let mut line = simulation(path(20.0, 50, 2.0, 0.01), 1);
    let share = line.goodput(s(2), s(22))[0] / line.path.rate;
    assert!(share > 0.8, "{share}");
}

#[test]
fn two_flows_share() {
    let mut line = simulation(path(20.0, 40, 4.0, 0.0), 2);
    let shares = line.goodput(s(10), s(60));
    let (low, high) = (shares[0].min(shares[1]), shares[0].max(shares[1]));
    assert!(low + high > 0.93 * line.path.rate, "{shares:?}");
    assert!(high / low < 2.0, "{shares:?}");
}

#[test]
fn a_shallow_queue_loses_little_after_the_startup() {
    let mut line = simulation(path(20.0, 50, 0.25, 0.0), 1);
    let share = line.goodput(s(4), s(14))[0] / line.path.rate;
    assert!(share > 0.8, "{share}");
    let law = &line.flights[0].law;
    assert!(law.bounds.inflight_long.is_some(), "its losses bound it");
}

#[test]
fn a_probe_that_loses_too_much_ends_and_bounds_what_is_under_way() {
    let begin = Instant::now();
    let mut bbr = steady(begin);
    bbr.state = State::Up;
    bbr.probing = true;
    // Two of a hundred are 2 %, and no more.
    bbr.on_lost(lost(begin + ms(60), begin, 2));
    assert_eq!((bbr.state, bbr.bounds.inflight_long), (State::Up, None));
    bbr.on_lost(lost(begin + ms(61), begin, 8));
    assert_eq!(bbr.state, State::Down);
    let bound = bbr.bounds.inflight_long.unwrap() / PACKET;
    assert!((70..=92).contains(&bound), "{bound}");
    // What is lost later was not sent by a probe.
    let known = bbr.bounds.inflight_long;
    bbr.on_lost(lost(begin + ms(62), begin, 20));
    assert_eq!(bbr.bounds.inflight_long, known);
}

#[test]
fn losses_while_cruising_bound_the_short_term_until_the_next_probe() {
    let begin = Instant::now();
    let mut bbr = steady(begin);
    bbr.state = State::Cruise;
    let before = bbr.bandwidth();
    bbr.on_lost(lost(begin + ms(55), begin, 1));
    acked(&mut bbr, begin + ms(60), begin, 30, 69);
    bbr.on_sent(begin + ms(61), 69 * PACKET, PACKET);
    acked(&mut bbr, begin + ms(115), begin + ms(61), 1, 69);
    assert!(
        bbr.bandwidth() <= 0.71 * before,
        "{} of {before}",
        bbr.bandwidth()
    );
    assert!(bbr.bounds.inflight_short.is_some());
    bbr.start_refill();
    assert_eq!(bbr.bandwidth(), bbr.max_bandwidth());
    assert_eq!(bbr.bounds.inflight_short, None);
}

#[test]
fn cruising_leaves_headroom_below_the_bound() {
    let begin = Instant::now();
    let mut bbr = steady(begin);
    bbr.bounds.inflight_long = Some(120 * PACKET);
    bbr.state = State::Cruise;
    bbr.window = 150 * PACKET;
    acked(&mut bbr, begin + ms(50), begin, 10, 90);
    assert_eq!(bbr.window(), 102 * PACKET);
    bbr.state = State::Refill;
    bbr.window = 150 * PACKET;
    bbr.set_window();
    assert_eq!(bbr.window(), 120 * PACKET);
}

#[test]
fn an_application_that_says_little_does_not_lower_the_estimate() {
    let mut line = simulation(path(20.0, 50, 2.0, 0.0), 1);
    line.run(s(3));
    let known = line.flights[0].law.max_bandwidth();
    let mut now = line.now + s(1);
    let bbr = &mut line.flights[0].law;
    let quiet = |now| Batch {
        now,
        in_flight: 0,
        app_limited: true,
        marks: 0,
    };
    bbr.on_acks_end(quiet(now));
    for _ in 0..10 {
        bbr.on_sent(now, 0, PACKET);
        let sent = now;
        now += ms(50);
        bbr.on_acked(now, sent, ms(50), PACKET);
        bbr.on_acks_end(quiet(now));
    }
    assert!(bbr.max_bandwidth() >= 0.95 * known);
}

#[test]
fn the_first_round_trip_seen_replaces_the_guess() {
    let begin = Instant::now();
    let mut bbr = Bbr3::new(begin, PACKET, 32 * PACKET, ms(333), 0);
    bbr.on_sent(begin, 0, PACKET);
    let now = begin + ms(10);
    bbr.on_acked(now, begin, ms(10), PACKET);
    bbr.on_acks_end(Batch {
        now,
        in_flight: 0,
        app_limited: true,
        marks: 0,
    });
    let expected = STARTUP_GAIN * (32 * PACKET) as f64 / 0.010;
    assert!((bbr.rate / expected - 1.0).abs() < 1e-9);
}

#[test]
fn round_trips_of_different_length_share() {
    let mut line = simulation(path(20.0, 20, 4.0, 0.0), 2);
    line.flights[1].longer = ms(80);
    let shares = line.goodput(s(10), s(60));
    let (low, high) = (shares[0].min(shares[1]), shares[0].max(shares[1]));
    assert!(low + high > 0.9 * line.path.rate, "{shares:?}");
    assert!(high / low < 10.0, "{shares:?}");
}

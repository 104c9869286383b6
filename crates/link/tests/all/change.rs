//! A link that changes while packets are inside.

use dragstrip_link::config::{Accounting, Config, Direction};
use dragstrip_link::header::{Ecn, Header};
use dragstrip_link::model::effects::{delay, loss, mtu, policer, queue};
use dragstrip_link::model::{Packet, Pipeline, QueueCount, Waiting};
use proptest::prelude::*;

use crate::stages::aqm;

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

fn pipeline(direction: &Direction) -> Pipeline {
    let config = Config {
        seed: 7,
        down: direction.clone(),
        ..Config::default()
    };
    config.understood().unwrap().down_pipeline()
}

fn rate(rate_mbps: f64) -> Direction {
    Direction {
        queue: queue::Asked {
            rate_mbps: Some(rate_mbps),
            ..queue::Asked::default()
        },
        ..Direction::default()
    }
}

fn delayed(delay_ms: f64) -> delay::Asked {
    delay::Asked {
        delay_ms,
        ..delay::Asked::default()
    }
}

fn lossy(loss: f64) -> loss::Asked {
    loss::Asked {
        loss,
        ..loss::Asked::default()
    }
}

/// The same direction while it carries nothing.
fn out(direction: &Direction) -> Direction {
    let mut out = direction.clone();
    out.queue.outage = true;
    out
}

/// Packets of 1250 bytes (10 ms at 1 Mbit/s), all at once; a packet's slot is its index.
fn burst(count: u64, at_ns: u64) -> Vec<Packet> {
    (0..count)
        .map(|index| Packet::new(index, 1250, at_ns, index as u32))
        .collect()
}

/// Everything that leaves: packets come at their arrival, the link changes at given times.
fn run(first: &Direction, arrivals: &[Packet], changes: &[(u64, Direction)]) -> Vec<Packet> {
    let mut pipeline = pipeline(first);
    let mut left = Vec::new();
    let mut changes = changes.iter().peekable();
    for packet in arrivals {
        while let Some((at_ns, to)) = changes.next_if(|(at_ns, _)| *at_ns <= packet.arrival_ns) {
            pipeline.change(*at_ns, self::pipeline(to), Waiting::Kept);
        }
        left.extend(pipeline.take(*packet));
    }
    for (at_ns, to) in changes {
        left.extend(std::iter::from_fn(|| pipeline.release(*at_ns)));
        pipeline.change(*at_ns, self::pipeline(to), Waiting::Kept);
    }
    left.extend(std::iter::from_fn(|| pipeline.release(u64::MAX >> 3)));
    left
}

fn times_ms(left: &[Packet]) -> Vec<f64> {
    (left.iter())
        .map(|packet| packet.at_ns as f64 / 1e6)
        .collect()
}

#[test]
fn a_new_rate_holds_for_what_waits_and_for_the_rest_of_what_crosses() {
    let left = run(&rate(1.0), &burst(4, 0), &[(15 * MS, rate(10.0))]);
    // Of the second packet half has crossed in 5 ms; its other half takes 0.5 ms.
    assert_eq!(times_ms(&left), [10.0, 15.5, 16.5, 17.5]);
    let waited: Vec<u64> = left.iter().filter_map(|packet| packet.waited_ns).collect();
    assert_eq!(waited, [0, 10 * MS, 15_500_000, 16_500_000]);
    assert_eq!(left[1].line_ns, 5_500_000);
}

#[test]
fn a_line_that_is_gone_lets_all_go_that_waits() {
    let left = run(&rate(1.0), &burst(3, 0), &[(15 * MS, Direction::default())]);
    assert_eq!(times_ms(&left), [10.0, 15.0, 15.0]);
}

#[test]
fn changes_faster_than_a_packet_crosses_still_let_it_cross() {
    let changes: Vec<_> = (1..30).map(|ms| (ms * MS, rate(1.0))).collect();
    let left = run(&rate(1.0), &burst(2, 0), &changes);
    assert_eq!(times_ms(&left), [10.0, 20.0]);
}

#[test]
fn an_outage_holds_packets_and_loses_none() {
    for start in [rate(1.0), Direction::default()] {
        let changes = [(5 * MS, out(&start)), (S, start.clone())];
        let mut arrivals = burst(1, 0);
        arrivals.push(Packet::new(1, 1250, 500 * MS, 1));
        let expected = match start.queue.rate_mbps {
            Some(_) => [1005.0, 1015.0],
            None => [0.0, 1000.0],
        };
        let left = run(&start, &arrivals, &changes);
        assert_eq!(times_ms(&left), expected);
        let last = &left[1];
        let wait_ms = expected[1] - 500.0 - last.line_ns as f64 / 1e6;
        assert_eq!(last.waited_ns, Some((wait_ms * 1e6) as u64));
    }
}

#[test]
fn an_outage_fills_the_queue_and_not_more() {
    let mut start = rate(1.0);
    start.queue.queue_ms = Some(30.0);
    let mut pipeline = pipeline(&out(&start));
    let dropped = burst(9, 0)
        .into_iter()
        .filter_map(|packet| pipeline.take(packet));
    let causes: Vec<_> = dropped.map(|packet| packet.dropped).collect();
    // 30 ms at 1 Mbit/s are three packets.
    assert_eq!(causes, [Some(queue::FULL); 6]);
    pipeline.change(S, self::pipeline(&start), Waiting::Kept);
    let left: Vec<_> = std::iter::from_fn(|| pipeline.release(2 * S)).collect();
    assert_eq!(times_ms(&left), [1010.0, 1020.0, 1030.0]);
}

#[test]
fn a_shorter_delay_lets_nothing_overtake() {
    let delay = |delay_ms| Direction {
        delay: delayed(delay_ms),
        ..Direction::default()
    };
    let arrivals: Vec<_> = (0..4)
        .map(|index| Packet::new(index, 100, index * 30 * MS, index as u32))
        .collect();
    let left = run(&delay(100.0), &arrivals, &[(50 * MS, delay(1.0))]);
    assert_eq!(times_ms(&left), [100.0, 130.0, 130.0, 130.0]);
    let left = run(&delay(1.0), &arrivals, &[(50 * MS, delay(100.0))]);
    assert_eq!(times_ms(&left), [1.0, 31.0, 160.0, 190.0]);
}

#[test]
fn loss_is_counted_over_all_changes() {
    let loss = |loss| Direction {
        loss: lossy(loss),
        ..Direction::default()
    };
    let mut pipeline = pipeline(&loss(1.0));
    let mut lost = 0;
    for packet in burst(10, S) {
        lost += u64::from(pipeline.take(packet).unwrap().dropped.is_some());
        if packet.index == 4 {
            pipeline.change(S, self::pipeline(&loss(0.5)), Waiting::Kept);
        }
    }
    assert_eq!(pipeline.counts().loss_trials, 10);
    assert!((5..10).contains(&lost));
}

#[test]
fn counts_of_single_effects_go_on_over_a_change() {
    let tight = Direction {
        mtu: mtu::Asked {
            mtu: Some(1000),
            mtu_behaviour: mtu::Behaviour::TooBig,
        },
        ..Direction::default()
    };
    let long = |index| {
        let mut packet = Packet::new(index, 1250, S, 0);
        packet.header.answerable = true;
        packet
    };
    let mut pipeline = pipeline(&tight);
    for (index, to) in [&tight, &rate(1.0), &tight].into_iter().enumerate() {
        pipeline.take(long(index as u64));
        pipeline.change(S, self::pipeline(to), Waiting::Kept);
    }
    // The second and third found no MTU, and a new one.
    assert_eq!(pipeline.counts().events["told_too_big"], 2);
}

#[test]
fn a_queue_takes_what_waits_whichever_stages_are_named() {
    let stages = |names: &[&'static str]| {
        let name = |name: &&str| serde_json::from_value((*name).into()).unwrap();
        Some(names.iter().map(name).collect())
    };
    let link = |names: &[&'static str]| Direction {
        delay: delayed(20.0),
        stages: stages(names),
        ..rate(1.0)
    };
    // The same order, of which each names what it asks for.
    for changed in [
        &["queue", "delay", "loss"][..],
        &["hosts", "policer", "queue", "delay"],
    ] {
        let changes = [(10 * MS, link(changed))];
        let left = run(&link(&["queue", "delay"]), &burst(3, 0), &changes);
        assert_eq!(times_ms(&left), [30.0, 40.0, 50.0]);
    }
    let order = |names| {
        let down = link(names);
        let config = Config {
            down,
            ..Config::default()
        };
        config.order()
    };
    let first = order(&["queue", "delay"]);
    assert_eq!(order(&["policer", "queue", "delay"]), first);
    assert_ne!(order(&["delay", "queue"]), first);
}

#[test]
fn a_policer_and_a_queue_find_themselves_whatever_else_there_is() {
    let policed = Direction {
        policer: policer::Asked {
            policer: Some(policer::Policer {
                rate_mbps: 1.0,
                burst_bytes: 1,
            }),
        },
        ..rate(1.0)
    };
    // What waits has passed the policer, and does not meet it.
    let left = run(&rate(1.0), &burst(3, 0), &[(5 * MS, policed)]);
    assert_eq!(times_ms(&left), [10.0, 20.0, 30.0]);
    assert!(left.iter().all(|packet| packet.dropped.is_none()));
}

#[test]
fn a_change_of_accounting_while_a_packet_crosses_costs_it_nothing_more() {
    let mut link = Config {
        down: rate(1.0),
        accounting: Accounting::L2,
        ..Config::default()
    };
    let mut pipeline = link.down_pipeline();
    pipeline.take(Packet::new(0, 10, 0, 0));
    // Of 24 bytes 20 have crossed: more than there are now.
    link.accounting = Accounting::L3;
    pipeline.change(160_000, link.down_pipeline(), Waiting::Kept);
    assert_eq!(pipeline.release(S).unwrap().at_ns, 160_000);
}

fn direction() -> impl Strategy<Value = Direction> {
    (
        prop::option::of(0.05..50.0),
        prop_oneof![Just(0.0), 0.0..80.0],
        prop::bool::weighted(0.2),
        prop::option::of(aqm()),
    )
        .prop_map(move |(rate_mbps, delay_ms, outage, managed)| Direction {
            queue: queue::Asked {
                rate_mbps,
                outage,
                aqm: managed.filter(|_| rate_mbps.is_some()),
                ..queue::Asked::default()
            },
            delay: delayed(delay_ms),
            ..Direction::default()
        })
}

/// A slow line under each kind of management, with a queue that may be short, or an outage.
fn managed() -> impl Strategy<Value = Direction> {
    let depth = prop::option::of(1..20u64);
    let outage = prop::bool::weighted(0.2);
    (0.5..5.0, depth, aqm(), outage).prop_map(|(rate_mbps, queue_packets, aqm, outage)| Direction {
        queue: queue::Asked {
            rate_mbps: Some(rate_mbps),
            queue_packets,
            aqm: Some(aqm),
            outage,
            ..queue::Asked::default()
        },
        ..Direction::default()
    })
}

proptest! {
    #[test]
    fn every_packet_leaves_once_and_in_order_however_the_link_changes(
        gaps in prop::collection::vec(0..20 * MS, 1..80),
        links in prop::collection::vec((0..100 * MS, direction()), 1..12),
    ) {
        let mut at_ns = S;
        let arrivals: Vec<_> = gaps.iter().enumerate().map(|(index, gap)| {
            at_ns += gap;
            Packet::new(index as u64, 1250, at_ns, index as u32)
        }).collect();
        let mut change_ns = S;
        let mut changes: Vec<_> = links.into_iter().map(|(after_ns, to)| {
            change_ns += after_ns;
            (change_ns, to)
        }).collect();
        let start = changes[0].1.clone();
        changes.push((change_ns + S, rate(10.0)));
        let managed = changes.iter().any(|(_, to)| to.queue.aqm.is_some());
        let left = run(&start, &arrivals, &changes);
        let mut slots: Vec<u32> = left.iter().map(|packet| packet.slot).collect();
        if !managed {
            // One flow and no jitter: as they came.
            prop_assert!(slots.is_sorted());
        }
        slots.sort_unstable();
        prop_assert_eq!(slots, (0..arrivals.len() as u32).collect::<Vec<_>>());
        prop_assert!(left.iter().all(|packet| packet.at_ns >= packet.arrival_ns));
        let aqm = |packet: &&Packet| packet.dropped.is_some();
        prop_assert!(managed || left.iter().filter(aqm).count() == 0);
    }

    #[test]
    fn a_change_to_the_same_link_changes_no_departure(
        gaps in prop::collection::vec(0..20 * MS, 1..60),
        at in prop::collection::vec(0..400 * MS, 1..20),
        rate_mbps in prop::option::of(0.5..50.0),
        delay_ms in 0.0..80.0,
        seed_loss in 0.0..0.5,
    ) {
        let queue = queue::Asked { rate_mbps, ..queue::Asked::default() };
        let link = Direction { queue, delay: delayed(delay_ms), loss: lossy(seed_loss), ..Direction::default() };
        let mut at_ns = S;
        let arrivals: Vec<_> = gaps.iter().enumerate().map(|(index, gap)| {
            at_ns += gap;
            Packet::new(index as u64, 1250, at_ns, index as u32)
        }).collect();
        let mut at = at;
        at.sort_unstable();
        let changes: Vec<_> = at.iter().map(|ns| (S + ns, link.clone())).collect();
        let (plain, changed) = (run(&link, &arrivals, &[]), run(&link, &arrivals, &changes));
        prop_assert_eq!(plain.len(), changed.len());
        // What crosses is cut at a whole byte.
        let byte_ns = rate_mbps.map_or(0.0, |rate| 8000.0 / rate);
        let most_ns = (byte_ns + 2.0) * changes.len() as f64 + 2.0;
        for (one, other) in plain.iter().zip(&changed) {
            prop_assert_eq!((one.slot, one.dropped), (other.slot, other.dropped));
            prop_assert!((other.at_ns as f64 - one.at_ns as f64).abs() <= most_ns);
        }
    }

    #[test]
    fn a_change_under_management_drops_nothing_and_keeps_each_flow_in_order(
        sent in prop::collection::vec((0..4 * MS, 0..3usize, 60..1500u32), 1..120),
        links in prop::collection::vec((0..60 * MS, managed()), 2..8),
    ) {
        // A flow's packets say the same of ECN, as a sender's do: DualPI2 has a queue for each.
        let codes = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1];
        let mut at_ns = S;
        let arrivals: Vec<_> = sent.iter().enumerate().map(|(index, &(gap, flow, bytes))| {
            at_ns += 2 * gap;
            let header = Header { flow: flow as u64, ecn: codes[flow], ..Header::default() };
            Packet { header, ..Packet::new(index as u64, bytes, at_ns, index as u32) }
        }).collect();
        let mut pipeline = pipeline(&links[0].1);
        let mut left = Vec::new();
        let mut arrivals_left = arrivals.iter().peekable();
        let mut change_ns = S;
        let mut told = 0;
        for (after_ns, to) in &links {
            // Packets come at even times, and the link changes at odd ones.
            change_ns = (change_ns + 2 * after_ns) | 1;
            while let Some(packet) = arrivals_left.next_if(|packet| packet.arrival_ns <= change_ns) {
                left.extend(pipeline.take(*packet));
            }
            left.extend(std::iter::from_fn(|| pipeline.release(change_ns)));
            let before = pipeline.counts();
            pipeline.change(change_ns, self::pipeline(to), Waiting::Kept);
            let after = pipeline.counts();
            prop_assert!(after.queues.len() >= before.queues.len());
            for queue in &before.queues {
                let now = after.queues.iter().find(|now| now.queue == queue.queue).unwrap();
                let counts = |q: &QueueCount| (q.packets, q.bytes, q.marked, q.dropped);
                prop_assert_eq!(counts(now), counts(queue));
            }
            let at_once: Vec<_> = std::iter::from_fn(|| pipeline.release(change_ns)).collect();
            // What was dropped before may have stood behind a packet that crosses.
            let drops = |packet: &&Packet| packet.dropped.is_some() && packet.at_ns == change_ns;
            prop_assert_eq!(at_once.iter().filter(drops).count(), 0);
            left.extend(at_once);
        }
        for packet in arrivals_left {
            left.extend(pipeline.take(*packet));
        }
        pipeline.change(change_ns.max(at_ns), self::pipeline(&rate(10.0)), Waiting::Kept);
        left.extend(std::iter::from_fn(|| pipeline.release(u64::MAX >> 3)));
        for queue in &pipeline.counts().queues {
            told += queue.packets;
        }
        prop_assert!(told <= arrivals.len() as u64);
        let mut slots: Vec<u32> = left.iter().map(|packet| packet.slot).collect();
        for flow in 0..3 {
            let of_flow = |packet: &&Packet| packet.header.flow == flow && packet.dropped.is_none();
            prop_assert!(left.iter().filter(of_flow).is_sorted_by_key(|packet| packet.index));
        }
        slots.sort_unstable();
        prop_assert_eq!(slots, (0..arrivals.len() as u32).collect::<Vec<_>>());
        prop_assert!(left.iter().all(|packet| packet.resumed.is_none()));
    }
}

#[test]
fn a_handover_may_drop_what_waits_and_nothing_else() {
    let mut start = rate(1.0);
    start.delay = delayed(20.0);
    let mut pipeline = self::pipeline(&start);
    for packet in burst(10, 0) {
        assert_eq!(pipeline.take(packet), None);
    }
    // Two are across and on their way; the third is on the line.
    pipeline.change(25 * MS, self::pipeline(&start), Waiting::Dropped);
    let left: Vec<Packet> = std::iter::from_fn(|| pipeline.release(S)).collect();
    let (lost, came): (Vec<&Packet>, Vec<&Packet>) =
        left.iter().partition(|packet| packet.dropped.is_some());
    assert_eq!(
        came.iter().map(|p| (p.index, p.at_ns)).collect::<Vec<_>>(),
        [(0, 30 * MS), (1, 40 * MS),]
    );
    assert_eq!(lost.len(), 8);
    assert!(left.iter().all(|packet| packet.straddles));
    assert!(
        lost.iter()
            .all(|packet| packet.dropped.unwrap().name == "handover")
    );
}

#[test]
fn what_comes_after_a_change_does_not_straddle_it_unless_it_waits_for_what_does() {
    let far = Direction {
        delay: delayed(100.0),
        ..Direction::default()
    };
    let near = Direction {
        delay: delayed(10.0),
        ..Direction::default()
    };
    let mut pipeline = self::pipeline(&far);
    let mut left: Vec<Packet> = pipeline
        .take(Packet::new(0, 100, 0, 0))
        .into_iter()
        .collect();
    pipeline.change(20 * MS, self::pipeline(&near), Waiting::Kept);
    left.extend(pipeline.take(Packet::new(1, 100, 30 * MS, 1)));
    left.extend(pipeline.take(Packet::new(2, 100, 120 * MS, 2)));
    left.extend(std::iter::from_fn(|| pipeline.release(S)));
    let seen: Vec<_> = left.iter().map(|p| (p.at_ns / MS, p.straddles)).collect();
    assert_eq!(seen, [(100, true), (100, true), (130, false)]);
}

//! Tests what holds for every order and choice of stages.

use std::net::IpAddr;

use dragstrip_link::config::{Accounting, Config, Direction, StageName};
use dragstrip_link::header::{Ecn, Header, key};
use dragstrip_link::model::aqm::{Aqm, codel, dualpi2, fq_codel, fq_pie, pie, red};
use dragstrip_link::model::effects::delay::JitterShape;
use dragstrip_link::model::effects::hosts::HostPath;
use dragstrip_link::model::effects::loss::GilbertElliott;
use dragstrip_link::model::effects::{delay, duplicate, hosts, loss, mtu, queue};
use dragstrip_link::model::{
    Bottleneck, Depth, Line, OPPORTUNITY_BYTES, Opportunities, Packet, Pipeline, Step,
};
use dragstrip_link::trace::Trace;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const HOSTS: [&str; 3] = ["10.64.1.1", "10.64.1.2", "fd00::3"];

fn host(place: usize) -> u64 {
    key(HOSTS[place].parse::<IpAddr>().unwrap())
}

fn traffic() -> impl Strategy<Value = Vec<Packet>> {
    let gap = prop_oneof![3 => Just(0), 3 => 0..200_000u64, 1 => 0..50 * MS];
    // Only a header's end, the most that Ethernet carries, jumbo and super-packets.
    let bytes = prop_oneof![8 => 0..=1500u32, 1 => Just(0), 1 => 1501..=(1u32 << 18)];
    let codes = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let sent = (gap, bytes, 0..4usize, codes);
    prop::collection::vec(sent, 1..200).prop_map(|sent| {
        let mut at_ns = 1_000 * MS;
        let packet = |(index, (gap_ns, bytes, flow, ecn)): (usize, (u64, u32, usize, Ecn))| {
            at_ns += gap_ns;
            let peer = host(flow % 3);
            let header = Header {
                source: peer,
                destination: peer,
                flow: flow as u64,
                ecn,
                ..Header::default()
            };
            Packet {
                header,
                ..Packet::new(index as u64, bytes, at_ns, index as u32)
            }
        };
        sent.into_iter().enumerate().map(packet).collect()
    })
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(0.0), 2 => 0.0..0.5, 1 => Just(1.0)]
}

fn trace() -> impl Strategy<Value = Trace> {
    let named = |opportunities_ms, steps| Trace {
        name: "made".to_owned(),
        opportunities_ms,
        steps,
    };
    let opportunities = prop::collection::vec(0..5u64, 1..40).prop_map(move |gaps| {
        let mut at_ms = 0;
        let mut times: Vec<u64> = gaps
            .iter()
            .map(|gap| {
                at_ms += gap;
                at_ms
            })
            .collect();
        times.push(at_ms + 1);
        named(times, vec![])
    });
    let steps = prop::collection::vec((1..2000u32, prop_oneof![Just(0.0), 0.1..50.0]), 0..20)
        .prop_map(move |steps| {
            let mut at_ms = 0;
            let mut pairs = vec![(0.0, 3.0)];
            for (lasts_ms, rate) in steps {
                at_ms += lasts_ms;
                pairs.push((f64::from(at_ms) / 1e3, rate));
            }
            pairs.push((f64::from(at_ms + 7) / 1e3, 0.0));
            named(vec![], pairs)
        });
    prop_oneof![opportunities, steps]
}

pub fn aqm() -> impl Strategy<Value = Aqm> {
    prop_oneof![
        codel().prop_map(Aqm::Codel),
        codel().prop_map(|asked| Aqm::FqCodel(fq_codel::Asked(asked))),
        pie().prop_map(Aqm::Pie),
        (pie(), 1..5usize, 300..1515u32).prop_map(|(pie, flows, quantum_bytes)| {
            Aqm::FqPie(fq_pie::Asked {
                pie,
                flows,
                quantum_bytes,
            })
        }),
        red().prop_map(Aqm::Red),
        dualpi2().prop_map(Aqm::DualPi2),
    ]
}

fn codel() -> impl Strategy<Value = codel::Asked> {
    let threshold = (prop::option::of(0.1..20.0), any::<bool>());
    let made = (any::<bool>(), 1..5usize, 0.1..10.0, 300..1515u32);
    (made, threshold).prop_map(|((ecn, flows, target_ms, quantum_bytes), (ce_ms, l4s))| {
        codel::Asked {
            target_ms,
            interval_ms: target_ms * 5.0,
            ecn,
            flows,
            quantum_bytes,
            ce_threshold_ms: ce_ms,
            ce_threshold_l4s: l4s && ce_ms.is_some(),
        }
    })
}

fn pie() -> impl Strategy<Value = pie::Asked> {
    let gains = (0.0..20.0, 0.0..100.0);
    (
        0.1..10.0,
        0.1..10.0,
        gains,
        0.1..9.0,
        any::<bool>(),
        share(),
    )
        .prop_map(
            |(target_ms, update_ms, (alpha, beta), burst_ms, ecn, mark_share)| pie::Asked {
                target_ms,
                update_ms,
                alpha,
                beta,
                burst_ms,
                ecn,
                mark_share,
            },
        )
}

fn red() -> impl Strategy<Value = red::Asked> {
    (
        1..9_000u64,
        1..30_000u64,
        0.01..=1.0,
        0.001..=1.0,
        any::<bool>(),
    )
        .prop_map(|(min_bytes, more, max_share, weight, ecn)| red::Asked {
            min_bytes,
            max_bytes: min_bytes + more,
            max_share,
            weight,
            ecn,
        })
}

fn dualpi2() -> impl Strategy<Value = dualpi2::Asked> {
    let gains = (0.0..20.0, 0.0..100.0);
    (
        0.1..10.0,
        0.1..10.0,
        gains,
        1.0..4.0,
        0.1..5.0,
        0.0..5.0,
        1..99u32,
    )
        .prop_map(
            |(target_ms, update_ms, (alpha, beta), coupling, step_ms, ramp_ms, classic_percent)| {
                dualpi2::Asked {
                    target_ms,
                    update_ms,
                    alpha,
                    beta,
                    coupling,
                    step_ms,
                    ramp_ms,
                    classic_percent,
                }
            },
        )
}

fn line() -> impl Strategy<Value = Direction> {
    let bottleneck = prop_oneof![
        1 => Just((None, None)),
        2 => (0.05..200.0).prop_map(|rate| (Some(rate), None)),
        2 => trace().prop_map(|trace| (None, Some(trace))),
    ];
    let depth = prop_oneof![
        Just((None, None)),
        (1_500..60_000u64).prop_map(|bytes| (Some(bytes), None)),
        (1..50u64).prop_map(|packets| (None, Some(packets))),
    ];
    (bottleneck, depth, prop::option::of(aqm()), 0.0..9_999.0).prop_map(
        |(line, depth, aqm, offset)| {
            let ((rate_mbps, trace), (queue_bytes, queue_packets)) = (line, depth);
            Direction {
                queue: queue::Asked {
                    aqm: aqm.filter(|_| rate_mbps.is_some() || trace.is_some()),
                    rate_mbps,
                    trace,
                    trace_offset_ms: offset,
                    queue_bytes,
                    queue_packets,
                    ..Default::default()
                },
                ..Direction::default()
            }
        },
    )
}

fn direction() -> impl Strategy<Value = Direction> {
    let order = Just(StageName::up()).prop_shuffle();
    let bursts = prop_oneof![
        2 => Just(None),
        1 => (0.01..0.9, 0.01..0.9).prop_map(|(p, r)| Some(by_packet(p, r))),
        1 => (0.1..50.0, 0.1..50.0).prop_map(|(good, bad)| Some(by_time(good, bad))),
    ];
    let loss = (share(), bursts);
    let jitter = (
        prop_oneof![Just(0.0), 0.0..8.0],
        any::<bool>(),
        any::<bool>(),
        prop::option::of(8.0..99.0f64),
    );
    let path = (0..3usize, 0.0..9.0, share());
    let rest = (
        share(),
        share(),
        prop::option::of(500..1600u32),
        prop::collection::vec(path, 0..2),
    );
    (line(), order, loss, jitter, 0.1..30.0, rest).prop_map(
        |(line, order, (loss, bursts), (jitter_ms, normal, reorders, periods), delay_ms, rest)| {
            let (duplicate, reorder, mtu, hosts) = rest;
            let wanders = jitter_ms > 0.0 && !reorders;
            let path = |(at, delay_ms, loss): (usize, f64, f64)| HostPath {
                address: HOSTS[at].parse().unwrap(),
                delay_ms,
                loss,
            };
            Direction {
                delay: delay::Asked {
                    delay_ms,
                    jitter_ms,
                    jitter_shape: if normal {
                        JitterShape::Normal
                    } else {
                        JitterShape::Uniform
                    },
                    jitter_reorders: reorders,
                    jitter_period_ms: periods.filter(|_| wanders).map(|n| n * jitter_ms),
                    reorder,
                    ..line.delay
                },
                loss: loss::Asked {
                    loss: if bursts.is_some() { 0.0 } else { loss },
                    gilbert_elliott: bursts.map(|chain| GilbertElliott {
                        loss_bad: loss,
                        ..chain
                    }),
                },
                duplicate: duplicate::Asked { duplicate },
                mtu: mtu::Asked {
                    mtu,
                    ..Default::default()
                },
                hosts: hosts::Asked {
                    hosts: hosts.into_iter().map(path).collect(),
                },
                stages: Some(order),
                ..line
            }
        },
    )
}

fn by_packet(p: f64, r: f64) -> GilbertElliott {
    GilbertElliott {
        p: Some(p),
        r: Some(r),
        ..GilbertElliott::default()
    }
}

fn by_time(good_ms: f64, bad_ms: f64) -> GilbertElliott {
    GilbertElliott {
        good_ms: Some(good_ms),
        bad_ms: Some(bad_ms),
        ..GilbertElliott::default()
    }
}

fn pipeline(direction: &Direction, seed: u64) -> Pipeline {
    let config = Config {
        seed,
        up: direction.clone(),
        ..Config::default()
    };
    config
        .understood()
        .expect("made to make sense")
        .up_pipeline()
}

fn drain(pipeline: &mut Pipeline, left: &mut Vec<Packet>) {
    left.extend(std::iter::from_fn(|| pipeline.release(u64::MAX)));
}

/// Everything that leaves; asked for after every arrival, or at the end alone.
fn run(mut pipeline: Pipeline, arrivals: &[Packet], promptly: bool) -> Vec<Packet> {
    let mut left = Vec::new();
    for packet in arrivals {
        if promptly {
            left.extend(std::iter::from_fn(|| pipeline.release(packet.arrival_ns)));
        }
        left.extend(pipeline.take(*packet));
    }
    drain(&mut pipeline, &mut left);
    left
}

fn delivered(left: &[Packet]) -> Vec<Packet> {
    left.iter()
        .filter(|packet| packet.dropped.is_none())
        .copied()
        .collect()
}

proptest! {
    #[test]
    fn nothing_appears_or_vanishes(
        direction in direction(), arrivals in traffic(), seed: u64, until in 0..200usize,
    ) {
        let mut pipeline = pipeline(&direction, seed);
        let mut left = Vec::new();
        for packet in &arrivals[..until.min(arrivals.len())] {
            left.extend(pipeline.take(*packet));
        }
        for packet in &arrivals[until.min(arrivals.len())..] {
            left.extend(std::iter::from_fn(|| pipeline.release(packet.arrival_ns)));
            left.extend(pipeline.take(*packet));
        }
        drain(&mut pipeline, &mut left);
        prop_assert_eq!(pipeline.next_ns(), None);
        let counts = pipeline.counts();
        prop_assert_eq!(left.len() as u64, arrivals.len() as u64 + counts.duplicated);
        let copies = left.iter().filter(|packet| packet.copy).count();
        prop_assert!(copies as u64 <= counts.duplicated);
        let mut seen: Vec<(u64, bool)> = left.iter().map(|packet| (packet.index, packet.copy)).collect();
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len(), left.len());
        for packet in &left {
            prop_assert!(packet.at_ns >= packet.arrival_ns);
            prop_assert!(direction.mtu.mtu.is_none_or(|mtu| packet.bytes <= mtu) || packet.dropped.is_some());
            prop_assert!(!packet.marked || packet.header.ecn.capable());
        }
    }

    #[test]
    fn when_the_owner_asks_changes_nothing(
        direction in direction(), arrivals in traffic(), seed: u64,
    ) {
        let promptly = run(pipeline(&direction, seed), &arrivals, true);
        let late = run(pipeline(&direction, seed), &arrivals, false);
        prop_assert_eq!(delivered(&promptly), delivered(&late));
    }

    #[test]
    fn packets_leave_in_order_of_time(
        direction in direction(), arrivals in traffic(), seed: u64,
    ) {
        let left = delivered(&run(pipeline(&direction, seed), &arrivals, true));
        prop_assert!(left.is_sorted_by_key(|packet| packet.at_ns));
    }

    #[test]
    fn only_what_reorders_reorders(direction in direction(), arrivals in traffic(), seed: u64) {
        let ordered = Direction { delay: delay::Asked { reorder: 0.0, jitter_reorders: false, ..direction.delay }, hosts: hosts::Asked { hosts: vec![] }, queue: queue::Asked { aqm: direction.queue.aqm.filter(|aqm| !matches!(aqm, Aqm::FqCodel(_) | Aqm::FqPie(_) | Aqm::DualPi2(_))), ..direction.queue }, ..direction };
        let left = delivered(&run(pipeline(&ordered, seed), &arrivals, true));
        prop_assert!(left.is_sorted_by_key(|packet| (packet.index, packet.copy)));
    }

    #[test]
    fn no_flow_of_one_queue_is_reordered(
        line in line(), arrivals in traffic(), mut aqm in prop::option::of(aqm()), seed: u64,
    ) {
        aqm = aqm.filter(|_| line.queue.rate_mbps.is_some() || line.queue.trace.is_some());
        let queue = queue::Asked { aqm, ..line.queue.clone() };
        let left = delivered(&run(pipeline(&Direction { queue, ..line }, seed), &arrivals, true));
        for flow in 0..4u64 {
            for scalable in [false, true] {
                let mine = |packet: &&Packet| {
                    packet.header.flow == flow && packet.header.ecn.scalable() == scalable
                };
                let places: Vec<u64> = left.iter().filter(mine).map(|packet| packet.index).collect();
                prop_assert!(places.is_sorted(), "{places:?}");
            }
        }
    }

    #[test]
    fn two_queues_count_every_packet_once(
        asked in dualpi2(), rate_mbps in 0.5..50.0, arrivals in traffic(),
        queue_packets in prop::option::of(1..50u64),
    ) {
        let aqm = Some(Aqm::DualPi2(asked));
        let queue = queue::Asked {
            rate_mbps: Some(rate_mbps), queue_packets, aqm, ..Default::default()
        };
        let direction = Direction { queue, ..Direction::default() };
        let mut pipeline = pipeline(&direction, 1);
        let mut left = Vec::new();
        for packet in &arrivals {
            left.extend(pipeline.take(*packet));
        }
        drain(&mut pipeline, &mut left);
        for (told, scalable) in pipeline.counts().queues.iter().zip([false, true]) {
            let mine: Vec<&Packet> =
                left.iter().filter(|packet| packet.header.ecn.scalable() == scalable).collect();
            let sent: Vec<&&Packet> = mine.iter().filter(|packet| packet.dropped.is_none()).collect();
            prop_assert_eq!(told.packets, sent.len() as u64);
            prop_assert_eq!(told.bytes, sent.iter().map(|p| u64::from(p.bytes)).sum::<u64>());
            prop_assert_eq!(told.dropped, (mine.len() - sent.len()) as u64);
            prop_assert_eq!(told.marked, sent.iter().filter(|packet| packet.marked).count() as u64);
            let longest_ns = sent.iter().filter_map(|packet| packet.waited_ns).max();
            // The line counts fractions of a ns; a queue hands over at a whole one.
            prop_assert!(told.max_ns - longest_ns.unwrap_or(0) <= 1);
            prop_assert!(told.p50_ns <= told.p99_ns && told.p99_ns <= told.max_ns);
        }
    }

    #[test]
    fn luck_is_by_index_alone(
        direction in direction(), one in traffic(), other in traffic(), seed: u64,
    ) {
        // Without what looks at more than the index.
        let gilbert_elliott = direction.loss.gilbert_elliott.filter(|chain| chain.good_ms.is_none());
        let lucky = Direction { queue: queue::Asked { rate_mbps: None, trace: None, aqm: None, ..direction.queue }, mtu: mtu::Asked::default(), hosts: hosts::Asked { hosts: vec![] }, loss: loss::Asked { gilbert_elliott, ..direction.loss }, ..direction };
        let fates = |arrivals: &[Packet]| {
            let common = one.len().min(other.len()) as u64;
            let mut left = run(pipeline(&lucky, seed), arrivals, true);
            left.retain(|packet| packet.index < common);
            left.sort_unstable_by_key(|packet| (packet.index, packet.copy));
            left.iter().map(|p| (p.index, p.copy, p.dropped)).collect::<Vec<_>>()
        };
        prop_assert_eq!(fates(&one), fates(&other));
    }

    #[test]
    fn a_trace_is_never_more_than_a_packet_from_its_curve(
        trace in trace(), bytes in 20..=1500u32, offset_ms in 0..5000u64,
    ) {
        prop_assert!(trace.check("up").is_ok());
        let start_ns = 77 * MS;
        let line = trace.line(offset_ms * MS);
        let bottleneck = Bottleneck::new(line, Depth::Unbounded, 0);
        let mut pipeline = Pipeline::new(vec![Box::new(bottleneck)]);
        for index in 0..200 {
            pipeline.take(Packet::new(index, bytes, start_ns, 0));
        }
        let mut left = Vec::new();
        drain(&mut pipeline, &mut left);
        let mut carried = 0.0;
        for packet in left {
            carried += f64::from(bytes);
            let since_ms = (packet.at_ns - start_ns) as f64 / 1e6;
            let curve = |at_ms: f64| {
                cumulative_bytes(&trace, offset_ms as f64 + at_ms)
                    - cumulative_bytes(&trace, offset_ms as f64)
            };
            // Bytes that have crossed by then, with the packet and, an instant before, without it.
            // An opportunity at the very start counts for both laps' ends.
            prop_assert!(carried <= curve(since_ms + 1e-6) + at_start(&trace, offset_ms) + 0.1);
            prop_assert!(carried >= curve(since_ms - 1e-4) - f64::from(bytes) - 0.1);
        }
    }

    #[test]
    fn no_window_of_a_managed_queue_carries_more_than_the_rate(
        bits_per_s in 10_000..200_000_000u64, arrivals in traffic(), aqm in aqm(),
    ) {
        let direction = Direction { queue: queue::Asked { rate_mbps: Some(bits_per_s as f64 / 1e6), aqm: Some(aqm), ..Default::default() }, ..Direction::default() };
        let left = delivered(&run(pipeline(&direction, 1), &arrivals, true));
        for (i, first) in left.iter().enumerate() {
            let mut bytes = 0;
            for last in &left[i + 1..] {
                bytes += u64::from(last.bytes);
                let window_ns = u128::from(last.at_ns - first.at_ns + 1);
                let carried = u128::from(bytes) * 8_000_000_000;
                prop_assert!(carried <= window_ns * u128::from(bits_per_s));
            }
        }
    }
}

/// What a trace could have carried from its own time 0 to `at_ms`.
fn cumulative_bytes(trace: &Trace, at_ms: f64) -> f64 {
    if trace.steps.is_empty() {
        let lap = *trace.opportunities_ms.last().unwrap() as f64;
        let laps = (at_ms / lap).floor();
        let whole = trace.opportunities_ms.len() as f64;
        let into = trace
            .opportunities_ms
            .iter()
            .filter(|&&ms| ms as f64 <= at_ms - laps * lap);
        return (laps * whole + into.count() as f64) * f64::from(OPPORTUNITY_BYTES);
    }
    let lap = trace.steps.last().unwrap().0 * 1e3;
    let laps = (at_ms / lap).floor();
    let carried = |until_ms: f64| -> f64 {
        trace
            .steps
            .windows(2)
            .map(|pair| {
                let (from, to) = (pair[0].0 * 1e3, pair[1].0 * 1e3);
                // Whole bits a second, as the line counts them: over hundreds of laps it shows.
                let bytes_per_ms = (pair[0].1 * 1e6).round() / 8e3;
                (until_ms.min(to) - from).max(0.0) * bytes_per_ms
            })
            .sum()
    };
    laps * carried(lap) + carried(at_ms - laps * lap)
}

/// Opportunities at the very moment the trace starts to play.
fn at_start(trace: &Trace, offset_ms: u64) -> f64 {
    let Some(lap) = trace.opportunities_ms.last() else {
        return 0.0;
    };
    let at = offset_ms % lap;
    let now = trace
        .opportunities_ms
        .iter()
        .filter(|&&ms| ms == at || (at == 0 && ms == *lap));
    now.count() as f64 * f64::from(OPPORTUNITY_BYTES)
}

fn through(line: Line, packets: &[(u64, u32)]) -> Vec<u64> {
    let bottleneck = Bottleneck::new(line, Depth::Unbounded, 0);
    let mut pipeline = Pipeline::new(vec![Box::new(bottleneck)]);
    let mut left = Vec::new();
    for (index, &(at_ms, bytes)) in packets.iter().enumerate() {
        left.extend(pipeline.take(Packet::new(index as u64, bytes, at_ms * MS, 0)));
    }
    drain(&mut pipeline, &mut left);
    left.iter().map(|packet| packet.at_ns / MS).collect()
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_take_several() {
    let line = || Line::Opportunities(Opportunities::new(vec![2 * MS, 5 * MS, 10 * MS], 10 * MS));
    // The trace begins with the first packet, at 100 ms.
    assert_eq!(
        through(line(), &[(100, 700), (100, 700), (100, 700)]),
        [102, 102, 105]
    );
    assert_eq!(through(line(), &[(100, 3100), (100, 1400)]), [110, 110]);
    // 800 bytes of the first opportunity are left, but no packet waits: they are lost.
    assert_eq!(through(line(), &[(100, 700), (103, 700)]), [102, 105]);
    // An opportunity serves who comes at its very moment; a lap ends with the last.
    assert_eq!(
        through(line(), &[(100, 60), (105, 60), (110, 60), (111, 60)]),
        [102, 105, 110, 112]
    );
    assert_eq!(
        through(line(), &[(100, 60), (100_000_000, 60)]),
        [102, 100_000_000]
    );
}

#[test]
fn a_rate_holds_until_the_next_and_an_outage_carries_nothing() {
    let step = |bits_per_s, lasts_ms| Step {
        bits_per_s,
        lasts_ns: lasts_ms * MS,
    };
    let line = || Line::steps(vec![step(1_000_000, 10), step(0, 50), step(8_000_000, 40)]);
    // 1000 bytes are 8 ms at 1 Mbit/s; of the second 250 pass before the outage, 750 take 0.75 ms.
    assert_eq!(through(line(), &[(500, 1000), (500, 1000)]), [508, 560]);
    assert_eq!(
        through(
            line(),
            &[(500, 1000), (600, 1000), (1000 * 100 + 560, 1000)]
        ),
        [508, 608, 100_561]
    );
}

#[test]
fn depths_count_what_waits_and_not_what_the_line_carries() {
    let refused = |depth| {
        let bottleneck = Bottleneck::new(Line::fixed(8_000), depth, 0);
        let mut pipeline = Pipeline::new(vec![Box::new(bottleneck)]);
        (0..10)
            .filter_map(|i| pipeline.take(Packet::new(i, 1000, 0, 0)))
            .map(|p| p.index)
            .next()
    };
    assert_eq!(refused(Depth::Packets(3)), Some(4));
    assert_eq!(refused(Depth::Bytes(3999)), Some(4));
    assert_eq!(refused(Depth::Bytes(4000)), Some(5));
    assert_eq!(refused(Depth::Unbounded), None);
}

#[test]
fn layer_2_accounting_makes_the_ethernet_header_cost_time() {
    let direction = Direction {
        queue: queue::Asked {
            rate_mbps: Some(8.0),
            ..Default::default()
        },
        ..Direction::default()
    };
    let left_us = |accounting| {
        let config = Config {
            up: direction.clone(),
            accounting,
            ..Config::default()
        };
        let mut pipeline = config.up_pipeline();
        pipeline.take(Packet::new(0, 986, 0, 0));
        pipeline.next_ns().unwrap() / 1000
    };
    assert_eq!(
        [left_us(Accounting::L3), left_us(Accounting::L2)],
        [986, 1000]
    );
}

#[test]
fn only_the_named_host_is_far_and_lossy() {
    for down in [false, true] {
        let path = HostPath {
            address: HOSTS[1].parse().unwrap(),
            delay_ms: 30.0,
            loss: 0.5,
        };
        let side = Direction {
            hosts: hosts::Asked { hosts: vec![path] },
            ..Direction::default()
        };
        let config = Config {
            seed: 5,
            up: side.clone(),
            down: side,
            ..Config::default()
        };
        let mut pipeline = if down {
            config.down_pipeline()
        } else {
            config.up_pipeline()
        };
        let mut left = Vec::new();
        for index in 0..2000 {
            let (near, far) = (key("10.64.0.1".parse().unwrap()), host(index as usize % 2));
            let (source, destination) = if down { (far, near) } else { (near, far) };
            let header = Header {
                source,
                destination,
                ..Header::default()
            };
            left.extend(pipeline.take(Packet {
                header,
                ..Packet::new(index, 60, index, 0)
            }));
        }
        drain(&mut pipeline, &mut left);
        let lost = left
            .iter()
            .filter(|p| p.dropped == Some(hosts::LOST))
            .count() as u64;
        assert!((400..600).contains(&lost));
        let [count] = &pipeline.counts().host_loss[..] else {
            panic!("one host")
        };
        assert_eq!((count.trials, count.lost), (1000, lost));
        for packet in delivered(&left) {
            let extra_ns = if packet.index % 2 == 1 { 30 * MS } else { 0 };
            assert_eq!(packet.at_ns, packet.arrival_ns + extra_ns);
        }
    }
}

#[test]
fn jitter_has_the_asked_mean_and_width() {
    for (shape, sigma_ms) in [
        (JitterShape::Uniform, 2.0 / 3f64.sqrt()),
        (JitterShape::Normal, 2.0),
    ] {
        let direction = Direction {
            delay: delay::Asked {
                delay_ms: 20.0,
                jitter_ms: 2.0,
                jitter_shape: shape,
                jitter_reorders: true,
                ..Default::default()
            },
            ..Direction::default()
        };
        let mut pipeline = pipeline(&direction, 9);
        for index in 0..100_000 {
            pipeline.take(Packet::new(index, 60, 1000, 0));
        }
        let mut left = Vec::new();
        drain(&mut pipeline, &mut left);
        let delays: Vec<f64> = left.iter().map(|p| (p.at_ns - 1000) as f64 / 1e6).collect();
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let variance = delays.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / delays.len() as f64;
        assert!((mean - 20.0).abs() < 5.0 * sigma_ms / 316.0, "{mean}");
        assert!(
            (variance.sqrt() / sigma_ms - 1.0).abs() < 0.02,
            "{variance}"
        );
        if shape == JitterShape::Uniform {
            assert!(delays.iter().all(|delay| (18.0..=22.0).contains(delay)));
        }
    }
}

#[test]
fn jitter_of_a_table_has_its_quantiles_in_order_and_not() {
    for reorders in [true, false] {
        let direction = Direction {
            delay: delay::Asked {
                delay_ms: 20.0,
                jitter_ms: 2.0,
                jitter_shape: JitterShape::Table,
                jitter_table: vec![-1.0, -0.5, 0.0, 0.0, 3.0],
                jitter_reorders: reorders,
                ..Default::default()
            },
            ..Direction::default()
        };
        // Over 62,500 periods.
        let arrivals: Vec<Packet> = (0..100_000)
            .map(|index| Packet::new(index, 60, index * 10 * MS, 0))
            .collect();
        let left = run(pipeline(&direction, 9), &arrivals, true);
        let delays = |p: &Packet| (p.at_ns - p.arrival_ns) as f64 / 1e6;
        let share = |most: f64| {
            let below = left.iter().filter(|p| delays(p) <= most).count();
            below as f64 / left.len() as f64
        };
        assert!(left.iter().all(|p| (18.0..=26.0).contains(&delays(p))));
        for (delay_ms, wanted) in [(19.0, 0.25), (20.0001, 0.75), (23.0, 0.875)] {
            let found = share(delay_ms);
            assert!(
                (found - wanted).abs() < 0.01,
                "{reorders}: {delay_ms} {found}"
            );
        }
    }
}

#[test]
fn a_table_of_jitter_that_cannot_be_is_refused() {
    let said = |jitter_shape, jitter_table: &[f64]| {
        let up = Direction {
            delay: delay::Asked {
                jitter_ms: 2.0,
                jitter_shape,
                jitter_table: jitter_table.to_vec(),
                ..Default::default()
            },
            ..Direction::default()
        };
        let asked = Config {
            up,
            ..Config::default()
        };
        asked.understood().map_err(|error| error.to_string()).err()
    };
    assert_eq!(said(JitterShape::Table, &[-1.0, 1.0]), None);
    for (shape, table) in [
        (JitterShape::Table, &[][..]),
        (JitterShape::Normal, &[-1.0, 1.0]),
        (JitterShape::Table, &[1.0]),
        (JitterShape::Table, &[1.0, -1.0]),
        (JitterShape::Table, &[-1.0, 1e9]),
        (JitterShape::Table, &[f64::NAN, 1.0]),
    ] {
        let found = said(shape, table).unwrap();
        assert!(found.starts_with("up.jitter_table"), "{found}");
    }
}

#[test]
fn a_missing_or_doubled_stage_is_named() {
    let stage = |name: &'static str| -> StageName { serde_json::from_value(name.into()).unwrap() };
    let said = |stages, loss| {
        let up = Direction {
            loss: loss::Asked {
                loss,
                ..Default::default()
            },
            stages: Some(stages),
            ..Direction::default()
        };
        Config {
            up,
            ..Config::default()
        }
        .understood()
        .unwrap_err()
        .to_string()
    };
    assert!(said(vec![stage("delay")], 0.1).starts_with("up.stages lacks loss"));
    let twice = ["delay", "loss", "delay"].map(stage).to_vec();
    assert!(said(twice, 0.1).starts_with("up.stages names delay twice"));
}

//! What holds for every link, whatever is sent through it.

use dragstrip_link::config::{Config, Direction};
use dragstrip_link::model::effects::delay::Delay;
use dragstrip_link::model::effects::loss::{LOST, Loss};
use dragstrip_link::model::effects::{delay, loss, queue};
use dragstrip_link::model::{Bottleneck, Depth, Line, Packet, Pipeline, Stage};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Sent {
    gap_ns: u64,
    bytes: u32,
}

fn traffic() -> impl Strategy<Value = Vec<Sent>> {
    let gap = prop_oneof![3 => Just(0), 3 => 0..200_000u64, 1 => 0..50_000_000u64];
    let sent = (gap, 20..=1500u32).prop_map(|(gap_ns, bytes)| Sent { gap_ns, bytes });
    prop::collection::vec(sent, 1..300)
}

fn direction() -> impl Strategy<Value = Direction> {
    (
        prop::option::of(0.05..2000.0),
        prop_oneof![Just(0.0), 0.0..50.0],
        prop_oneof![Just(0.0), 0.0..=1.0],
        prop::option::of(0.1..100.0),
    )
        .prop_map(|(rate_mbps, delay_ms, loss, queue_ms)| Direction {
            queue: queue::Asked {
                rate_mbps,
                queue_ms,
                ..Default::default()
            },
            delay: delay::Asked {
                delay_ms,
                ..Default::default()
            },
            loss: loss::Asked {
                loss,
                ..Default::default()
            },
            ..Direction::default()
        })
}

fn config(seed: u64, direction: &Direction) -> Config {
    Config {
        seed,
        up: direction.clone(),
        down: direction.clone(),
        ..Config::default()
    }
}

/// Arrivals from time 1 s on; a packet's slot is its index.
fn arrivals(traffic: &[Sent]) -> Vec<Packet> {
    let mut at_ns = 1_000_000_000;
    let packet = |(index, sent): (usize, &Sent)| {
        at_ns += sent.gap_ns;
        Packet::new(index as u64, sent.bytes, at_ns, index as u32)
    };
    traffic.iter().enumerate().map(packet).collect()
}

/// Everything that leaves, in order, asked for every `step_ns` (or after every arrival).
fn run(mut pipeline: Pipeline, arrivals: &[Packet], step_ns: Option<u64>) -> Vec<Packet> {
    let mut left = Vec::new();
    for packet in arrivals {
        let now_ns = packet.arrival_ns / step_ns.unwrap_or(1) * step_ns.unwrap_or(1);
        left.extend(std::iter::from_fn(|| pipeline.release(now_ns)));
        left.extend(pipeline.take(*packet));
    }
    left.extend(std::iter::from_fn(|| pipeline.release(u64::MAX)));
    left
}

fn delivered(left: &[Packet]) -> Vec<Packet> {
    left.iter()
        .filter(|packet| packet.dropped.is_none())
        .copied()
        .collect()
}

fn lost(left: &[Packet]) -> Vec<u64> {
    let lost = left.iter().filter(|packet| packet.dropped == Some(LOST));
    let mut lost: Vec<u64> = lost.map(|packet| packet.index).collect();
    lost.sort_unstable();
    lost
}

fn bottleneck(bits_per_s: u64, depth: Depth) -> Pipeline {
    let bottleneck = Bottleneck::new(Line::fixed(bits_per_s), depth, 0);
    Pipeline::new(vec![Box::new(bottleneck)])
}

/// Which of a direction's first packets random loss takes.
fn loses(share: f64, seed: u64, direction: u64, count: u64) -> Vec<bool> {
    let mut loss = Loss::new(share, seed, direction);
    let lost = |index| {
        let left = loss.take(Packet::new(index, 60, 0, 0));
        left.is_some_and(|packet| packet.dropped == Some(LOST))
    };
    (0..count).map(lost).collect()
}

proptest! {
    #[test]
    fn every_packet_leaves_once_or_is_still_inside(
        direction in direction(), traffic in traffic(), seed: u64, until in 0..300usize,
    ) {
        let arrivals = arrivals(&traffic);
        let config = config(seed, &direction);
        for mut pipeline in [config.up_pipeline(), config.down_pipeline()] {
            let mut left = Vec::new();
            for packet in &arrivals {
                left.extend(pipeline.take(*packet));
            }
            let now_ns = arrivals[until.min(arrivals.len() - 1)].arrival_ns;
            left.extend(std::iter::from_fn(|| pipeline.release(now_ns)));
            prop_assert_eq!(pipeline.next_ns().is_some(), left.len() < arrivals.len());
            left.extend(std::iter::from_fn(|| pipeline.release(u64::MAX)));
            let mut slots: Vec<u32> = left.iter().map(|packet| packet.slot).collect();
            slots.sort_unstable();
            prop_assert_eq!(slots, (0..arrivals.len() as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn order_is_kept_and_nothing_is_early(
        direction in direction(), traffic in traffic(), seed: u64,
    ) {
        let config = config(seed, &direction);
        let delay_ns = (direction.delay.delay_ms * 1e6).round() as u64;
        let serialising = |bytes: u32| {
            direction.queue.rate_mbps.map_or(0.0, |mbps| f64::from(bytes) * 8e9 / (mbps * 1e6).round())
        };
        for pipeline in [config.up_pipeline(), config.down_pipeline()] {
            let left = delivered(&run(pipeline, &arrivals(&traffic), None));
            prop_assert!(left.is_sorted_by(|a, b| a.index < b.index && a.at_ns <= b.at_ns));
            for packet in left {
                let least_ns = packet.arrival_ns + delay_ns;
                prop_assert!(packet.at_ns as f64 >= least_ns as f64 + serialising(packet.bytes));
            }
        }
    }

    #[test]
    fn no_window_carries_more_than_the_rate(
        bits_per_s in 1_000..2_000_000_000u64, traffic in traffic(), depth_ms in 1..200u64,
    ) {
        let pipeline = bottleneck(bits_per_s, Depth::Time(depth_ms * 1_000_000));
        let left = delivered(&run(pipeline, &arrivals(&traffic), None));
        for (i, first) in left.iter().enumerate() {
            let mut bytes = 0;
            for last in &left[i + 1..] {
                bytes += u64::from(last.bytes);
                let window_ns = u128::from(last.at_ns - first.at_ns + 1); // times are whole ns
                let carried = u128::from(bytes) * 8 * 1_000_000_000;
                prop_assert!(carried <= window_ns * u128::from(bits_per_s));
            }
        }
    }

    #[test]
    fn a_busy_line_does_not_drift(bits_per_s in 1_000..10_000_000_000u64, bytes in 20..1500u32) {
        const COUNT: u64 = 10_000;
        let mut pipeline = bottleneck(bits_per_s, Depth::Unbounded);
        for index in 0..COUNT {
            pipeline.take(Packet::new(index, bytes, 0, 0));
        }
        let last = std::iter::from_fn(|| pipeline.release(u64::MAX)).last().unwrap();
        let work = u128::from(COUNT * u64::from(bytes)) * 8 * 1_000_000_000;
        prop_assert_eq!(u128::from(last.at_ns), work.div_ceil(u128::from(bits_per_s)));
    }

    #[test]
    fn queue_holds_its_depth_within_one_packet(
        bits_per_s in 100_000..1_000_000_000u64, depth_ns in 100_000..200_000_000u64,
    ) {
        let mut pipeline = bottleneck(bits_per_s, Depth::Time(depth_ns));
        let bytes = 1500;
        let packet_ns = u64::from(bytes) * 8 * 1_000_000_000 / bits_per_s;
        let more = 3 + depth_ns / packet_ns;
        let at_once = |index| pipeline.take(Packet::new(index, bytes, 0, 0));
        let refused = (0..more).filter_map(at_once).count() as u64;
        let waiting = more - refused;
        // Without rounding: a packet's time is work / bits_per_s.
        let work = u128::from(bytes) * 8 * 1_000_000_000;
        let depth = u128::from(depth_ns) * u128::from(bits_per_s);
        prop_assert!(u128::from(waiting) * work <= depth + work);
        prop_assert!(u128::from(waiting + 1) * work > depth);
    }

    #[test]
    fn when_the_owner_asks_changes_nothing(
        direction in direction(), traffic in traffic(), seed: u64, step_ns in 1..20_000_000u64,
    ) {
        let config = config(seed, &direction);
        let arrivals = arrivals(&traffic);
        for pipeline in [Config::up_pipeline, Config::down_pipeline] {
            let promptly = run(pipeline(&config), &arrivals, None);
            let lazily = run(pipeline(&config), &arrivals, Some(step_ns));
            prop_assert_eq!(delivered(&promptly), delivered(&lazily));
            prop_assert_eq!(lost(&promptly), lost(&lazily));
        }
    }

    #[test]
    fn nothing_leaves_before_the_time_announced(
        direction in direction(), traffic in traffic(), seed: u64,
    ) {
        let mut pipeline = config(seed, &direction).down_pipeline();
        for packet in arrivals(&traffic) {
            pipeline.take(packet);
        }
        while let Some(next_ns) = pipeline.next_ns() {
            prop_assert_eq!(pipeline.release(next_ns - 1), None);
            let left = pipeline.release(next_ns);
            prop_assert!(left.is_none_or(|packet| packet.at_ns == next_ns));
        }
        prop_assert_eq!(pipeline.release(u64::MAX), None);
    }

    #[test]
    fn loss_depends_on_seed_direction_and_index_alone(
        share in 0.0..=1.0, seed: u64, one in traffic(), other in traffic(),
    ) {
        let link = Direction { loss: loss::Asked { loss: share, ..Default::default() }, ..Direction::default() };
        let slow = Direction { queue: queue::Asked { rate_mbps: Some(0.5), ..link.clone().queue }, delay: delay::Asked { delay_ms: 30.0, ..link.clone().delay }, ..link.clone() };
        let mut fates = Vec::new();
        for (direction, traffic) in [(link, one), (slow, other)] {
            let config = config(seed, &direction);
            let arrivals = arrivals(&traffic);
            fates.push([config.up_pipeline(), config.down_pipeline()].map(|pipeline| {
                (traffic.len() as u64, lost(&run(pipeline, &arrivals, None)))
            }));
        }
        for (a, b) in fates[0].iter().zip(&fates[1]) {
            let common = a.0.min(b.0);
            let within = |lost: &[u64]| lost.iter().filter(|i| **i < common).copied().collect();
            let (a, b): (Vec<u64>, Vec<u64>) = (within(&a.1), within(&b.1));
            prop_assert_eq!(a, b);
        }
    }

    #[test]
    fn loss_sets_of_one_seed_are_nested(seed: u64, low in 0.0..=1.0, high in 0.0..=1.0) {
        let (low, high) = if low < high { (low, high) } else { (high, low) };
        let (fewer, more) = (loses(low, seed, 1, 1000), loses(high, seed, 1, 1000));
        prop_assert!(fewer.iter().zip(more).all(|(low, high)| !low || high));
    }
}

#[test]
fn loss_has_the_asked_share_and_no_memory() {
    const COUNT: u64 = 1_000_000;
    for (seed, direction) in [(0, 1), (0, 2), (1, 1), (u64::MAX, 2)] {
        let lost = loses(0.05, seed, direction, COUNT + 1);
        let both = |pair: &[bool]| pair[0] && pair[1];
        let share = lost.iter().filter(|lost| **lost).count() as f64 / COUNT as f64;
        let pairs = lost.windows(2).filter(|pair| both(pair)).count() as f64 / COUNT as f64;
        // Five standard deviations of a binomial share: 0.0011; of the pairs': 0.00025.
        assert!((share - 0.05).abs() < 0.0011, "{share} with seed {seed}");
        assert!(
            (pairs - 0.0025).abs() < 0.000_26,
            "{pairs} pairs with seed {seed}"
        );
    }
}

#[test]
fn directions_and_seeds_lose_different_packets() {
    let set = |seed, direction| loses(0.5, seed, direction, 256);
    assert_ne!(set(7, 1), set(7, 2));
    assert_ne!(set(7, 1), set(8, 1));
    assert_eq!(set(7, 1), set(7, 1));
}

#[test]
fn the_loss_stream_is_the_documented_one() {
    // A capsule's seed must mean the same packets in every version.
    let lost = loses(0.1, 42, 1, 60);
    let lost: Vec<usize> = (0..60).filter(|&index| lost[index]).collect();
    assert_eq!(lost, [0, 8, 20, 25, 30, 39, 40, 51, 52, 56, 57]);
}

#[test]
fn loss_at_the_clients_end_comes_behind_the_queue_downstream_and_before_it_upstream() {
    let direction = Direction {
        queue: queue::Asked {
            rate_mbps: Some(12.0),
            ..Default::default()
        },
        delay: delay::Asked {
            delay_ms: 5.0,
            ..Default::default()
        },
        loss: loss::Asked {
            loss: 1.0,
            ..Default::default()
        },
        ..Direction::default()
    };
    let config = config(1, &direction);
    let packet = Packet::new(0, 1500, 0, 0);
    let up = run(config.up_pipeline(), &[packet], None);
    let down = run(config.down_pipeline(), &[packet], None);
    assert_eq!((up[0].at_ns, up[0].waited_ns), (0, None));
    assert_eq!((down[0].at_ns, down[0].waited_ns), (6_000_000, Some(0)));
}

#[test]
fn delay_alone_is_exact() {
    let mut pipeline = Pipeline::new(vec![Box::new(Delay::new(10_000_000, None, None))]);
    assert_eq!(pipeline.take(Packet::new(0, 1500, 3, 0)), None);
    assert_eq!(pipeline.next_ns(), Some(10_000_003));
    assert_eq!(pipeline.release(10_000_003).unwrap().at_ns, 10_000_003);
}

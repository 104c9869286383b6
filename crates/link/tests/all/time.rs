//! Effects that follow a clock: traces, jitter in order, bursts of loss by time.

use std::f64::consts::PI;

use dragstrip_link::config::{Config, Direction};
use dragstrip_link::model::aqm::{Aqm, codel, fq_codel};
use dragstrip_link::model::effects::delay::JitterShape;
use dragstrip_link::model::effects::loss::GilbertElliott;
use dragstrip_link::model::effects::{delay, loss, queue};
use dragstrip_link::model::{Packet, Pipeline};
use dragstrip_link::trace::Trace;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const START: u64 = 1_000 * MS;

fn down(direction: &Direction, seed: u64) -> Pipeline {
    let config = Config {
        seed,
        down: direction.clone(),
        ..Config::default()
    };
    let understood = config.understood().expect("made to make sense");
    understood.down_pipeline()
}

/// What leaves a link of time 0 `START` that packets reach at these times, in ns since then.
fn through(direction: &Direction, seed: u64, times_ns: impl Iterator<Item = u64>) -> Vec<Packet> {
    let mut pipeline = down(direction, seed);
    pipeline.begin(START);
    let mut left = Vec::new();
    for (index, at_ns) in times_ns.enumerate() {
        left.extend(pipeline.take(Packet::new(index as u64, 1000, START + at_ns, 0)));
        while let Some(packet) = pipeline.release(START + at_ns) {
            left.push(packet);
        }
    }
    left.extend(std::iter::from_fn(|| pipeline.release(u64::MAX)));
    left
}

fn jittery(jitter_ms: f64, jitter_shape: JitterShape) -> Direction {
    Direction {
        delay: delay::Asked {
            delay_ms: 50.0,
            jitter_ms,
            jitter_shape,
            ..Default::default()
        },
        ..Direction::default()
    }
}

/// Mean and standard deviation of the delay in ms.
fn delays(left: &[Packet]) -> (f64, f64) {
    let ms = |p: &Packet| (p.at_ns - p.arrival_ns) as f64 / 1e6;
    let count = left.len() as f64;
    let mean = left.iter().map(ms).sum::<f64>() / count;
    let variance = left.iter().map(|p| (ms(p) - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

#[test]
fn jitter_in_order_has_the_same_mean_and_width_at_every_rate_of_packets() {
    for (shape, sigma_ms) in [
        (JitterShape::Uniform, 10.0 / 3f64.sqrt()),
        (JitterShape::Normal, 10.0),
    ] {
        let direction = jittery(10.0, shape);
        // 60 s are 750 periods: a standard error of 0.05 standard deviations.
        let found = [120_000, 1_200_000, 100 * MS].map(|gap_ns| {
            let times = (0..60_000 * MS).step_by(gap_ns as usize);
            delays(&through(&direction, 4, times))
        });
        for (mean, width) in found {
            println!("{shape:?}: {mean:.3} ms, {width:.3} ms");
            assert!(
                (mean - 50.0).abs() < 0.15 * sigma_ms,
                "{shape:?}: {found:?}"
            );
            assert!((width / sigma_ms - 1.0).abs() < 0.1, "{shape:?}: {found:?}");
            // A packet every 100 ms samples the same delays, a few at a time.
            assert!(
                (mean - found[0].0).abs() < 0.1 * sigma_ms,
                "{shape:?}: {found:?}"
            );
        }
    }
}

#[test]
fn jitter_in_order_changes_over_its_period() {
    for period_ms in [80.0, 200.0] {
        let direction = Direction {
            delay: delay::Asked {
                jitter_period_ms: Some(period_ms),
                ..jittery(10.0, JitterShape::Normal).delay
            },
            ..jittery(10.0, JitterShape::Normal)
        };
        let gap_ns = (period_ms * 1e5) as usize; // a tenth of it
        let left = through(&direction, 1, (0..400_000 * MS).step_by(gap_ns));
        let offset_ms = |p: &Packet| (p.at_ns - p.arrival_ns) as f64 / 1e6 - 50.0;
        let offsets: Vec<f64> = left.iter().map(offset_ms).collect();
        let later = |steps: usize| {
            let pairs = offsets.iter().zip(&offsets[steps..]);
            pairs.map(|(one, other)| one * other).sum::<f64>() / offsets.len() as f64 / 100.0
        };
        // Half a period later, one and two, averaged over the place within a period.
        let found = [later(5), later(10), later(20)];
        for (found, expected) in found.iter().zip([0.755, 1.0 / PI, 0.0]) {
            assert!(
                (found - expected).abs() < 0.08,
                "{period_ms}: {found} {expected}"
            );
        }
    }
}

proptest! {
    #[test]
    fn a_packets_jitter_in_order_is_its_times_alone(
        seed: u64, jitter_ms in 0.1..40.0, normal: bool, probe in 0..10_000 * MS,
        others in prop::collection::btree_set(0..10_000 * MS, 0..300),
    ) {
        let shape = if normal { JitterShape::Normal } else { JitterShape::Uniform };
        let direction = jittery(jitter_ms, shape);
        let mut times = others;
        times.insert(probe);
        let among = through(&direction, seed, times.into_iter());
        let alone = through(&direction, seed, std::iter::once(probe));
        let at_ns = |left: &[Packet]| {
            left.iter().find(|p| p.arrival_ns == START + probe).map(|p| p.at_ns)
        };
        prop_assert_eq!(at_ns(&among), at_ns(&alone));
        prop_assert!(among.is_sorted_by_key(|p| (p.at_ns, p.index)));
        if !normal {
            let far = |p: &Packet| ((p.at_ns - p.arrival_ns) as f64 - 50e6).abs();
            prop_assert!(among.iter().all(|p| far(p) <= jitter_ms * 1e6 + 1.0));
        }
    }
}

#[test]
fn both_directions_of_a_recorded_pair_play_from_one_time() {
    // 1000 bytes a millisecond in the first second of four; two opportunities in four seconds.
    let steps = Trace {
        steps: vec![(0.0, 8.0), (1.0, 0.0), (4.0, 0.0)],
        ..Trace::default()
    };
    let opportunities = Trace {
        opportunities_ms: vec![1000, 4000],
        ..Trace::default()
    };
    for (trace, expected) in [
        (steps, [(0, 1), (500, 501), (1500, 4001), (4000, 4001)]),
        (
            opportunities,
            [(0, 1000), (500, 1000), (1500, 4000), (4500, 5000)],
        ),
    ] {
        let direction = Direction {
            queue: queue::Asked {
                trace: Some(trace),
                ..Default::default()
            },
            ..Direction::default()
        };
        let config = Config {
            up: direction.clone(),
            down: direction,
            ..Config::default()
        };
        let config = config.understood().unwrap();
        for (first_ms, due_ms) in expected {
            for mut pipeline in [config.up_pipeline(), config.down_pipeline()] {
                // The other direction's first packet came at START.
                pipeline.begin(START);
                pipeline.take(Packet::new(0, 1000, START + first_ms * MS, 0));
                let left = pipeline.release(u64::MAX).unwrap();
                assert_eq!(left.at_ns, START + due_ms * MS);
            }
        }
    }
}

fn bursts(good_ms: f64, bad_ms: f64) -> Direction {
    let chain = GilbertElliott {
        good_ms: Some(good_ms),
        bad_ms: Some(bad_ms),
        loss_bad: 1.0,
        ..GilbertElliott::default()
    };
    Direction {
        loss: loss::Asked {
            gilbert_elliott: Some(chain),
            ..Default::default()
        },
        ..Direction::default()
    }
}

#[test]
fn bursts_by_time_last_as_long_however_fast_packets_come() {
    let lost_at = |gap_ns: u64| {
        let left = through(
            &bursts(95.0, 5.0),
            6,
            (0..20_000 * MS).step_by(gap_ns as usize),
        );
        assert!(
            left.iter()
                .all(|p| matches!(p.dropped, None | Some(loss::LOST)))
        );
        let lost = left.iter().filter(|p| p.dropped.is_some());
        lost.map(|p| p.arrival_ns).collect::<Vec<_>>()
    };
    let (slow, fast) = (lost_at(MS), lost_at(MS / 10));
    // The same instants lose packets at either rate.
    assert!(slow.iter().all(|at_ns| fast.binary_search(at_ns).is_ok()));
    let share = |lost: &[u64], sent: f64| lost.len() as f64 / sent;
    assert!((share(&slow, 20_000.0) - share(&fast, 200_000.0)).abs() < 0.003);
    // 200 bursts: five standard errors are 1.8 %.
    assert!((share(&fast, 200_000.0) - 0.05).abs() < 0.018);
}

#[test]
fn the_chain_says_how_long_it_was_bad() {
    let mut pipeline = down(&bursts(20.0, 20.0), 3);
    let mut lost_ms = 0;
    for index in 0..100_000u64 {
        let left = pipeline.take(Packet::new(index, 1000, START + index * MS, 0));
        lost_ms += u64::from(left.is_some_and(|p| p.dropped.is_some()));
    }
    let counts = pipeline.counts();
    assert_eq!(counts.loss_fates, "");
    let bursts = counts.bursts.unwrap();
    assert_eq!((bursts.trials, bursts.lost), (lost_ms, lost_ms));
    assert_eq!(bursts.watched_ns, Some(99_999 * MS));
    let bad_ms = bursts.bad_ns.unwrap() / MS;
    // Each of 5000 states begins and ends within a millisecond of a packet.
    assert!(bad_ms.abs_diff(lost_ms) < 500, "{bad_ms} {lost_ms}");
}

#[test]
fn an_empty_packet_waits_out_an_outage() {
    let trace = Trace {
        name: "made".to_owned(),
        steps: vec![(0.0, 0.0), (0.5, 8.0), (1.0, 0.0)],
        ..Trace::default()
    };
    for aqm in [None, Some(fair())] {
        let direction = Direction {
            queue: queue::Asked {
                trace: Some(trace.clone()),
                aqm,
                ..Default::default()
            },
            ..Direction::default()
        };
        let mut pipeline = down(&direction, 1);
        pipeline.take(Packet::new(0, 0, START, 0));
        let left = std::iter::from_fn(|| {
            let next_ns = pipeline.next_ns()?;
            Some(pipeline.release(next_ns))
        });
        let left: Vec<Packet> = left.flatten().collect();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].at_ns, START + 500 * MS);
    }
}

fn fair() -> Aqm {
    Aqm::FqCodel(fq_codel::Asked(codel::Asked {
        target_ms: 5.0,
        interval_ms: 100.0,
        ecn: true,
        flows: 1024,
        quantum_bytes: 1514,
        ce_threshold_ms: None,
        ce_threshold_l4s: false,
    }))
}

#[test]
fn a_line_that_is_busy_for_centuries_does_not_overflow() {
    let drop = Trace {
        name: "made".to_owned(),
        steps: vec![(0.0, 0.001), (0.000_001, 0.0), (1_000_000.0, 0.0)],
        ..Trace::default()
    };
    let one = Trace {
        name: "made".to_owned(),
        opportunities_ms: vec![1_000_000_000],
        ..Trace::default()
    };
    for trace in [drop, one] {
        let direction = Direction {
            queue: queue::Asked {
                trace: Some(trace),
                ..Default::default()
            },
            delay: delay::Asked {
                delay_ms: 3_600_000.0,
                ..Default::default()
            },
            ..Direction::default()
        };
        let mut pipeline = down(&direction, 1);
        for index in 0..200 {
            assert_eq!(pipeline.take(Packet::new(index, 1 << 18, START, 0)), None);
        }
        assert!(pipeline.next_ns().is_some());
        let left = std::iter::from_fn(|| pipeline.release(u64::MAX));
        assert_eq!(left.count(), 200);
    }
}

//! No configuration that the link accepts, and no frame, makes it panic.

use dragstrip_link::config::{Config, Direction};
use dragstrip_link::far::FarEnd;
use dragstrip_link::header::{Header, mark};
use dragstrip_link::meter::Meter;
use dragstrip_link::model::Packet;
use dragstrip_link::model::aqm::{Aqm, codel, dualpi2, fq_codel, fq_pie, pie, red};
use dragstrip_link::model::effects::delay::JitterShape;
use dragstrip_link::model::effects::loss::GilbertElliott;
use dragstrip_link::model::effects::{delay, duplicate, loss, queue};
use dragstrip_link::trace::Trace;
use proptest::prelude::*;

const START: u64 = 1_000_000_000;

/// Numbers from the edges of what makes sense, and a few beyond them.
fn one_of(edges: &[f64], inside: std::ops::Range<f64>) -> BoxedStrategy<f64> {
    prop_oneof![
        20 => prop::sample::select(edges.to_vec()),
        20 => inside,
        1 => prop::sample::select(vec![-1.0, 1e9, f64::INFINITY, f64::NAN]),
    ]
    .boxed()
}

fn ms() -> BoxedStrategy<f64> {
    one_of(&[0.0, 1e-6, 0.1, 1.0, 1e3, 3.6e6], 0.0..100.0)
}

fn share() -> BoxedStrategy<f64> {
    one_of(&[0.0, 1e-9, 0.5, 1.0], 0.0..1.0)
}

fn mbps() -> BoxedStrategy<f64> {
    one_of(&[1e-6, 1e-3, 1.0, 1e3, 1e6], 0.001..100.0)
}

fn mostly_off(value: BoxedStrategy<f64>) -> BoxedStrategy<f64> {
    prop_oneof![3 => Just(0.0), 1 => value].boxed()
}

fn trace() -> impl Strategy<Value = Trace> {
    let lasts_s = one_of(&[1e-6, 1e-3, 1.0, 1e5], 0.0001..5.0);
    let rate = prop_oneof![1 => Just(0.0), 2 => mbps()];
    let steps = prop::collection::vec((lasts_s, rate), 1..5).prop_map(|steps| {
        let mut at_s = 0.0;
        let mut pairs = Vec::new();
        for (lasts_s, rate) in steps {
            pairs.push((at_s, rate));
            at_s += lasts_s;
        }
        pairs.push((at_s, 0.0));
        pairs
    });
    let times = prop::sample::select(vec![0, 1, 2, 1000, 1_000_000_000, u64::MAX]);
    let times = prop::collection::vec(times, 1..4).prop_map(|mut times| {
        times.sort_unstable();
        times
    });
    let named = |opportunities_ms, steps| Trace {
        name: "made".to_owned(),
        opportunities_ms,
        steps,
    };
    prop_oneof![
        2 => steps.prop_map(move |steps| named(vec![], steps)),
        1 => times.prop_map(move |times| named(times, vec![])),
    ]
}

fn bursts() -> impl Strategy<Value = GilbertElliott> {
    let pace = (share(), share(), ms(), ms(), any::<bool>());
    (pace, share(), share()).prop_map(|((p, r, good_ms, bad_ms, timed), loss_good, loss_bad)| {
        GilbertElliott {
            p: (!timed).then_some(p),
            r: (!timed).then_some(r),
            good_ms: timed.then_some(good_ms),
            bad_ms: timed.then_some(bad_ms),
            loss_good,
            loss_bad,
        }
    })
}

fn aqm() -> impl Strategy<Value = Aqm> {
    let codels = (any::<bool>(), ms(), ms(), 1..3usize, 1..3u32).prop_map(
        |(fair, target_ms, interval_ms, flows, quantum_bytes)| {
            let asked = codel::Asked {
                target_ms,
                interval_ms,
                ecn: true,
                flows,
                quantum_bytes,
                ce_threshold_ms: None,
                ce_threshold_l4s: false,
            };
            if fair {
                Aqm::FqCodel(fq_codel::Asked(asked))
            } else {
                Aqm::Codel(asked)
            }
        },
    );
    let gains = || one_of(&[0.0, 0.125, 1000.0], 0.0..10.0);
    let pie = (
        ms(),
        ms(),
        gains(),
        gains(),
        ms(),
        share(),
        0..3usize,
        0..3u32,
    )
        .prop_map(
            |(target_ms, update_ms, alpha, beta, burst_ms, mark_share, flows, quantum_bytes)| {
                let pie = pie::Asked {
                    target_ms,
                    update_ms,
                    alpha,
                    beta,
                    burst_ms,
                    ecn: true,
                    mark_share,
                };
                match flows {
                    0 => Aqm::Pie(pie),
                    _ => Aqm::FqPie(fq_pie::Asked {
                        pie,
                        flows: flows - 1,
                        quantum_bytes,
                    }),
                }
            },
        );
    let red = (0..5_000u64, 0..9_000u64, share(), share()).prop_map(
        |(min_bytes, max_bytes, max_share, weight)| {
            Aqm::Red(red::Asked {
                min_bytes,
                max_bytes,
                max_share,
                weight,
                ecn: true,
            })
        },
    );
    let dual = (ms(), ms(), gains(), gains(), gains(), ms(), ms(), 0..101u32).prop_map(
        |(target_ms, update_ms, alpha, beta, coupling, step_ms, ramp_ms, classic_percent)| {
            Aqm::DualPi2(dualpi2::Asked {
                target_ms,
                update_ms,
                alpha,
                beta,
                coupling,
                step_ms,
                ramp_ms,
                classic_percent,
            })
        },
    );
    prop_oneof![codels, pie, red, dual]
}

fn direction() -> impl Strategy<Value = Direction> {
    let line = (
        prop::option::of(mbps()),
        prop::option::of(trace()),
        mostly_off(ms()),
        prop::option::of(aqm()),
        prop::option::of(one_of(&[1e-6, 1.0, 3.6e6], 0.1..100.0)),
        prop::option::weighted(0.2, 1..2000u64),
    );
    let periods = prop::option::weighted(0.2, 7.9..100.0);
    let jitter = (mostly_off(ms()), any::<bool>(), any::<bool>(), periods);
    let rest = (ms(), share(), mostly_off(share()), mostly_off(share()));
    let bursts = prop::option::weighted(0.4, bursts());
    (line, jitter, rest, bursts).prop_map(
        |(
            (rate_mbps, trace, trace_offset_ms, aqm, queue_ms, queue_bytes),
            jitter,
            rest,
            bursts,
        )| {
            let (jitter_ms, normal, jitter_reorders, periods) = jitter;
            let (delay_ms, loss, duplicate, reorder) = rest;
            let aqm = aqm.filter(|_| rate_mbps.is_some() || trace.is_some());
            let managed_trace = aqm.is_some() && trace.is_some();
            let wanders = jitter_ms > 0.0 && !jitter_reorders;
            Direction {
                queue: queue::Asked {
                    rate_mbps: rate_mbps.filter(|_| trace.is_none()),
                    queue_ms: queue_ms.filter(|_| queue_bytes.is_none() && !managed_trace),
                    trace,
                    trace_offset_ms,
                    aqm,
                    queue_bytes,
                    ..Default::default()
                },
                delay: delay::Asked {
                    jitter_shape: if normal {
                        JitterShape::Normal
                    } else {
                        JitterShape::Uniform
                    },
                    jitter_ms,
                    jitter_reorders,
                    jitter_period_ms: periods.filter(|_| wanders).map(|n| n * jitter_ms),
                    delay_ms,
                    reorder,
                    ..Default::default()
                },
                loss: loss::Asked {
                    loss: if bursts.is_some() { 0.0 } else { loss },
                    gilbert_elliott: bursts,
                },
                duplicate: duplicate::Asked { duplicate },
                ..Direction::default()
            }
        },
    )
}

/// Gaps and frames, of which some are IP packets and some as long as the ring takes them.
fn frames() -> impl Strategy<Value = Vec<(u64, Vec<u8>, u32)>> {
    let ip = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..120),
        (
            prop::sample::select(vec![0x45u8, 0x4f, 0x60]),
            prop::collection::vec(any::<u8>(), 0..70)
        )
            .prop_map(|(first, rest)| [vec![first], rest].concat()),
    ];
    let more = prop_oneof![4 => Just(0u32), 1 => 0..=(1u32 << 18)];
    let gap_ns = prop_oneof![Just(0), 0..2_000_000u64, 0..1_000_000_000u64];
    prop::collection::vec((gap_ns, ip, more), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_frame_and_no_link_that_is_accepted_panics(
        up in direction(), frames in frames(), seed: u64, early: bool,
    ) {
        let config = Config { seed, up, ..Config::default() };
        let Ok(config) = config.understood() else {
            return Ok(());
        };
        let mut pipeline = config.up_pipeline();
        if early {
            pipeline.begin(START + 5_000); // by the other direction, a moment after our first
        }
        let mut meter = Meter::default();
        let mut at_ns = START;
        for (gap_ns, ip, more) in &frames {
            at_ns += gap_ns;
            let bytes = ip.len() as u32 + more;
            let index = meter.arrived(bytes as usize + 14, bytes);
            let packet = Packet {
                header: Header::of(ip),
                far: FarEnd::of(ip, false).and_then(|end| meter.place(end)),
                ..Packet::new(index, bytes, at_ns, 0)
            };
            mark(&mut ip.clone());
            let mut left: Vec<Packet> = pipeline.take(packet).into_iter().collect();
            left.extend(std::iter::from_fn(|| pipeline.release(at_ns)));
            for packet in left {
                match packet.dropped {
                    Some(cause) => meter.dropped(&packet, cause),
                    None => meter.sent(&packet, at_ns),
                }
            }
            pipeline.next_ns();
            pipeline.least_ns();
        }
        let report = meter.report(0, pipeline.counts(), 0);
        prop_assert!(report.queued <= 2 * frames.len() as u64);
    }
}

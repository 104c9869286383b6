//! How fast the model is, without any I/O, per second of CPU time, so that a busy machine does not
//! count: `cargo bench -p dragstrip-link`.

use dragstrip_link::config::{Config, Direction};
use dragstrip_link::header::Header;
use dragstrip_link::model::Packet;
use dragstrip_link::model::aqm::{Aqm, codel, fq_codel};
use dragstrip_link::model::effects::loss::GilbertElliott;
use dragstrip_link::model::effects::{delay, duplicate, loss, mtu, queue};
use dragstrip_link::trace::Trace;

const PACKETS: u64 = 5_000_000;

fn main() {
    let plain = Direction {
        queue: queue::Asked {
            rate_mbps: Some(1000.0),
            queue_ms: Some(50.0),
            ..Default::default()
        },
        delay: delay::Asked {
            delay_ms: 10.0,
            ..Default::default()
        },
        loss: loss::Asked {
            loss: 0.01,
            ..Default::default()
        },
        ..Direction::default()
    };
    let aqm = || codel::Asked {
        target_ms: 5.0,
        interval_ms: 100.0,
        ecn: true,
        flows: 1024,
        quantum_bytes: 1514,
    };
    let played = |opportunities_ms, steps| Direction {
        queue: queue::Asked {
            rate_mbps: None,
            trace: Some(Trace {
                name: "made".to_owned(),
                opportunities_ms,
                steps,
            }),
            ..plain.clone().queue
        },
        ..plain.clone()
    };
    let opportunities = (1..60_000).flat_map(|ms| [ms; 84]).collect();
    let steps = (0..600).map(|i| (f64::from(i) / 10.0, 800.0 + f64::from(i % 5) * 100.0));
    let bursts = GilbertElliott {
        p: Some(0.001),
        r: Some(0.1),
        loss_bad: 0.5,
        ..GilbertElliott::default()
    };
    let timed = GilbertElliott {
        good_ms: Some(990.0),
        bad_ms: Some(10.0),
        loss_bad: 0.5,
        ..GilbertElliott::default()
    };
    let sets = [
        ("rate, droptail, delay, loss", plain.clone()),
        ("Mahimahi trace", played(opportunities, vec![])),
        ("trace of rates", played(vec![], steps.collect())),
        (
            "CoDel",
            Direction {
                queue: queue::Asked {
                    aqm: Some(Aqm::Codel(aqm())),
                    ..plain.clone().queue
                },
                ..plain.clone()
            },
        ),
        (
            "FQ-CoDel",
            Direction {
                queue: queue::Asked {
                    aqm: Some(Aqm::FqCodel(fq_codel::Asked(aqm()))),
                    ..plain.clone().queue
                },
                ..plain.clone()
            },
        ),
        (
            "jitter with reordering, bursts of loss, duplicates",
            Direction {
                delay: delay::Asked {
                    jitter_ms: 2.0,
                    jitter_reorders: true,
                    reorder: 0.01,
                    ..plain.clone().delay
                },
                loss: loss::Asked {
                    loss: 0.0,
                    gilbert_elliott: Some(bursts),
                },
                duplicate: duplicate::Asked { duplicate: 0.01 },
                mtu: mtu::Asked { mtu: Some(1500) },
                ..plain.clone()
            },
        ),
        (
            "jitter in order, bursts of loss by time",
            Direction {
                delay: delay::Asked {
                    jitter_ms: 2.0,
                    ..plain.delay
                },
                loss: loss::Asked {
                    loss: 0.0,
                    gilbert_elliott: Some(timed),
                },
                ..plain
            },
        ),
    ];
    for (name, down) in sets {
        println!("{:5.1} million packets/s: {name}", speed(down) / 1e6);
    }
}

/// Packets a second through one direction that gets 1 % more than its rate.
fn speed(down: Direction) -> f64 {
    let config = Config {
        seed: 1,
        down,
        ..Config::default()
    };
    let mut pipeline = config
        .understood()
        .expect("these are good links")
        .down_pipeline();
    let start = cpu_seconds();
    let mut left = 0u64;
    for index in 0..PACKETS {
        let arrival_ns = index * 11_900;
        let header = Header {
            flow: index % 7,
            ..Header::default()
        };
        let packet = Packet {
            header,
            ..Packet::new(index, 1500, arrival_ns, 0)
        };
        left += u64::from(pipeline.take(packet).is_some());
        while pipeline.release(arrival_ns).is_some() {
            left += 1;
        }
    }
    assert!(left > PACKETS / 2, "only {left} packets left");
    PACKETS as f64 / (cpu_seconds() - start)
}

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

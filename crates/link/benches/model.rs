//! Measures how fast the model is, without any I/O. Only CPU time counts, so a busy machine does
//! not matter: `cargo bench -p dragstrip-link`.

use dragstrip_link::config::{Config, Direction};
use dragstrip_link::header::Header;
use dragstrip_link::model::Packet;
use serde_json::{Value, json};

const PACKETS: u64 = 5_000_000;

fn main() {
    let codel = |kind| {
        json!({"aqm": {"kind": kind, "target_ms": 5, "interval_ms": 100, "ecn": true,
                       "flows": 1024, "quantum_bytes": 1514}})
    };
    let opportunities: Vec<u64> = (1..60_000).flat_map(|ms| [ms; 84]).collect();
    let steps: Vec<(f64, f64)> = (0..600)
        .map(|i| (f64::from(i) / 10.0, 800.0 + f64::from(i % 5) * 100.0))
        .collect();
    let sets = [
        ("rate, droptail, delay, loss", json!({})),
        (
            "Mahimahi trace",
            json!({"rate_mbps": null, "trace": {"name": "made", "opportunities_ms": opportunities}}),
        ),
        (
            "trace of rates",
            json!({"rate_mbps": null, "trace": {"name": "made", "steps": steps}}),
        ),
        ("CoDel", codel("codel")),
        ("FQ-CoDel", codel("fq_codel")),
        (
            "jitter with reordering, bursts of loss, duplicates",
            json!({"jitter_ms": 2, "jitter_reorders": true, "loss": 0, "duplicate": 0.01,
                   "reorder": 0.01, "mtu": 1500,
                   "gilbert_elliott": {"p": 0.001, "r": 0.1, "loss_good": 0, "loss_bad": 0.5}}),
        ),
        (
            "jitter in order, bursts of loss by time",
            json!({"jitter_ms": 2, "loss": 0,
                   "gilbert_elliott": {"good_ms": 990, "bad_ms": 10, "loss_good": 0, "loss_bad": 0.5}}),
        ),
    ];
    for (name, effects) in sets {
        println!(
            "{:5.1} million packets/s: {name}",
            speed(direction(&effects)) / 1e6
        );
    }
}

/// A direction with 1 Gbit/s, 10 ms and 1 % of loss; `effects` replaces or adds fields.
fn direction(effects: &Value) -> Direction {
    let mut fields = json!({"rate_mbps": 1000, "delay_ms": 10, "loss": 0.01, "queue_ms": 50});
    for (name, value) in effects.as_object().expect("fields") {
        fields[name] = value.clone();
    }
    serde_json::from_value(fields).expect("these are fields of a direction")
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

//! How fast the model is, without any I/O: `cargo bench -p dragstrip-link`.

use std::time::Instant;

use dragstrip_link::config::{Config, Direction};
use dragstrip_link::model::Packet;

const PACKETS: u64 = 10_000_000;

fn main() {
    let direction = Direction {
        rate_mbps: Some(1000.0),
        delay_ms: 10.0,
        loss: 0.01,
        queue_ms: Some(50.0),
        ..Direction::default()
    };
    let mut pipeline = Config {
        seed: 1,
        up: direction.clone(),
        down: direction,
        ..Config::default()
    }
    .down_pipeline();
    let start = Instant::now();
    let mut left = 0u64;
    for index in 0..PACKETS {
        let arrival_ns = index * 11_900; // a little faster than the rate: the queue fills
        left += u64::from(
            pipeline
                .take(Packet::new(index, 1500, arrival_ns, 0))
                .is_some(),
        );
        while pipeline.release(arrival_ns).is_some() {
            left += 1;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let rate = PACKETS as f64 / seconds / 1e6;
    println!("model: {rate:.1} million packets/s ({left} of {PACKETS} left)");
}

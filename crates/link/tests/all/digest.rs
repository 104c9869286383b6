//! What a seed means never changes: every effect over the same arrivals, packet by packet.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use dragstrip_link::config::Config;
use dragstrip_link::header::Header;
use dragstrip_link::model::{Packet, Pipeline};
use serde::Deserialize;
use serde_json::{Value, json};

const START_NS: u64 = 7_000_000_000;
const COUNT: u64 = 3_000;

/// Fields of a direction, and the digest of all that leaves up and down under two seeds.
#[derive(Deserialize)]
struct Kept {
    name: String,
    asked: Value,
    digest: String,
}

fn config(given: &Value, seed: u64) -> Config {
    let mut side = json!({"rate_mbps": null, "delay_ms": 0, "loss": 0, "queue_ms": null});
    for (name, value) in given.as_object().unwrap() {
        side[name] = value.clone();
    }
    let mut down = side.clone();
    // Only the client asks for grants.
    down.as_object_mut().unwrap().remove("grant");
    let asked = json!({"seed": seed, "up": side, "down": down, "accounting": "l2"});
    let config: Config = serde_json::from_value(asked).unwrap();
    config.understood().unwrap()
}

/// An IP packet of made bytes: two in three IPv4, with all code points of ECN, and some SYNs with
/// data.
fn ip(index: u64, roll: u64) -> Vec<u8> {
    let peer = (roll % 3) as u8;
    let ecn = (roll >> 8 & 3) as u8;
    let syn = roll >> 16 & 15 == 0;
    let protocol = if syn || roll >> 20 & 1 == 0 { 6 } else { 17 };
    let mut packet = if peer == 2 {
        let mut head = vec![0x60, ecn << 4, 0, 0, 0, 40, protocol, 64];
        let address = |last: u8| [vec![0xfd], vec![0; 14], vec![last]].concat();
        head.extend([address(3), address(3)].concat());
        head
    } else {
        let mut head = vec![0x45, ecn, 0, 60, 0, 0, 0x40, 0, 64, protocol, 0, 0];
        head.extend([10, 64, 1, peer, 10, 64, 1, peer]);
        head
    };
    let port = (roll >> 24 & 7) as u8;
    packet.extend([1, 187, 15, port, 0, 0, 0, index as u8, 0, 0, 0, 0]);
    packet.extend([5 << 4, if syn { 2 } else { 16 }, 0, 0, 0, 0, 0, 0]);
    packet.extend([7; 20]);
    packet
}

fn arrivals() -> Vec<Packet> {
    let (mut state, mut at_ns) = (42u64, START_NS);
    let mut roll = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 20
    };
    (0..COUNT)
        .map(|index| {
            let (gap, size, what) = (roll(), roll(), roll());
            at_ns += match gap % 16 {
                0..=7 => 0,
                8..=14 => gap >> 4 & 0x1f_ffff,
                _ => gap >> 4 & 0x7f_ffff,
            };
            let bytes = [40, 60, 576, 1280, 1300, 1400, 1500][size as usize % 7];
            Packet {
                header: Header::of(&ip(index, what)),
                ..Packet::new(index, bytes, at_ns, 0)
            }
        })
        .collect()
}

/// A line for each packet that left, and what the stages counted.
fn story(mut pipeline: Pipeline, arrivals: &[Packet], causes: &mut BTreeSet<String>) -> String {
    let mut left = Vec::new();
    pipeline.begin(START_NS - 500);
    for packet in arrivals {
        left.extend(std::iter::from_fn(|| pipeline.release(packet.arrival_ns)));
        left.extend(pipeline.take(*packet));
    }
    left.extend(std::iter::from_fn(|| pipeline.release(u64::MAX)));
    let mut told = String::new();
    for packet in left {
        let cause = packet.dropped.map_or("-".to_owned(), |cause| {
            serde_json::to_value(cause)
                .unwrap()
                .as_str()
                .unwrap()
                .replace("host_loss", "host")
        });
        writeln!(
            told,
            "{} {} {} {:?} {} {} {cause}",
            packet.index,
            packet.copy,
            packet.at_ns,
            packet.waited_ns,
            packet.line_ns,
            packet.marked,
        )
        .unwrap();
        causes.insert(if packet.marked {
            "marked".to_owned()
        } else {
            cause
        });
    }
    let counts = pipeline.counts();
    write!(
        told,
        "{} {} {}",
        counts.loss_trials, counts.loss_fates, counts.duplicated
    )
    .unwrap();
    for host in counts.host_loss {
        write!(told, " {} {} {}", host.address, host.trials, host.lost).unwrap();
    }
    if let Some(bursts) = counts.bursts {
        let times = (bursts.bad_ns, bursts.watched_ns);
        write!(told, " {} {} {times:?}", bursts.trials, bursts.lost).unwrap();
    }
    told
}

/// FNV-1a of 64 bits.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn every_effect_does_to_every_packet_what_it_always_did() {
    let arrivals = arrivals();
    let mut causes = BTreeSet::new();
    let mut changed = Vec::new();
    // A digest there is a promise to every capsule: it never changes.
    let kept: Vec<Kept> = serde_json::from_str(include_str!("digests.json")).unwrap();
    for Kept {
        name,
        asked,
        digest: expected,
    } in kept
    {
        let mut told = String::new();
        for seed in [1, u64::MAX] {
            let config = config(&asked, seed);
            for pipeline in [config.up_pipeline(), config.down_pipeline()] {
                told += &story(pipeline, &arrivals, &mut causes);
            }
        }
        let found = format!("{:016x}", digest(&told));
        if found != expected {
            changed.push(format!("{name}: {found}"));
        }
    }
    assert_eq!(changed, Vec::<String>::new());
    let all = [
        "-", "aqm", "host", "loss", "marked", "mtu", "policer", "queue", "syn_data", "udp",
    ];
    assert_eq!(causes.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

//! Tests the clock that paces.

use super::*;

const PACKET: u64 = 1448;

fn flow(rate: Option<f64>) -> Flow {
    Flow::new(View {
        congestion: Congestion::Cubic,
        slow_start_exit: None,
        packet_bytes: PACKET,
        initial_window_packets: 10,
        window: 10 * PACKET,
        rate,
        rtt: None,
        fine: false,
    })
}

#[test]
fn ten_packets_are_free_and_the_rest_are_spaced_at_the_rate() {
    let (now, rate) = (Instant::now(), 1e6);
    let flow = flow(Some(rate));
    let mut due = Vec::new();
    for _ in 0..30 {
        flow.on_sent(now, PACKET);
        due.push(unpoisoned(&flow.0).due.saturating_duration_since(now));
    }
    assert!(due[..10].iter().all(Duration::is_zero));
    let gaps = due[12..]
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]).as_secs_f64());
    for gap in gaps {
        assert!((gap * rate / PACKET as f64 - 1.0).abs() < 0.01, "{gap}");
    }
}

#[test]
fn without_pacing_nothing_waits() {
    let now = Instant::now();
    let flow = flow(None);
    for _ in 0..30 {
        flow.on_sent(now, PACKET);
    }
    assert_eq!(flow.hold(), None);
}

#[test]
fn packets_that_only_acknowledge_are_neither_counted_nor_held() {
    let now = Instant::now();
    let flow = flow(Some(1.0)); // the slowest: a packet waits as long as any may
    for _ in 0..=FREE_PACKETS {
        flow.on_sent(now, PACKET);
    }
    flow.on_sent(now, PACKET);
    assert!(flow.hold().is_some());
    flow.make(true);
    assert!(flow.on_acknowledging(now));
    assert_eq!((flow.hold(), flow.sent()), (None, FREE_PACKETS + 2));
    flow.make(false);
    assert!(!flow.on_acknowledging(now));
    flow.on_sent(now, PACKET);
    assert!(flow.hold().is_some(), "the rate goes on where it was");
}

#[test]
fn lateness_is_made_up_for_and_idleness_hardly() {
    let late = Duration::from_millis(50);
    for (held, credit) in [(true, HELD_CREDIT), (false, CREDIT)] {
        let now = Instant::now();
        let flow = flow(Some(1e6));
        let mut state = unpoisoned(&flow.0);
        (state.sent, state.held, state.next) = (FREE_PACKETS, held, now);
        drop(state);
        flow.on_sent(now + late, PACKET);
        assert_eq!(unpoisoned(&flow.0).due + credit, now + late);
    }
}

//! The clock that paces, and the window quinn is told.

use super::*;

const PACKET: u64 = 1448;

fn steering(congestion: Congestion, pacing: bool) -> Arc<Steering> {
    let rtt = Duration::from_millis(100);
    Arc::new(Steering::new(congestion, 32, PACKET, rtt, pacing))
}

#[test]
fn a_window_of_32_packets_lets_32_out() {
    for congestion in [Congestion::Cubic, Congestion::Reno, Congestion::Bbr] {
        let now = Instant::now();
        let steering = steering(congestion, true);
        let mut controller = steering.clone().build(now, PACKET as u16);
        assert_eq!(steering.flow.view().congestion, congestion);
        for sent in 0..40 {
            let room = sent < 32;
            assert_eq!(
                controller.window() > u32::MAX.into(),
                room,
                "{sent} packets"
            );
            assert_eq!(controller.metrics().congestion_window, 32 * PACKET);
            controller.on_sent(now, PACKET, sent);
        }
        assert_eq!(controller.window(), 32 * PACKET);
    }
}

#[test]
fn a_grant_lets_one_packet_out_of_a_full_window_and_of_no_other() {
    let now = Instant::now();
    let steering = steering(Congestion::Cubic, true);
    let mut controller = steering.clone().build(now, PACKET as u16);
    let room = |controller: &dyn Controller| controller.window() > u32::MAX.into();
    steering.flow.grant();
    for sent in 0..32 {
        assert!(room(&*controller));
        controller.on_sent(now, PACKET, sent);
    }
    assert!(!room(&*controller));
    steering.flow.grant();
    assert!(room(&*controller));
    controller.on_sent(now, PACKET, 32);
    assert!(!room(&*controller));
    assert_eq!(steering.flow.sent(), 33);
}

#[test]
fn the_initial_window_counts_packets_of_the_size_it_was_made_of() {
    for congestion in [Congestion::Cubic, Congestion::Reno, Congestion::Bbr] {
        let now = Instant::now();
        let steering = steering(congestion, true);
        let mut controller = steering.clone().build(now, PACKET as u16);
        controller.on_mtu_update(1200);
        controller.on_sent(now, 1200, 0);
        let view = steering.flow.view();
        assert_eq!((view.packet_bytes, view.initial_window_packets), (1200, 32));
    }
}

#[test]
fn ten_packets_are_free_and_the_rest_are_spaced_at_the_rate() {
    let now = Instant::now();
    let paced = steering(Congestion::Cubic, true);
    let mut controller = paced.clone().build(now, PACKET as u16);
    let rate = paced.flow.view().rate.unwrap();
    assert_eq!(rate.round(), 2.0 * 32.0 * PACKET as f64 / 0.1);
    let mut due = Vec::new();
    for number in 0..30 {
        controller.on_sent(now, PACKET, number);
        due.push(unpoisoned(&paced.flow.0).due.saturating_duration_since(now));
    }
    assert!(due[..10].iter().all(Duration::is_zero));
    let gaps = due[12..]
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs_f64());
    for gap in gaps {
        assert!((gap * rate / PACKET as f64 - 1.0).abs() < 0.01, "{gap}");
    }
}

#[test]
fn the_first_acknowledgement_already_sets_the_rate() {
    let paced = steering(Congestion::Cubic, true);
    let controller = paced.clone().build(Instant::now(), PACKET as u16);
    let mut steered = controller.into_any().downcast::<Steered>().unwrap();
    let (assumed, sample) = (Duration::from_millis(100), Duration::from_millis(25));
    let rates = [assumed, Duration::from_millis(40)].map(|estimated| {
        steered.take_round_trip(estimated, sample);
        steered.rate() / (2.0 * 32.0 * PACKET as f64)
    });
    assert!((rates[0] - 1.0 / 0.025).abs() < 1e-6, "{rates:?}");
    assert!((rates[1] - 1.0 / 0.040).abs() < 1e-6, "{rates:?}");
}

#[test]
fn without_pacing_nothing_waits() {
    let now = Instant::now();
    let unpaced = steering(Congestion::Cubic, false);
    let mut controller = unpaced.clone().build(now, PACKET as u16);
    for number in 0..30 {
        controller.on_sent(now, PACKET, number);
    }
    assert_eq!(unpaced.flow.hold(), None);
    assert_eq!(unpaced.flow.view().rate, None);
}

#[test]
fn lateness_is_made_up_for_and_idleness_hardly() {
    let late = Duration::from_millis(50);
    for (held, credit) in [(true, HELD_CREDIT), (false, CREDIT)] {
        let now = Instant::now();
        let flow = steering(Congestion::Cubic, true).flow.clone();
        let mut state = unpoisoned(&flow.0);
        (state.sent, state.held, state.next) = (FREE_PACKETS, held, now);
        state.view.rate = Some(1e6);
        drop(state);
        flow.on_sent(now + late, PACKET);
        assert_eq!(unpoisoned(&flow.0).due, now + late - credit);
    }
}

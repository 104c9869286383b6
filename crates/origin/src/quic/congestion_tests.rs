//! Tests the window that quinn gets, and the round trip that pacing uses.

use super::*;

const PACKET: u64 = 1448;
const ALL: [Congestion; 5] = [
    Congestion::Cubic,
    Congestion::Reno,
    Congestion::Bbr,
    Congestion::Bbr3,
    Congestion::Prague,
];

fn steering(congestion: Congestion, pacing: bool) -> Arc<Steering> {
    Arc::new(Steering::new(Sending {
        congestion,
        initial_window: 32,
        packet_bytes: PACKET,
        initial_rtt: Duration::from_millis(100),
        pacing,
        slow_start_exit: SlowStartExit::Hystart,
    }))
}

fn steered(steering: &Arc<Steering>, now: Instant) -> Steered {
    let controller = steering.clone().build(now, PACKET as u16);
    *controller.into_any().downcast::<Steered>().unwrap()
}

#[test]
fn a_window_of_32_packets_lets_32_out() {
    for congestion in ALL {
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
fn packets_that_only_acknowledge_take_no_room_and_no_turn() {
    let now = Instant::now();
    let steering = steering(Congestion::Cubic, true);
    let mut controller = steered(&steering, now);
    for number in 0..100 {
        steering.flow.make(true);
        controller.on_sent(now, 40, number);
        assert_eq!(steering.flow.hold(), None);
    }
    assert_eq!((controller.in_flight, steering.flow.sent()), (0, 0));
    steering.flow.make(false);
    controller.on_sent(now, PACKET, 100);
    assert_eq!((controller.in_flight, steering.flow.sent()), (PACKET, 1));
}

#[test]
fn the_initial_window_counts_packets_of_the_size_it_was_made_of() {
    for congestion in ALL {
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
fn the_first_acknowledgements_already_set_the_rate() {
    let (assumed, sample) = (Duration::from_millis(333), Duration::from_millis(25));
    let estimated = Duration::from_millis(40);
    let mut controller = steered(&steering(Congestion::Cubic, true), Instant::now());
    // The round trip in which two windows leave, ms.
    let paced_by = |controller: &Steered| {
        (2.0 * 32.0 * PACKET as f64 / controller.rate() * 1e3).round() as u64
    };
    assert_eq!(paced_by(&controller), 100);
    let mut found = Vec::new();
    // quinn knows the round trip only after the first batch, however many packets that has.
    for (quinn, packets) in [(assumed, 3), (estimated, 2)] {
        for _ in 0..packets {
            controller.rtt.acked(quinn, sample, Duration::ZERO);
            found.push(paced_by(&controller));
        }
        controller.rtt.batch_ends();
    }
    assert_eq!(found, [25, 25, 25, 40, 40]);
}

#[test]
fn what_packets_waited_for_the_clock_is_no_round_trip() {
    let ms = Duration::from_millis;
    let mut rtt = RoundTrip::assumed(ms(333));
    rtt.acked(ms(333), ms(50), ms(10)); // it left 10 ms after it was made
    rtt.batch_ends();
    for _ in 0..100 {
        rtt.acked(ms(60), ms(50), ms(10));
        rtt.batch_ends();
    }
    assert_eq!(rtt.rtt, ms(50));
}

#[test]
fn a_single_mark_is_a_loss_to_cubic_and_reno_alone() {
    for congestion in ALL {
        let now = Instant::now();
        let mut controller = steered(&steering(congestion, true), now);
        for number in 0..32 {
            controller.on_sent(now, PACKET, number);
        }
        let before = controller.law.window();
        let later = now + Duration::from_millis(50);
        controller.on_congestion_event(later, now, false, 0);
        let threshold = controller.metrics().ssthresh;
        match congestion {
            Congestion::Cubic => assert_eq!(threshold, Some(before * 7 / 10)),
            Congestion::Reno => assert_eq!(threshold, Some(before / 2)),
            _ => assert_eq!(controller.law.window(), before),
        }
    }
}

#[test]
fn only_cubic_has_a_slow_start_exit() {
    let kinds = ALL.map(|congestion| {
        let steering = steering(congestion, true);
        steered(&steering, Instant::now());
        steering.flow.view().slow_start_exit
    });
    assert_eq!(
        kinds,
        [Some(SlowStartExit::Hystart), None, None, None, None]
    );
}

//! CoDel and FQ-CoDel against sequences worked out by hand from RFC 8289 and RFC 8290.

use std::collections::VecDeque;

use dragstrip_link::header::{Ecn, Header};
use dragstrip_link::model::Packet;
use dragstrip_link::model::aqm::Discipline;
use dragstrip_link::model::aqm::codel::{Codel, Parameters};
use dragstrip_link::model::aqm::fq_codel::FqCodel;
use dragstrip_link::model::effects::queue::{FULL, MANAGED};

const MS: u64 = 1_000_000;
const CODEL: Parameters = Parameters {
    target_ns: 5 * MS,
    interval_ns: 100 * MS,
    ecn: false,
    ce_threshold_ns: None,
    ce_scalable: false,
};

/// A full queue of full packets that all came at time 0.
fn standing(parameters: Parameters, count: u64, ecn: Ecn) -> Codel {
    let mut queue = Codel::new(parameters);
    for index in 0..count {
        let header = Header {
            ecn,
            ..Header::default()
        };
        queue.fifo.put(Packet {
            header,
            ..Packet::new(index, 1500, 0, 0)
        });
    }
    queue
}

/// One packet is taken every millisecond from 10 ms on; when were packets dropped?
fn drop_times_ms(queue: &mut Codel, until_ms: u64) -> Vec<u64> {
    let mut times = Vec::new();
    for now_ms in 10..until_ms {
        let mut gone = VecDeque::new();
        queue.take(now_ms * MS, &mut gone);
        assert!(gone.iter().all(|packet| packet.dropped == Some(MANAGED)));
        times.extend(gone.iter().map(|_| now_ms));
    }
    times
}

#[test]
fn codel_drops_after_an_interval_and_then_ever_faster() {
    // Above target from 10 ms, so the first drop is at 110 ms; the next 100/sqrt(1) ms later, then
    // 100/sqrt(2) = 70.71, 100/sqrt(3) = 57.74, 100/sqrt(4) = 50, 44.72 and 40.82 ms.
    let mut queue = standing(CODEL, 1000, Ecn::NotEct);
    assert_eq!(
        drop_times_ms(&mut queue, 480),
        [110, 210, 281, 339, 389, 434, 474]
    );
}

#[test]
fn codel_leaves_short_waits_and_almost_empty_queues_alone() {
    let mut queue = Codel::new(CODEL);
    let mut gone = VecDeque::new();
    for now_ms in 0..1000 {
        for index in 0..3 {
            queue
                .fifo
                .put(Packet::new(3 * now_ms + index, 1500, now_ms * MS, 0));
        }
        for _ in 0..3 {
            queue.take(now_ms * MS + 4_999_999, &mut gone);
        }
    }
    // One packet at a time may wait forever: with nothing behind it there is nothing to control.
    for now_ms in 0..1000 {
        queue.fifo.put(Packet::new(now_ms, 1500, now_ms * MS, 0));
        queue.take((now_ms + 50) * MS, &mut gone);
    }
    assert_eq!(gone, []);
}

#[test]
fn codel_goes_on_where_it_was_if_the_queue_soon_stands_again() {
    let mut queue = standing(CODEL, 380, Ecn::NotEct);
    // 376 taken and 4 dropped by 386 ms: empty. Dropping began with count 1 and ended with 4.
    assert_eq!(drop_times_ms(&mut queue, 400), [110, 210, 281, 339]);
    for index in 0..500 {
        queue.fifo.put(Packet::new(index, 1500, 390 * MS, 0));
    }
    let mut times = Vec::new();
    for now_ms in 400..700 {
        let mut gone = VecDeque::new();
        queue.take(now_ms * MS, &mut gone);
        times.extend(gone.iter().map(|_| now_ms));
    }
    // delta = 4 - 1 = 3: after the first drop at 500 ms the next comes 100/sqrt(3) ms later.
    assert_eq!(times[..3], [500, 558, 608]);
}

#[test]
fn codel_marks_what_understands_ecn_and_loses_nothing() {
    let mut queue = standing(Parameters { ecn: true, ..CODEL }, 1000, Ecn::Ect0);
    let mut marked = Vec::new();
    let mut gone = VecDeque::new();
    for now_ms in 10..480 {
        let packet = queue.take(now_ms * MS, &mut gone).unwrap();
        assert_eq!(packet.index, now_ms - 10);
        marked.extend(packet.marked.then_some(now_ms));
    }
    assert_eq!(gone, []);
    assert_eq!(marked, [110, 210, 281, 339, 389, 434, 474]);
    let mut deaf = standing(Parameters { ecn: true, ..CODEL }, 1000, Ecn::NotEct);
    assert_eq!(drop_times_ms(&mut deaf, 220), [110, 210]);
}

#[test]
fn a_threshold_marks_every_packet_that_waited_longer() {
    for (ecn, ce_scalable, marked) in [
        (Ecn::Ect0, false, true),
        (Ecn::Ect0, true, false),
        (Ecn::Ect1, true, true),
        (Ecn::NotEct, false, false),
    ] {
        let parameters = Parameters {
            ce_threshold_ns: Some(MS),
            ce_scalable,
            ..CODEL
        };
        let mut queue = standing(parameters, 3, ecn);
        let mut gone = VecDeque::new();
        let mut take = |now_ns| queue.take(now_ns, &mut gone).unwrap().marked;
        assert_eq!(
            [take(MS), take(MS + 1), take(2 * MS)],
            [false, marked, marked]
        );
        assert_eq!(gone, []);
    }
}

fn of_flow(flow: u64, index: u64, bytes: u32) -> Packet {
    let header = Header {
        flow,
        ..Header::default()
    };
    Packet {
        header,
        ..Packet::new(index, bytes, 0, 0)
    }
}

fn served(queue: &mut FqCodel) -> Vec<u64> {
    let mut gone = VecDeque::new();
    let order = std::iter::from_fn(|| queue.take(0, &mut gone)).map(|packet| packet.header.flow);
    order.collect()
}

#[test]
fn fq_codel_gives_each_flow_its_quantum_in_turn() {
    let mut queue = FqCodel::new(CODEL, 1024, 1514, 1);
    for flow in [1, 2] {
        for index in 0..4 {
            queue.put(of_flow(flow, index, 1000), false, &mut VecDeque::new());
        }
    }
    // A flow of credit 1514 sends two packets of 1000 and owes 486; then it is the other's turn.
    // Credits next: 1028 for each, so again two.
    assert_eq!(served(&mut queue), [1, 1, 2, 2, 1, 1, 2, 2]);
}

#[test]
fn fq_codel_serves_a_new_flow_before_those_that_queue() {
    let mut queue = FqCodel::new(CODEL, 1024, 1514, 1);
    let mut gone = VecDeque::new();
    for index in 0..6 {
        queue.put(of_flow(1, index, 1514), false, &mut VecDeque::new());
    }
    assert_eq!(queue.take(0, &mut gone).unwrap().header.flow, 1);
    assert_eq!(queue.take(0, &mut gone).unwrap().header.flow, 1); // 1 is an old flow now
    queue.put(of_flow(2, 6, 100), false, &mut VecDeque::new());
    queue.put(of_flow(2, 7, 100), false, &mut VecDeque::new());
    assert_eq!(served(&mut queue), [2, 2, 1, 1, 1, 1]);
}

#[test]
fn an_emptied_new_flow_must_wait_behind_the_old_ones() {
    let mut queue = FqCodel::new(CODEL, 1024, 1514, 1);
    let mut gone = VecDeque::new();
    for index in 0..4 {
        queue.put(of_flow(1, index, 1514), false, &mut VecDeque::new());
    }
    queue.take(0, &mut gone);
    queue.take(0, &mut gone);
    queue.put(of_flow(2, 4, 100), false, &mut VecDeque::new());
    assert_eq!(queue.take(0, &mut gone).unwrap().header.flow, 2);
    // 2 is empty: asked again it goes to the end of the old list, behind 1, and is not new again.
    assert_eq!(queue.take(0, &mut gone).unwrap().header.flow, 1);
    queue.put(of_flow(2, 5, 100), false, &mut VecDeque::new());
    assert_eq!(served(&mut queue), [2, 1]);
}

#[test]
fn at_the_limit_the_fattest_flow_sheds_half_from_its_head() {
    let mut queue = FqCodel::new(CODEL, 1024, 1514, 1);
    for index in 0..10 {
        queue.put(of_flow(1, index, 1500), false, &mut VecDeque::new());
        queue.put(of_flow(2, 100 + index, 100), false, &mut VecDeque::new());
    }
    let mut gone = VecDeque::new();
    queue.shed(0, &mut gone);
    let shed: Vec<u64> = gone.iter().map(|packet| packet.index).collect();
    assert_eq!(shed, [0, 1, 2, 3, 4]);
    assert!(gone.iter().all(|packet| packet.dropped == Some(FULL)));
    assert_eq!(served(&mut queue).len(), 15);
}

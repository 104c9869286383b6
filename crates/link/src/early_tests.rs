use proptest::prelude::*;

use super::*;

const HELLO: [u8; 9] = [22, 3, 1, 0, 4, 1, 0, 0, 0];
const CHANGE_CIPHER: [u8; 6] = [20, 3, 3, 0, 1, 1];
const RECORD: [u8; 8] = [23, 3, 3, 0, 3, 9, 9, 9];

/// An IPv4 packet of a client with this behind its IP header.
fn packet(protocol: u8, rest: &[u8]) -> Vec<u8> {
    let length = (20 + rest.len()) as u16;
    let mut ip = vec![0x45, 0];
    ip.extend(length.to_be_bytes());
    ip.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    ip.extend(rest);
    ip
}

fn tcp(sequence: u32, acknowledged: u32, flags: u8, data: &[u8]) -> Vec<u8> {
    let mut segment = vec![15, 160, 1, 187];
    segment.extend(sequence.to_be_bytes());
    segment.extend(acknowledged.to_be_bytes());
    segment.extend([5 << 4, flags, 0, 0, 0, 0, 0, 0]);
    segment.extend(data);
    packet(TCP, &segment)
}

fn udp(datagram: &[u8]) -> Vec<u8> {
    packet(
        UDP,
        &[&[15, 160, 1, 187, 0, 0, 0, 0][..], datagram].concat(),
    )
}

/// A packet with a long header and a body of four bytes.
fn long(first: u8, version: u32, initial: bool) -> Vec<u8> {
    let mut bytes = vec![first];
    bytes.extend(version.to_be_bytes());
    bytes.extend([2, 7, 7, 0]);
    bytes.extend(initial.then_some(0)); // no token
    bytes.extend([0x40, 4, 1, 2, 3, 4]);
    bytes
}

fn counted(packets: &[Vec<u8>]) -> usize {
    let mut early = EarlyData::default();
    packets.iter().filter(|ip| early.begins(ip, 1)).count()
}

#[test]
fn records_before_the_server_said_anything_are_early_data() {
    let hello = tcp(1, 500, 0x18, &HELLO);
    let early = tcp(10, 500, 0x18, &[&CHANGE_CIPHER[..], &RECORD].concat());
    assert_eq!(counted(&[hello.clone(), early.clone()]), 1);
    let at_once = [&HELLO[..], &RECORD].concat();
    assert_eq!(counted(&[tcp(1, 500, 0x18, &at_once)]), 1);
    assert_eq!(counted(&[hello, early.clone(), early]), 1, "sent again");
}

#[test]
fn records_after_the_server_spoke_are_none() {
    let finished = tcp(10, 900, 0x18, &[&CHANGE_CIPHER[..], &RECORD].concat());
    let request = tcp(24, 900, 0x18, &RECORD);
    assert_eq!(counted(&[tcp(1, 500, 0x18, &HELLO), finished, request]), 0);
}

#[test]
fn a_record_that_a_lost_segment_held_up_is_counted_when_it_is_whole() {
    let (head, tail) = HELLO.split_at(4);
    let first = tcp(1, 500, 0x18, head);
    let second = tcp(5, 500, 0x18, &[tail, &RECORD[..]].concat());
    assert_eq!(counted(&[first.clone(), second.clone()]), 1);
    assert_eq!(counted(&[tcp(5, 500, 0x18, &RECORD), first, second]), 0);
}

#[test]
fn a_hello_in_the_syn_begins_the_flight() {
    let syn = tcp(0, 0, SYN, &HELLO);
    assert_eq!(counted(&[syn, tcp(10, 500, 0x18, &RECORD)]), 1);
}

#[test]
fn what_is_no_new_tls_connection_has_no_early_data() {
    assert_eq!(counted(&[tcp(1, 500, 0x18, b"GET / HTTP/1.1\r\n\r\n")]), 0);
    let open = [tcp(1, 500, 0x18, &RECORD), tcp(9, 500, 0x18, &RECORD)];
    assert_eq!(counted(&open), 0);
    assert_eq!(counted(&[tcp(1, 500, 0x10, b"")]), 0);
}

#[test]
fn a_zero_rtt_packet_is_found_alone_and_behind_others() {
    for (version, initial, zero_rtt) in [(QUIC_1, 0xc0, 0xd3), (QUIC_2, 0xd0, 0xe3)] {
        let initial = long(initial, version, true);
        let early = long(zero_rtt, version, false);
        assert_eq!(counted(&[udp(&early)]), 1);
        assert_eq!(counted(&[udp(&[&initial[..], &early].concat())]), 1);
        assert_eq!(counted(&[udp(&[&initial[..], &[0; 300]].concat())]), 0);
    }
    assert_eq!(counted(&[udp(&long(0xe0, QUIC_1, false))]), 0, "Handshake");
    assert_eq!(counted(&[udp(&long(0xd0, 0x5130_3433, false))]), 0, "gQUIC");
    assert_eq!(counted(&[udp(&[0x5a; 60])]), 0, "short header");
}

#[test]
fn connections_are_looked_at_by_themselves() {
    let mut early = EarlyData::default();
    assert!(!early.begins(&tcp(1, 500, 0x18, &HELLO), 1));
    assert!(!early.begins(&tcp(70, 800, 0x18, &RECORD), 2));
    assert!(early.begins(&tcp(10, 500, 0x18, &RECORD), 1));
}

proptest! {
    #[test]
    fn no_packet_does_harm(
        packets in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..80), 0..3u8), 0..9),
    ) {
        let mut early = EarlyData::default();
        for (bytes, kind) in &packets {
            let made = match kind {
                0 => bytes.clone(),
                1 => packet(TCP, bytes),
                _ => udp(bytes),
            };
            early.begins(&made, 1);
        }
    }

    #[test]
    fn however_a_flight_is_cut_its_records_are_counted_once(cuts in prop::collection::vec(1..24usize, 0..5)) {
        let flight = [&HELLO[..], &CHANGE_CIPHER, &RECORD].concat();
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|&cut| cut < flight.len()).collect();
        cuts.extend([0, flight.len()]);
        cuts.sort_unstable();
        let parts = cuts.windows(2).filter(|ends| ends[0] < ends[1]);
        let sent: Vec<_> = parts.map(|ends| tcp(1 + ends[0] as u32, 500, 0x18, &flight[ends[0]..ends[1]])).collect();
        prop_assert_eq!(counted(&sent), 1);
    }
}

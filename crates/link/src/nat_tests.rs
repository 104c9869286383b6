use std::net::SocketAddr;

use super::*;
use crate::frame::checksum;

const CLIENT: [u8; 4] = [10, 64, 0, 1];
const ORIGIN: [u8; 4] = [10, 64, 1, 1];
const S: u64 = 1_000_000_000;

fn port(what: What) -> Rebind {
    Rebind {
        what,
        drops_tcp: false,
    }
}

fn nat(losses: &[(u64, Rebind)]) -> Nat {
    let nat = Nat::new(losses.to_vec());
    nat.start(0);
    nat
}

/// A frame over IPv4 with right checksums.
fn frame(protocol: u8, from: ([u8; 4], u16), to: ([u8; 4], u16), flags: u8) -> Vec<u8> {
    let mut segment = from.1.to_be_bytes().to_vec();
    segment.extend(to.1.to_be_bytes());
    let field = if protocol == UDP {
        segment.extend([0, 12, 0, 0, 1, 2, 3, 4]);
        6
    } else {
        segment.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, flags, 1, 0, 0, 0, 0, 0]);
        16
    };
    let length = segment.len() as u16;
    let pseudo = [
        &from.0[..],
        &to.0[..],
        &[0, protocol],
        &length.to_be_bytes(),
    ]
    .concat();
    let sum = checksum(&[&pseudo, &segment]);
    segment[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    let mut ip = vec![0x45, 0];
    ip.extend((20 + length).to_be_bytes());
    ip.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    ip.extend(from.0);
    ip.extend(to.0);
    let sum = checksum(&[&ip]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut frame = vec![0; IP];
    frame.extend(ip);
    frame.extend(segment);
    frame
}

fn out(port: u16) -> Vec<u8> {
    frame(UDP, (CLIENT, port), (ORIGIN, 443), 0)
}

fn syn(port: u16) -> Vec<u8> {
    frame(TCP, (CLIENT, port), (ORIGIN, 443), SYN)
}

fn data(port: u16) -> Vec<u8> {
    frame(TCP, (CLIENT, port), (ORIGIN, 443), 0b1_0000)
}

fn client_of(frame: &[u8], client_sends: bool) -> SocketAddr {
    ends(frame, client_sends).unwrap().client
}

/// All checksums of a frame are right: sums over them are 0.
fn right(frame: &[u8]) -> bool {
    let ip = &frame[IP..];
    let at = Parts::of(ip).unwrap();
    let segment = &ip[at.payload..];
    let length = segment.len() as u16;
    let pseudo = [
        &ip[at.source],
        &ip[at.destination],
        &[0, at.protocol],
        &length.to_be_bytes(),
    ]
    .concat();
    let header = frame[IP] >> 4 != 4 || checksum(&[&frame[IP..IP + 20]]) == 0;
    header && checksum(&[&pseudo, segment]) == 0
}

#[test]
fn changes_nothing_before_it_forgets() {
    let nat = nat(&[(S, port(What::Port))]);
    let mut sent = out(40_000);
    assert!(nat.out(&mut sent, S - 1));
    assert_eq!(sent, out(40_000));
    assert!(!nat.forgot(S - 1) && nat.forgot(S));
}

#[test]
fn gives_each_flow_another_port_and_drops_what_comes_to_the_old_one() {
    let nat = nat(&[(S, port(What::Port))]);
    let (mut one, mut other) = (out(40_000), out(40_001));
    assert!(nat.out(&mut one, S) && nat.out(&mut other, S));
    let (one, other) = (client_of(&one, true), client_of(&other, true));
    assert_eq!((one.port(), other.port()), (FIRST_PORT, FIRST_PORT + 1));
    let mut answer = frame(UDP, (ORIGIN, 443), (CLIENT, one.port()), 0);
    assert!(nat.back(&mut answer, S + 5));
    assert!(right(&answer));
    assert_eq!(client_of(&answer, false).port(), 40_000);
    let mut late = frame(UDP, (ORIGIN, 443), (CLIENT, 40_000), 0);
    assert!(!nat.back(&mut late, S + 5));
}

#[test]
fn gives_the_client_another_address() {
    let nat = nat(&[(S, port(What::Address)), (2 * S, port(What::Address))]);
    for (at_ns, address) in [(S, [100, 64, 0, 1]), (2 * S, [100, 64, 0, 2])] {
        let mut sent = out(40_000);
        assert!(nat.out(&mut sent, at_ns));
        assert!(right(&sent));
        let seen = client_of(&sent, true);
        assert_eq!(seen, SocketAddr::from((address, 40_000)));
        let mut answer = frame(UDP, (ORIGIN, 443), (address, 40_000), 0);
        assert!(nat.back(&mut answer, at_ns));
        assert_eq!(
            client_of(&answer, false),
            SocketAddr::from((CLIENT, 40_000))
        );
        nat.undo(&mut sent, at_ns);
        assert_eq!(sent, out(40_000));
    }
    let mut late = frame(UDP, (ORIGIN, 443), ([100, 64, 0, 1], 40_000), 0);
    assert!(!nat.back(&mut late, 2 * S));
}

#[test]
fn a_packet_that_came_before_keeps_its_mapping() {
    let nat = nat(&[(S, port(What::Port)), (2 * S, port(What::Port))]);
    let mut first = out(40_000);
    assert!(nat.out(&mut first, S));
    let mut second = out(40_000);
    assert!(nat.out(&mut second, 2 * S));
    let mut queued = out(40_000);
    assert!(nat.out(&mut queued, 2 * S - 1));
    assert_eq!(queued, first);
    assert_ne!(queued, second);
}

#[test]
fn tcp_goes_on_where_its_mappings_are_kept() {
    let nat = nat(&[(S, port(What::Address))]);
    let mut sent = data(50_000);
    assert!(nat.out(&mut sent, S));
    assert_eq!(sent, data(50_000));
    let mut opening = syn(50_001);
    assert!(nat.out(&mut opening, S));
    assert!(right(&opening));
    assert_eq!(
        client_of(&opening, true).ip(),
        IpAddr::from([100, 64, 0, 1])
    );
    let mut answer = frame(TCP, (ORIGIN, 443), ([100, 64, 0, 1], 50_001), 0b1_0010);
    assert!(nat.back(&mut answer, S));
    assert_eq!(
        client_of(&answer, false),
        SocketAddr::from((CLIENT, 50_001))
    );
}

#[test]
fn tcp_connections_that_opened_before_are_lost_where_their_mappings_are() {
    let lost = Rebind {
        what: What::Port,
        drops_tcp: true,
    };
    let nat = nat(&[(S, lost), (2 * S, port(What::Port)), (3 * S, lost)]);
    assert!(!nat.out(&mut data(50_000), S));
    assert!(!nat.back(
        &mut frame(TCP, (ORIGIN, 443), (CLIENT, 50_000), 0b1_0000),
        S
    ));
    assert!(nat.out(&mut syn(50_001), S));
    assert!(nat.out(&mut data(50_001), 2 * S));
    assert!(!nat.out(&mut data(50_001), 3 * S));
}

#[test]
fn forgets_nothing_after_its_end() {
    let lost = Rebind {
        what: What::Port,
        drops_tcp: true,
    };
    let nat = nat(&[(S, lost), (3 * S, lost)]);
    let mut sent = out(40_000);
    assert!(nat.out(&mut sent, S));
    nat.end(2 * S);
    let mut later = out(40_000);
    assert!(nat.out(&mut later, 4 * S));
    assert_eq!(sent, later);
    assert!(nat.out(&mut data(50_000), 4 * S));
}

#[test]
fn reports_how_flows_appeared() {
    let nat = nat(&[(S, port(What::Port))]);
    nat.out(&mut out(40_000), S);
    nat.out(&mut out(40_000), S + 1);
    let own = SocketAddr::from((CLIENT, 40_000));
    let seen = SocketAddr::from((CLIENT, FIRST_PORT));
    let report = nat.report(S).unwrap();
    assert_eq!(
        (report.what, report.mappings),
        (What::Port, vec![(own, seen)])
    );
    assert_eq!(nat.report(S + 1), None);
}

#[test]
fn leaves_what_has_no_ports() {
    let nat = nat(&[(S, port(What::Port))]);
    let mut echo = frame(UDP, (CLIENT, 1), (ORIGIN, 2), 0);
    echo[IP + 9] = 1;
    let before = echo.clone();
    assert!(nat.out(&mut echo, S));
    assert_eq!(echo, before);
    assert!(nat.out(&mut [0; IP + 3], S));
}

#[test]
fn ipv6_packets_get_another_place_behind_extension_headers_too() {
    use crate::ip::tests::{OPTIONS, v6};
    for (extensions, at) in [(&[][..], 40), (&[(0, &OPTIONS[..])][..], 48)] {
        let udp = [0x11, 0x22, 1, 187, 0, 9, 0xab, 0xcd, 7];
        let ip = v6(extensions, 17, &udp);
        let frame = [vec![0; IP], ip].concat();
        let sum = |frame: &[u8]| {
            let words = frame[IP + 8..IP + 40]
                .chunks(2)
                .chain(frame[IP + at..].chunks(2));
            words.fold(0u64, |sum, word| {
                sum + u64::from(u16::from_be_bytes([word[0], *word.get(1).unwrap_or(&0)]))
            }) % 0xffff
        };
        for what in [What::Port, What::Address] {
            let loss = Rebind {
                what,
                drops_tcp: false,
            };
            let nat = nat(&[(10, loss)]);
            nat.start(0);
            let mut sent = frame.clone();
            assert!(nat.out(&mut sent, 20));
            assert_ne!(sent, frame);
            // The checksum covers both addresses and the segment (RFC 8200 section 8.1).
            assert_eq!(sum(&sent), sum(&frame));
            let mut back = sent.clone();
            for (from, to) in [(8..24, 24..40), (at..at + 2, at + 2..at + 4)] {
                let (from, to) = (IP + from.start..IP + from.end, IP + to.start..IP + to.end);
                back[to].copy_from_slice(&sent[from]);
            }
            assert!(nat.back(&mut back, 30));
            assert_eq!(back[IP + 24..IP + 40], frame[IP + 8..IP + 24]);
            assert_eq!(back[IP + at + 2..IP + at + 4], frame[IP + at..IP + at + 2]);
        }
    }
}

//! Reads the parts of an IP packet's headers that the model needs, and sets the congestion mark in
//! them.

use std::net::IpAddr;

use crate::frame::updated;
use crate::ip::{ICMP, ICMPV6, Parts, TCP, UDP};
use crate::mss;
use crate::splitmix::mix;

/// RFC 9293 section 3.1: where the header's length and the flags stand.
const TCP_OFFSET: usize = 12;
const TCP_FLAGS: usize = 13;
const SYN: u8 = 0b10;
const ACK: u8 = 0b1_0000;
/// RFC 791 section 3.1: in the byte of the flags.
const DONT_FRAGMENT: u8 = 0x40;
/// RFC 3168 section 5: the lower two bits of the former type of service or traffic class.
const ECN: u8 = 0b11;

/// What a sender says about ECN (RFC 3168 section 5), as a code point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The sender does not understand ECN.
    #[default]
    NotEct = 0b00,
    /// The sender is scalable (RFC 9331).
    Ect1 = 0b01,
    Ect0 = 0b10,
    /// The packet was marked before.
    Ce = 0b11,
}

impl Ecn {
    fn of(bits: u8) -> Self {
        match bits & ECN {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Whether the sender understands ECN.
    pub fn capable(self) -> bool {
        self != Self::NotEct
    }

    /// Whether the packet belongs in the queue of scalable senders (RFC 9331 section 5.1).
    pub fn scalable(self) -> bool {
        matches!(self, Self::Ect1 | Self::Ce)
    }
}

/// The feedback of marks that a TCP server agrees to in its SYN/ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// RFC 3168.
    Classic,
    /// AccECN (RFC 9768).
    Accurate,
}

/// Addresses and flow as hashes: the model only asks whether two are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub source: u64,
    pub destination: u64,
    /// Hash of the 5-tuple (RFC 8290 section 3.1). The ports are left out for fragments, whose
    /// later parts have none, and for packets that are neither TCP nor UDP.
    pub flow: u64,
    pub ecn: Ecn,
    /// Whether the packet is a SYN that carries data, as TCP Fast Open sends (RFC 7413).
    pub syn_data: bool,
    /// What a SYN/ACK agrees to; None if it agrees to none.
    pub feedback: Option<Feedback>,
    /// UDP, as QUIC uses it.
    pub udp: bool,
    /// MSS that a SYN asks for, and the least bytes of IP and TCP header before such a segment.
    pub mss: Option<(u16, u32)>,
    /// Whether a router that drops the packet for its length may answer: the packet must not be
    /// fragmented, names its sender and is no ICMP error (RFC 1812 section 4.3.2.7).
    pub answerable: bool,
}

impl Header {
    /// Reads an IPv4 or IPv6 packet. For any other packet, or if it is too short, all fields are
    /// zero.
    pub fn of(ip: &[u8]) -> Self {
        Self::read(ip).unwrap_or_default()
    }

    fn read(ip: &[u8]) -> Option<Self> {
        let parts = Parts::of(ip)?;
        let (v4, protocol, payload) = (parts.version == 4, parts.protocol, parts.whole(ip));
        let ecn = if v4 { ip[1] } else { ip[1] >> 4 };
        let has_ports = matches!(protocol, TCP | UDP);
        let ports = payload
            .and_then(|bytes| bytes.get(..4))
            .filter(|_| has_ports);
        let (source, destination) = (
            hash(&ip[parts.source.clone()]),
            hash(&ip[parts.destination.clone()]),
        );
        let mss = payload
            .filter(|segment| protocol == TCP && opens(segment))
            .and_then(mss::find)
            .map(|(_, mss)| (mss, if v4 { 40 } else { 60 }));
        let error = match (protocol, payload.and_then(|message| message.first())) {
            (ICMP, Some(kind)) => !matches!(kind, 0 | 8),
            (ICMPV6, Some(kind)) => kind & 0x80 == 0,
            _ => false,
        };
        let answerable = !error
            && names_a_node(&ip[parts.source.clone()])
            && (!v4 || ip[6] & DONT_FRAGMENT != 0);
        let syn_data = protocol == TCP && payload.is_some_and(carries_syn_data);
        let feedback = payload.filter(|_| protocol == TCP).and_then(feedback);
        let ports = ports.map_or(0, |p| {
            u64::from(u32::from_be_bytes([p[0], p[1], p[2], p[3]]))
        });
        let ends = mix(source).wrapping_add(destination);
        Some(Self {
            source,
            destination,
            flow: mix(ends ^ ports << 8 ^ u64::from(protocol)),
            ecn: Ecn::of(ecn),
            syn_data,
            feedback,
            udp: protocol == UDP,
            mss,
            answerable,
        })
    }
}

/// Whether an address is of a single node, so that errors may be sent to it (RFC 1812 section 4.3.2.7,
/// RFC 4443 section 2.4).
fn names_a_node(address: &[u8]) -> bool {
    match address.len() {
        4 => !matches!(address[0], 0 | 224..),
        _ => address[0] != 0xff && address.iter().any(|&byte| byte != 0),
    }
}

/// Whether a TCP segment opens a connection.
fn opens(segment: &[u8]) -> bool {
    segment.get(TCP_FLAGS).is_some_and(|flags| flags & SYN != 0)
}

/// Whether a TCP segment opens a connection and has data behind its header. Frames this short carry
/// no padding that could be taken for data: a veth does not pad.
fn carries_syn_data(segment: &[u8]) -> bool {
    match segment.get(TCP_OFFSET..=TCP_FLAGS) {
        Some(&[offset, flags]) => flags & SYN != 0 && segment.len() > usize::from(offset >> 4) * 4,
        _ => false,
    }
}

/// Reads the feedback from the flags AE, CWR and ECE (RFC 9768 section 3.1.1, table 2). A server
/// that knows only ECN's nonce sends 0b101, and one that repeats the client's flags sends 0b111.
fn feedback(segment: &[u8]) -> Option<Feedback> {
    let &[offset, flags] = segment.get(TCP_OFFSET..=TCP_FLAGS)? else {
        return None;
    };
    if flags & (SYN | ACK) != SYN | ACK {
        return None;
    }
    match (offset & 1) << 2 | flags >> 6 {
        0b001 | 0b101 => Some(Feedback::Classic),
        0b010 | 0b011 | 0b100 | 0b110 => Some(Feedback::Accurate),
        _ => None,
    }
}

/// The value that stands for an address in a [`Header`].
pub fn key(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => hash(&address.octets()),
        IpAddr::V6(address) => hash(&address.octets()),
    }
}

/// Sets Congestion Experienced in an IP packet (RFC 3168 section 5).
pub fn mark(ip: &mut [u8]) {
    match ip.first().map(|byte| byte >> 4) {
        Some(4) if ip.len() >= 20 => {
            let before = u16::from_be_bytes([ip[0], ip[1]]);
            ip[1] |= ECN;
            let after = u16::from_be_bytes([ip[0], ip[1]]);
            let checksum = u16::from_be_bytes([ip[10], ip[11]]);
            ip[10..12].copy_from_slice(&updated(checksum, before, after).to_be_bytes());
        }
        Some(6) if ip.len() >= 40 => ip[1] |= ECN << 4,
        _ => (),
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let word = |part: &[u8]| part.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let start = bytes.len() as u64; // tells ::a.b.c.d from a.b.c.d
    bytes.chunks(8).fold(
        start,
        |sum, part| mix(sum ^ mix(word(part).wrapping_add(1))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP packet from 10.64.1.1:443 to 10.64.0.1:4000.
    fn v4(ecn: u8) -> Vec<u8> {
        let mut ip = vec![0x45, ecn, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0];
        ip.extend([10, 64, 1, 1, 10, 64, 0, 1, 1, 187, 15, 160, 0, 8, 0, 0]);
        let checksum = !sum(&ip[..20]);
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        ip
    }

    fn v6(ecn: u8) -> Vec<u8> {
        let mut ip = vec![0x60, ecn << 4, 0, 0, 0, 8, 17, 64];
        ip.extend([[0xfd; 16], [0xfe; 16]].concat());
        ip.extend([1, 187, 15, 160, 0, 8, 0, 0]);
        ip
    }

    /// RFC 1071: 0xffff over a header with a correct checksum.
    fn sum(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let sum = words.sum::<u32>();
        let folded = (sum & 0xffff) + (sum >> 16);
        ((folded & 0xffff) + (folded >> 16)) as u16
    }

    #[test]
    fn a_mark_is_congestion_experienced_under_a_correct_checksum() {
        for ecn in 0..4 {
            let mut ip = v4(ecn);
            mark(&mut ip);
            assert_eq!((ip[1], sum(&ip[..20])), (3, 0xffff));
            assert_eq!(ip[20..], v4(ecn)[20..]);
            let mut ip = v6(ecn);
            mark(&mut ip);
            assert_eq!(ip, v6(3));
        }
    }

    #[test]
    fn the_code_point_of_ecn_is_read() {
        for ip in [v4, v6] {
            let read = [0, 1, 2, 3].map(|bits| Header::of(&ip(bits)).ecn);
            assert_eq!(read, [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]);
        }
    }

    #[test]
    fn flows_differ_in_address_port_and_protocol_alone() {
        let first = Header::of(&v4(0));
        assert_eq!(first.source, key("10.64.1.1".parse().unwrap()));
        assert_eq!(first.destination, key("10.64.0.1".parse().unwrap()));
        for place in [9, 12, 16, 20, 22] {
            let mut ip = v4(0);
            ip[place] ^= 23; // 17 ^ 23 is 6: TCP
            assert_ne!(Header::of(&ip).flow, first.flow, "byte {place}");
        }
        assert_eq!(Header::of(&v4(1)).flow, first.flow);
        assert_eq!(Header::of(&[&v4(0)[..], b"more"].concat()).flow, first.flow);
    }

    #[test]
    fn a_syn_with_data_is_told_from_one_without_and_from_later_data() {
        for (udp, protocol_at, start) in [(v4(0), 9, 20), (v6(0), 6, 40)] {
            let with_data = |flags: u8, data: &[u8]| {
                let mut packet = udp[..start].to_vec();
                packet[protocol_at] = TCP;
                packet.extend([0; TCP_OFFSET]);
                packet.extend([6 << 4, flags, 0, 0, 0, 0, 0, 0]);
                packet.extend([1; 4]); // options
                packet.extend(data);
                Header::of(&packet).syn_data
            };
            assert!(with_data(0x02, b"hello"));
            assert!(!with_data(0x02, b""));
            assert!(!with_data(0x18, b"hello"));
            assert!(!with_data(0x10, b""));
            assert!(!Header::of(&udp).syn_data);
        }
    }

    #[test]
    fn a_server_says_in_its_syn_ack_which_feedback_it_gives() {
        let read = |flags: u8, syn: u8| {
            let mut packet = v4(0)[..20].to_vec();
            packet[9] = TCP;
            packet.extend([0; TCP_OFFSET]);
            packet.extend([5 << 4 | flags >> 2, flags << 6 | syn, 0, 0, 0, 0, 0, 0]);
            Header::of(&packet).feedback
        };
        let (classic, accurate) = (Some(Feedback::Classic), Some(Feedback::Accurate));
        let expected = [
            None, classic, accurate, accurate, accurate, classic, accurate, None,
        ];
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(|flags| read(flags, SYN | ACK)),
            expected
        );
        for other in [SYN, ACK, 0] {
            assert_eq!(read(0b010, other), None);
        }
        assert_eq!(Header::of(&v4(0)).feedback, None);
    }

    #[test]
    fn errors_go_to_senders_that_are_known_and_tell_of_no_error() {
        let may = |packet: Vec<u8>, change: &dyn Fn(&mut Vec<u8>)| {
            let mut packet = packet;
            change(&mut packet);
            Header::of(&packet).answerable
        };
        assert!(may(v4(0), &|_| ()) && may(v6(0), &|_| ()));
        assert!(!may(v4(0), &|ip| ip[6] = 0), "it may be fragmented");
        assert!(!may(v4(0), &|ip| ip[12..16].fill(0)));
        assert!(!may(v4(0), &|ip| ip[12] = 239));
        assert!(!may(v6(0), &|ip| ip[8..24].fill(0)));
        assert!(!may(v6(0), &|ip| ip[8] = 0xff));
        for (kind, told) in [(1, false), (2, false), (128, true), (135, true)] {
            let message = [kind, 0, 0, 0];
            let behind = crate::ip::tests::v6(&[(0, &crate::ip::tests::OPTIONS)], ICMPV6, &message);
            assert_eq!(Header::of(&behind).answerable, told, "type {kind}");
        }
    }

    #[test]
    fn extension_headers_hide_neither_ports_nor_syns() {
        let plain = v6(2);
        let extended = crate::ip::tests::v6(&[(0, &crate::ip::tests::OPTIONS)], UDP, &plain[40..]);
        assert_eq!(Header::of(&extended).flow, Header::of(&plain).flow);
        let mut syn = [0; 24];
        (syn[12], syn[13]) = (6 << 4, SYN);
        syn[20..].copy_from_slice(&[2, 4, 5, 160]);
        let opened = crate::ip::tests::v6(&[(60, &crate::ip::tests::OPTIONS)], TCP, &syn);
        assert_eq!(Header::of(&opened).mss, Some((1440, 60)));
    }

    #[test]
    fn fragments_of_a_packet_are_one_flow() {
        let [mut first, mut later] = [v4(0), v4(0)];
        first[6] = 0x20;
        later[7] = 0xb9;
        later[20..24].fill(7);
        assert_eq!(Header::of(&first).flow, Header::of(&later).flow);
    }

    #[test]
    fn what_is_no_ip_packet_does_no_harm() {
        for bytes in [&[][..], &[0x45], &[0x60; 39], &[0xff; 60]] {
            assert_eq!(Header::of(bytes), Header::default());
            mark(&mut bytes.to_vec());
        }
    }
}

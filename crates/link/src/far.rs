//! Counts traffic by address and port at the origin's end.

use std::collections::HashMap;
use std::net::IpAddr;

use serde::Serialize;

use crate::header::{Ecn, Feedback};
use crate::ip::{Parts, TCP, UDP};
use crate::model::Packet;

/// Most far ends that are listed. A page has one or two per host.
const MOST: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    Tcp,
    Udp,
    Other,
}

/// An address and port at the origin's end. The port is 0 if the packet has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct FarEnd {
    pub address: IpAddr,
    pub port: u16,
    pub transport: Transport,
}

impl FarEnd {
    /// Reads an IPv4 or IPv6 packet: its source if the origin sends it, else its destination. None
    /// for any other packet, or if it is too short.
    pub fn of(ip: &[u8], origin_sends: bool) -> Option<Self> {
        let parts = Parts::of(ip)?;
        let far = if origin_sends {
            parts.source.clone()
        } else {
            parts.destination.clone()
        };
        let transport = match parts.protocol {
            TCP => Transport::Tcp,
            UDP => Transport::Udp,
            _ => Transport::Other,
        };
        let ports = (parts.whole(ip))
            .and_then(|bytes| bytes.get(..4))
            .filter(|_| transport != Transport::Other);
        let place = if origin_sends { 0 } else { 2 };
        Some(Self {
            address: address(ip.get(far)?)?,
            port: ports.map_or(0, |p| u16::from_be_bytes([p[place], p[place + 1]])),
            transport,
        })
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        _ => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
    }
}

/// One line of the report, as `dragstrip.model.visit.FarEnd`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FarCount {
    #[serde(flatten)]
    pub end: FarEnd,
    /// Packets that left the link.
    pub packets: u64,
    /// Layer 3 bytes of these packets.
    pub bytes: u64,
    /// Packets that the link dropped, for any reason.
    pub dropped: u64,
    /// When the first dropped packet reached the link, microseconds of the Unix epoch.
    pub first_drop_us: Option<u64>,
    /// Least time a packet spent in the link.
    pub transit_min_ms: Option<f64>,
    /// Packets in which clients' early data began; the next field is the time of the first, in
    /// microseconds of the Unix epoch.
    pub early_packets: u64,
    pub first_early_us: Option<u64>,
    /// Packets of `packets` that came as ECT(0), as ECT(1) and as CE (RFC 3168 section 5).
    pub ect0: u64,
    pub ect1: u64,
    pub ce: u64,
    /// SYN/ACKs that agreed to feedback of marks, by RFC 3168 and by RFC 9768.
    pub classic_ecn: u64,
    pub accurate_ecn: u64,
}

#[derive(Clone)]
struct Tally {
    end: FarEnd,
    packets: u64,
    bytes: u64,
    dropped: u64,
    first_drop_ns: u64,
    transit_min_ns: u64,
    early: u64,
    first_early_ns: u64,
    /// Packets by code point.
    ecn: [u64; 4],
    classic: u64,
    accurate: u64,
}

/// All far ends of a direction, in the order in which they were first seen.
#[derive(Default)]
pub struct FarEnds {
    places: HashMap<FarEnd, u32>,
    tallies: Vec<Tally>,
    last: Option<(FarEnd, u32)>,
}

impl FarEnds {
    /// Returns the index of a far end, for [`Packet::far`]; adds the far end if it is new.
    pub fn place(&mut self, end: FarEnd) -> Option<u32> {
        match self.last {
            Some((last, place)) if last == end => return Some(place),
            _ => (),
        }
        let place = match self.places.get(&end) {
            Some(&place) => place,
            None if self.tallies.len() < MOST => self.add(end),
            None => return None,
        };
        self.last = Some((end, place));
        Some(place)
    }

    fn add(&mut self, end: FarEnd) -> u32 {
        let place = self.tallies.len() as u32;
        self.places.insert(end, place);
        self.tallies.push(Tally {
            end,
            packets: 0,
            bytes: 0,
            dropped: 0,
            first_drop_ns: u64::MAX,
            transit_min_ns: u64::MAX,
            early: 0,
            first_early_ns: u64::MAX,
            ecn: [0; 4],
            classic: 0,
            accurate: 0,
        });
        place
    }

    pub fn sent(&mut self, packet: &Packet, transit_ns: u64) {
        if let Some(tally) = self.of(packet) {
            tally.packets += 1;
            tally.ecn[packet.header.ecn as usize] += 1;
            match packet.header.feedback {
                Some(Feedback::Classic) => tally.classic += 1,
                Some(Feedback::Accurate) => tally.accurate += 1,
                None => {}
            }
            tally.bytes += u64::from(packet.bytes);
            tally.transit_min_ns = tally.transit_min_ns.min(transit_ns);
        }
    }

    pub fn dropped(&mut self, packet: &Packet) {
        if let Some(tally) = self.of(packet) {
            tally.dropped += 1;
            tally.first_drop_ns = tally.first_drop_ns.min(packet.arrival_ns);
        }
    }

    /// Records that early data began in a packet that reached the link.
    pub fn early(&mut self, packet: &Packet) {
        if let Some(tally) = self.of(packet) {
            tally.early += 1;
            tally.first_early_ns = tally.first_early_ns.min(packet.arrival_ns);
        }
    }

    fn of(&mut self, packet: &Packet) -> Option<&mut Tally> {
        self.tallies.get_mut(packet.far? as usize)
    }

    /// Reports all far ends. `ahead_ns` is how far CLOCK_REALTIME is ahead of the clock of the
    /// packets' times.
    pub fn report(&self, ahead_ns: u64) -> Vec<FarCount> {
        let count = |tally: &Tally| FarCount {
            end: tally.end,
            packets: tally.packets,
            bytes: tally.bytes,
            dropped: tally.dropped,
            first_drop_us: (tally.dropped > 0).then(|| (tally.first_drop_ns + ahead_ns) / 1000),
            transit_min_ms: (tally.packets > 0).then_some(tally.transit_min_ns as f64 / 1e6),
            early_packets: tally.early,
            first_early_us: (tally.early > 0).then(|| (tally.first_early_ns + ahead_ns) / 1000),
            ect0: tally.ecn[Ecn::Ect0 as usize],
            ect1: tally.ecn[Ecn::Ect1 as usize],
            ce: tally.ecn[Ecn::Ce as usize],
            classic_ecn: tally.classic,
            accurate_ecn: tally.accurate,
        };
        self.tallies.iter().map(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet from 10.64.1.1:443 to 10.64.0.1:4000.
    fn v4(protocol: u8) -> Vec<u8> {
        let mut ip = vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, protocol, 0, 0];
        ip.extend([10, 64, 1, 1, 10, 64, 0, 1, 1, 187, 15, 160, 0, 8, 0, 0]);
        ip
    }

    fn end(address: &str, port: u16, transport: Transport) -> FarEnd {
        let address = address.parse().unwrap();
        FarEnd {
            address,
            port,
            transport,
        }
    }

    #[test]
    fn the_far_end_is_the_source_of_what_the_origin_sends() {
        let down = end("10.64.1.1", 443, Transport::Tcp);
        let up = end("10.64.0.1", 4000, Transport::Udp);
        assert_eq!(FarEnd::of(&v4(TCP), true), Some(down));
        assert_eq!(FarEnd::of(&v4(UDP), false), Some(up));
        let mut v6 = vec![0x60, 0, 0, 0, 0, 8, UDP, 64];
        v6.extend([[0xfd; 16], [0xfe; 16]].concat());
        v6.extend([1, 187, 15, 160, 0, 8, 0, 0]);
        let all_fe = "fefe:fefe:fefe:fefe:fefe:fefe:fefe:fefe";
        let up = end(all_fe, 4000, Transport::Udp);
        assert_eq!(FarEnd::of(&v6, false), Some(up));
    }

    #[test]
    fn what_has_no_ports_has_port_zero_and_what_is_no_packet_is_none() {
        let icmp = end("10.64.0.1", 0, Transport::Other);
        assert_eq!(FarEnd::of(&v4(1), false), Some(icmp));
        let mut fragment = v4(UDP);
        fragment[7] = 0xb9;
        let later = end("10.64.0.1", 0, Transport::Udp);
        assert_eq!(FarEnd::of(&fragment, false), Some(later));
        for bytes in [&[][..], &[0x45], &[0x45; 12], &[0x60; 20], &[0xff; 60]] {
            assert_eq!(FarEnd::of(bytes, false), None);
        }
    }

    #[test]
    fn each_far_end_is_counted_by_itself() {
        let mut ends = FarEnds::default();
        let a = ends.place(end("10.64.1.1", 443, Transport::Tcp));
        let b = ends.place(end("10.64.1.1", 443, Transport::Udp));
        assert_ne!(a, b);
        assert_eq!(ends.place(end("10.64.1.1", 443, Transport::Tcp)), a);
        let packet = |far, arrival_ns| Packet {
            far,
            ..Packet::new(0, 100, arrival_ns, 0)
        };
        ends.sent(&packet(a, 0), 5_000_000);
        let mut scalable = packet(a, 0);
        scalable.header.ecn = Ecn::Ect1;
        scalable.header.feedback = Some(Feedback::Accurate);
        ends.sent(&scalable, 4_000_000);
        ends.dropped(&packet(b, 7_000));
        ends.dropped(&packet(b, 9_000));
        ends.sent(&packet(None, 0), 1);
        ends.early(&packet(b, 5_000));
        let [tcp, udp] = &ends.report(1_000_000)[..] else {
            panic!("two far ends were seen");
        };
        assert_eq!((tcp.packets, tcp.bytes, tcp.dropped), (2, 200, 0));
        assert_eq!((tcp.ect0, tcp.ect1, tcp.ce), (0, 1, 0));
        assert_eq!((tcp.classic_ecn, tcp.accurate_ecn), (0, 1));
        assert_eq!((tcp.transit_min_ms, tcp.first_drop_us), (Some(4.0), None));
        assert_eq!((udp.packets, udp.dropped), (0, 2));
        assert_eq!((udp.transit_min_ms, udp.first_drop_us), (None, Some(1007)));
        assert_eq!((tcp.early_packets, tcp.first_early_us), (0, None));
        assert_eq!((udp.early_packets, udp.first_early_us), (1, Some(1005)));
    }

    #[test]
    fn the_list_of_far_ends_is_bounded() {
        let mut ends = FarEnds::default();
        for port in 0..5000 {
            ends.place(end("10.64.1.1", port, Transport::Tcp));
        }
        assert_eq!(ends.report(0).len(), MOST);
        assert!(ends.place(end("10.64.1.1", 0, Transport::Tcp)).is_some());
        assert!(ends.place(end("10.64.1.1", 4999, Transport::Tcp)).is_none());
    }
}

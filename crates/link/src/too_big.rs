//! Makes a router's answer to a packet that is too long: RFC 792 and RFC 1191, RFC 4443 section
//! 3.2.

use std::ops::Range;

use crate::frame::{ETHERTYPE, IP, checksum, complete};
use crate::ip::{ICMP, ICMPV6, V4_HEADER, V6_HEADER};
use crate::socket::VNET_HEADER;

/// Most bytes of an answer over IPv4, with as much of the packet as fits (RFC 1812 section
/// 4.3.2.3).
const MOST_V4: usize = 576;
/// Most bytes of an answer over IPv6: the least MTU of IPv6 (RFC 4443 section 3.2).
const MOST_V6: usize = 1280;
const ICMP_HEADER: usize = 8;
/// Destination unreachable, fragmentation needed and DF set.
const FRAGMENTATION_NEEDED: [u8; 2] = [3, 4];
const PACKET_TOO_BIG: [u8; 2] = [2, 0];
const HOPS: u8 = 64;
/// RFC 1812 section 4.3.2.5: precedence of internetwork control.
const INTERNETWORK_CONTROL: u8 = 0xc0;

/// The frame that tells the sender of `frame` that packets of `mtu` bytes pass. Its source is where
/// the packet went, because the link has no address. None for a packet that is not IP.
pub fn answer(frame: &[u8], mtu: u32) -> Option<Vec<u8>> {
    let mut quoted = frame.to_vec();
    complete(&mut quoted);
    let packet = quoted.get(IP..)?;
    let mut answer = vec![0; VNET_HEADER];
    answer.extend(quoted.get(VNET_HEADER + 6..VNET_HEADER + 12)?);
    answer.extend(quoted.get(VNET_HEADER..VNET_HEADER + 6)?);
    answer.extend(quoted.get(ETHERTYPE..IP)?);
    match packet.first()? >> 4 {
        4 => answer.extend(v4(packet, mtu)?),
        6 => answer.extend(v6(packet, mtu)?),
        _ => return None,
    }
    Some(answer)
}

fn v4(packet: &[u8], mtu: u32) -> Option<Vec<u8>> {
    let quote = &packet[..packet.len().min(MOST_V4 - V4_HEADER - ICMP_HEADER)];
    let told = u16::try_from(mtu).unwrap_or(u16::MAX);
    let message = message(
        FRAGMENTATION_NEEDED,
        [[0, 0], told.to_be_bytes()].concat(),
        quote,
        &[],
    );
    let length = u16::try_from(V4_HEADER + message.len()).ok()?;
    let mut ip = vec![0x45, INTERNETWORK_CONTROL];
    ip.extend(length.to_be_bytes());
    ip.extend([0, 0, 0, 0, HOPS, ICMP, 0, 0]);
    ip.extend(swapped(packet, 12..16, 16..20)?);
    let sum = checksum(&[&ip]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    Some([ip, message].concat())
}

fn v6(packet: &[u8], mtu: u32) -> Option<Vec<u8>> {
    let quote = &packet[..packet.len().min(MOST_V6 - V6_HEADER - ICMP_HEADER)];
    let length = u16::try_from(ICMP_HEADER + quote.len()).ok()?;
    let ends = swapped(packet, 8..24, 24..40)?;
    let pseudo = [
        &ends[..],
        &u32::from(length).to_be_bytes(),
        &[0, 0, 0, ICMPV6],
    ]
    .concat();
    let message = message(PACKET_TOO_BIG, mtu.to_be_bytes().to_vec(), quote, &pseudo);
    let mut ip = vec![0x60, 0, 0, 0];
    ip.extend(length.to_be_bytes());
    ip.extend([ICMPV6, HOPS]);
    ip.extend(ends);
    Some([ip, message].concat())
}

fn swapped(packet: &[u8], source: Range<usize>, destination: Range<usize>) -> Option<Vec<u8>> {
    Some([packet.get(destination)?, packet.get(source)?].concat())
}

/// Joins type and code, checksum, four bytes that depend on the kind, and the quoted packet.
fn message(kind: [u8; 2], own: Vec<u8>, quote: &[u8], pseudo: &[u8]) -> Vec<u8> {
    let mut message = [&kind[..], &[0, 0], &own, quote].concat();
    let sum = checksum(&[pseudo, &message]);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(ip: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; VNET_HEADER];
        frame.extend([[1; 6], [2; 6]].concat());
        frame.extend(if ip[0] >> 4 == 4 {
            [8, 0]
        } else {
            [0x86, 0xdd]
        });
        frame.extend(ip);
        frame
    }

    #[test]
    fn ipv4_learns_the_next_hops_mtu_with_the_head_of_the_packet() {
        let mut packet = vec![
            0x45, 0, 5, 220, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        packet.extend((0..1480u32).map(|i| i as u8));
        let told = answer(&frame(&packet), 1280).unwrap();
        assert_eq!(
            told[VNET_HEADER..IP],
            [&[2; 6][..], &[1; 6], &[8, 0]].concat()
        );
        let ip = &told[IP..];
        assert_eq!(ip.len(), 576);
        assert_eq!(ip[..4], [0x45, 0xc0, 2, 64]);
        assert_eq!(ip[12..20], [10, 0, 0, 2, 10, 0, 0, 1]); // from where it went
        assert_eq!(checksum(&[&ip[..20]]), 0);
        assert_eq!(checksum(&[&ip[20..]]), 0);
        assert_eq!((&ip[20..22], &ip[24..28]), (&[3, 4][..], &[0, 0, 5, 0][..]));
        assert_eq!(ip[28..], packet[..548]);
    }

    #[test]
    fn ipv6_learns_that_its_packet_is_too_big() {
        let mut packet = vec![0x60, 0, 0, 0, 5, 180, 17, 64];
        packet.extend([[0xfd; 16], [0xfe; 16]].concat());
        packet.extend((0..1460u32).map(|i| i as u8));
        let told = answer(&frame(&packet), 1400).unwrap();
        let ip = &told[IP..];
        assert_eq!(ip.len(), 1280);
        assert_eq!(ip[4..8], [4, 216, 58, 64]);
        assert_eq!(ip[8..40], [[0xfe; 16], [0xfd; 16]].concat());
        assert_eq!(
            (&ip[40..42], &ip[44..48]),
            (&[2, 0][..], &[0, 0, 5, 120][..])
        );
        let pseudo = [&ip[8..40], &[0, 0, 4, 216], &[0, 0, 0, 58]].concat();
        assert_eq!(checksum(&[&pseudo, &ip[40..]]), 0);
        assert_eq!(ip[48..], packet[..1232]);
    }

    #[test]
    fn what_is_no_packet_gets_no_answer() {
        for bytes in [&[][..], &[0x45; 12], &[0x60; 20], &[0; 60]] {
            let _ = answer(&[&[0; IP][..], bytes].concat(), 1280);
        }
        assert_eq!(answer(&[0; 5], 1280), None);
        assert_eq!(answer(&[0; 60], 1280), None);
    }
}

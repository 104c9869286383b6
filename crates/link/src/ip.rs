//! Where an IP packet's parts stand, with those of IPv6's extension headers (RFC 8200 section 4).

use std::ops::Range;

pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMP: u8 = 1;
pub const ICMPV6: u8 = 58;
/// RFC 8200 section 3, and RFC 791 section 3.1 without options.
pub const V6_HEADER: usize = 40;
pub const V4_HEADER: usize = 20;

/// Extension headers (RFC 8200 section 4.1, RFC 4302, and those of RFC 7045 that have their form).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;
/// RFC 8200 section 4.5: length of a fragment header, and its offset beside the flag of more.
const FRAGMENT_HEADER: usize = 8;
const MORE: u16 = 1;
const OFFSET: u16 = 0xfff8;
/// A longer chain is no packet of a web page: what is behind it stays unread.
const MOST_EXTENSIONS: usize = 16;

/// Parts of one packet, as places in its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// 4 or 6.
    pub version: u8,
    pub source: Range<usize>,
    pub destination: Range<usize>,
    /// The protocol behind all headers of IP: TCP, UDP, ICMP, ...
    pub protocol: u8,
    /// Where that protocol's header begins, which may be behind the end of a short packet.
    pub payload: usize,
    /// End of the packet by its own length field; for IPv6's jumbograms, the end of their first
    /// header.
    pub end: usize,
    /// Whether this is a fragment, whose ports may be in another fragment.
    pub fragment: bool,
}

impl Parts {
    /// Reads an IPv4 or IPv6 packet. None for what is neither, or too short for its header.
    pub fn of(ip: &[u8]) -> Option<Self> {
        match ip.first()? >> 4 {
            4 if ip.len() >= V4_HEADER => Some(Self {
                version: 4,
                source: 12..16,
                destination: 16..20,
                protocol: ip[9],
                payload: usize::from(ip[0] & 0xf) * 4,
                end: word(ip, 2)?.into(),
                fragment: word(ip, 6)? & 0x3fff != 0,
            }),
            6 if ip.len() >= V6_HEADER => {
                let (protocol, payload, fragment) = behind_extensions(ip);
                Some(Self {
                    version: 6,
                    source: 8..24,
                    destination: 24..40,
                    protocol,
                    payload,
                    end: V6_HEADER + usize::from(word(ip, 4)?),
                    fragment,
                })
            }
            _ => None,
        }
    }

    /// What is behind the headers of IP; None if the packet is too short, or a fragment.
    pub fn whole<'a>(&self, ip: &'a [u8]) -> Option<&'a [u8]> {
        ip.get(self.payload..).filter(|_| !self.fragment)
    }
}

/// The protocol behind IPv6's extension headers, where it begins, and whether this is a fragment. An
/// unfragmented packet may have a fragment header too (RFC 6946).
fn behind_extensions(ip: &[u8]) -> (u8, usize, bool) {
    let (mut next, mut at) = (ip[6], V6_HEADER);
    for _ in 0..MOST_EXTENSIONS {
        let Some(&[following, length]) = ip.get(at..at + 2) else {
            break;
        };
        let length = usize::from(length);
        at += match next {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HOST_IDENTITY | SHIM6 => {
                (length + 1) * 8
            }
            AUTHENTICATION => (length + 2) * 4,
            FRAGMENT => {
                if word(ip, at + 2).is_none_or(|field| field & (OFFSET | MORE) != 0) {
                    return (following, at + FRAGMENT_HEADER, true);
                }
                FRAGMENT_HEADER
            }
            _ => break,
        };
        next = following;
    }
    (next, at, false)
}

fn word(ip: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*ip.get(at)?, *ip.get(at + 1)?]))
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An IPv6 packet with these extension headers, each with its number, before `payload`.
    pub fn v6(extensions: &[(u8, &[u8])], protocol: u8, payload: &[u8]) -> Vec<u8> {
        let kinds = extensions.iter().map(|(kind, _)| *kind).chain([protocol]);
        let mut kinds = kinds.collect::<Vec<_>>().into_iter();
        let mut ip = vec![0x60, 0, 0, 0, 0, 0, kinds.next().unwrap(), 64];
        ip.extend([[0xfd; 16], [0xfe; 16]].concat());
        for ((_, rest), next) in extensions.iter().zip(kinds) {
            ip.push(next);
            ip.extend(*rest);
        }
        ip.extend(payload);
        let length = (ip.len() - V6_HEADER) as u16;
        ip[4..6].copy_from_slice(&length.to_be_bytes());
        ip
    }

    /// Eight bytes of options without the first byte, which names the next header.
    pub const OPTIONS: [u8; 7] = [0, 1, 4, 0, 0, 0, 0];
    /// Sixteen bytes of options without the first byte.
    const LONGER: [u8; 15] = [1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    /// RFC 4302 section 2.2: the length is in words of four bytes, less two.
    const SIGNED: [u8; 11] = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    /// A fragment header of a packet that is whole; fragments have an offset, or more to come.
    const ATOMIC: [u8; 7] = [0, 0, 0, 0, 0, 0, 9];

    #[test]
    fn what_is_behind_extension_headers_is_found() {
        let chains: [&[(u8, &[u8])]; 6] = [
            &[],
            &[(HOP_BY_HOP, &OPTIONS)],
            &[(ROUTING, &LONGER)],
            &[(AUTHENTICATION, &SIGNED)],
            &[(FRAGMENT, &ATOMIC)],
            &[
                (HOP_BY_HOP, &LONGER),
                (ROUTING, &OPTIONS),
                (FRAGMENT, &ATOMIC),
                (AUTHENTICATION, &SIGNED),
                (DESTINATION, &OPTIONS),
            ],
        ];
        for chain in chains {
            let ip = v6(chain, UDP, b"payload");
            let parts = Parts::of(&ip).unwrap();
            assert_eq!(parts.protocol, UDP, "{chain:?}");
            assert_eq!(parts.whole(&ip), Some(&b"payload"[..]), "{chain:?}");
            assert_eq!(parts.end, ip.len());
        }
    }

    #[test]
    fn a_fragment_is_known_by_its_offset_or_by_what_follows() {
        for field in [[0, 1], [0, 8], [0x10, 1]] {
            let header = [0, field[0], field[1], 0, 0, 0, 9];
            let ip = v6(&[(FRAGMENT, &header)], TCP, b"part");
            let parts = Parts::of(&ip).unwrap();
            assert_eq!((parts.protocol, parts.fragment), (TCP, true));
            assert_eq!(parts.whole(&ip), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), version in 0u8..16) {
            let mut ip = bytes;
            if let Some(first) = ip.first_mut() {
                *first = version << 4 | *first & 0xf;
            }
            if let Some(parts) = Parts::of(&ip) {
                prop_assert!(parts.destination.end <= ip.len());
                let _ = parts.whole(&ip);
            }
        }
    }
}

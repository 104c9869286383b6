//! Frames on our sockets: an offload header, Ethernet, IP; and checksums of what is in them.

use crate::socket::VNET_HEADER;

pub const ETHERNET_HEADER: usize = 14;
pub const ETHERTYPE: usize = VNET_HEADER + 12;
/// Offset in a frame at which the IP packet begins.
pub const IP: usize = ETHERTYPE + 2;

/// Flag of `struct virtio_net_hdr`: the kernel has not computed the checksum yet. It covers the
/// bytes from `csum_start` on; its field is `csum_offset` further. Both offsets count from the
/// Ethernet header.
const NEEDS_CSUM: u8 = 1;
const CSUM_START: usize = 6;
const CSUM_OFFSET: usize = 8;

/// If the kernel has not computed a checksum yet, returns the offsets in the frame of the covered
/// bytes and of the checksum field.
pub fn owed(frame: &[u8]) -> Option<(usize, usize)> {
    if frame.first()? & NEEDS_CSUM == 0 {
        return None;
    }
    let word = |at: usize| {
        Some(usize::from(u16::from_le_bytes([
            *frame.get(at)?,
            *frame.get(at + 1)?,
        ])))
    };
    let start = VNET_HEADER + word(CSUM_START)?;
    let field = start + word(CSUM_OFFSET)?;
    (field + 2 <= frame.len()).then_some((start, field))
}

/// Computes the checksum that the kernel has left out, if there is one.
pub fn complete(frame: &mut [u8]) {
    if let Some((start, field)) = owed(frame) {
        // The field holds the sum of the pseudo header.
        let checksum = checksum(&[&frame[start..]]);
        frame[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
        frame[0] &= !NEEDS_CSUM;
    }
}

/// The Internet checksum (RFC 1071) of parts that follow each other. All but the last have an even
/// length.
pub fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u64;
    for part in parts {
        for word in part.chunks(2) {
            sum += u64::from(u16::from_be_bytes([
                word[0],
                word.get(1).copied().unwrap_or(0),
            ]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The checksum after a word has changed from `before` to `after` (RFC 1624 section 3, equation 3:
/// HC' = ~(~HC + ~m + m')).
pub fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_that_is_owed_is_made_over_all_that_follows() {
        let mut frame = vec![0; VNET_HEADER + ETHERNET_HEADER];
        frame[0] = NEEDS_CSUM;
        frame[CSUM_START] = 14;
        frame[CSUM_OFFSET] = 2;
        frame.extend([1, 2, 0x12, 0x34, 5]); // the field holds the pseudo header's sum
        complete(&mut frame);
        assert_eq!(frame[0], 0);
        let made = u16::from_be_bytes([frame[26], frame[27]]);
        assert_eq!(made, !(0x0102 + 0x1234 + 0x0500));
        // Nothing is owed any more.
        let before = frame.clone();
        complete(&mut frame);
        assert_eq!(frame, before);
    }
}

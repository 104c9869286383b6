//! Reads and writes the MSS option of SYNs: RFC 9293 section 3.7.1.

use crate::frame::{IP, owed, updated};
use crate::ip::Parts;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
/// Where options begin, and the checksum stands, in a TCP header.
const OPTIONS: usize = 20;
const CHECKSUM: usize = 16;

/// Finds the option in a TCP segment; returns the offset of its value, and the value.
pub fn find(segment: &[u8]) -> Option<(usize, u16)> {
    let end = usize::from(segment.get(12)? >> 4) * 4;
    let mut at = OPTIONS;
    while at < end {
        match *segment.get(at)? {
            END => return None,
            NO_OPERATION => at += 1,
            MSS => {
                let value = segment.get(at + 2..at + 4).filter(|_| at + 4 <= end)?;
                return Some((at + 2, u16::from_be_bytes([value[0], value[1]])));
            }
            _ => at += usize::from(*segment.get(at + 1)?).max(2),
        }
    }
    None
}

/// Writes a value into the MSS option of a frame's SYN, and corrects the checksum. A checksum that
/// the kernel has yet to compute needs no correction.
pub fn clamp(frame: &mut [u8], mss: u16) {
    let Some(parts) = frame.get(IP..).and_then(Parts::of) else {
        return;
    };
    let start = IP + parts.payload;
    let Some((at, before)) = frame.get(start..).and_then(find) else {
        return;
    };
    frame[start + at..start + at + 2].copy_from_slice(&mss.to_be_bytes());
    if owed(frame).is_some() {
        return;
    }
    // A value at an odd place lies across two words of the sum.
    let turn = |value: u16| {
        if at % 2 == 0 {
            value
        } else {
            value.swap_bytes()
        }
    };
    let field = start + CHECKSUM..start + CHECKSUM + 2;
    let checksum = u16::from_be_bytes([frame[field.start], frame[field.start + 1]]);
    let corrected = updated(checksum, turn(before), turn(mss));
    frame[field].copy_from_slice(&corrected.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::checksum;

    /// A frame with a SYN that has these options, and a correct checksum.
    fn syn(options: &[u8]) -> Vec<u8> {
        let length = 20 + options.len();
        let mut frame = vec![0; IP];
        frame.extend([0x45, 0, 0, 20 + length as u8, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([
            1,
            187,
            15,
            160,
            1,
            2,
            3,
            4,
            0,
            0,
            0,
            0,
            (length as u8 / 4) << 4,
            2,
        ]);
        frame.extend([0; 6]);
        frame.extend(options);
        let sum = tcp_sum(&frame);
        frame[IP + 36..IP + 38].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    fn tcp_sum(frame: &[u8]) -> u16 {
        let segment = &frame[IP + 20..];
        let pseudo = [&frame[IP + 12..IP + 20], &[0, 6, 0, segment.len() as u8]].concat();
        checksum(&[&pseudo, segment])
    }

    #[test]
    fn a_clamped_syn_has_the_value_under_a_correct_checksum() {
        for options in [
            &[2, 4, 5, 180][..],
            &[1, 2, 4, 5, 180, 1, 0, 0],
            &[4, 2, 1, 2, 4, 5, 180, 0],
        ] {
            let mut frame = syn(options);
            assert_eq!(find(&frame[IP + 20..]).unwrap().1, 1460);
            clamp(&mut frame, 1240);
            assert_eq!(find(&frame[IP + 20..]).unwrap().1, 1240);
            assert_eq!(tcp_sum(&frame), 0, "{options:?}");
        }
    }

    #[test]
    fn options_that_end_early_or_lack_the_value_are_left_alone() {
        for options in [
            &[][..],
            &[0, 2, 4, 5],
            &[2, 4, 5],
            &[9, 0, 0, 0],
            &[8, 200, 0, 0],
        ] {
            let mut frame = syn(options);
            let before = frame.clone();
            clamp(&mut frame, 1240);
            assert_eq!(frame, before);
        }
        for length in 0..60 {
            clamp(&mut vec![0x45; length], 1240);
        }
    }
}

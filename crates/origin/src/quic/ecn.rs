//! What a client says of the marks of our packets: the counts of its ACK_ECN frames (RFC 9000
//! section 19.3.2).

use dragstrip_http3::Reader;
use serde::Serialize;

const ACK_ECN: u64 = 0x03;

/// Packets that came with each code point (RFC 3168 section 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub ect0: u64,
    pub ect1: u64,
    pub ce: u64,
}

impl Counts {
    /// Returns the later of two counts of one packet number space: counts never fall.
    pub fn later(self, other: Self) -> Self {
        Self {
            ect0: self.ect0.max(other.ect0),
            ect1: self.ect1.max(other.ect1),
            ce: self.ce.max(other.ce),
        }
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            ect0: self.ect0 + other.ect0,
            ect1: self.ect1 + other.ect1,
            ce: self.ce + other.ce,
        }
    }
}

/// Reads the counts of a decrypted packet; None if it has none. With `swap`, those of ECT(0) and
/// ECT(1) change places: quinn validates by section 13.4.2 what it sends, and knows only ECT(0). So
/// it validates ECT(1) by the same rules.
pub(super) fn counts(payload: &mut [u8], swap: bool) -> Option<Counts> {
    let mut found = None;
    for (start, end) in frames(payload) {
        let frame = &mut payload[start..end];
        let Some([ect0, ect1, ce, last]) = places(frame) else {
            continue;
        };
        let number = |from: usize, to: usize| Reader::new(&frame[from..to]).varint();
        let read = Counts {
            ect0: number(ect0, ect1)?,
            ect1: number(ect1, ce)?,
            ce: number(ce, last)?,
        };
        found = Some(found.map_or(read, |known: Counts| known.later(read)));
        if swap {
            frame[ect0..ce].rotate_left(ect1 - ect0);
        }
    }
    found
}

/// Where frames begin and end, up to the first one whose length is unknown.
fn frames(payload: &[u8]) -> Vec<(usize, usize)> {
    let mut reader = Reader::new(payload);
    let mut found = Vec::new();
    loop {
        let start = reader.at();
        match reader.frame() {
            Some(ACK_ECN) => found.push((start, reader.at())),
            Some(_) => {}
            None => return found,
        }
    }
}

/// Where the three counts of an ACK_ECN frame begin, and where the last one ends.
fn places(frame: &[u8]) -> Option<[usize; 4]> {
    let mut reader = Reader::new(frame);
    for _ in 0..3 {
        reader.varint()?; // type, largest, delay
    }
    for _ in 0..=(2 * reader.varint()?) {
        reader.varint()?; // the first range, and gap and length of each other
    }
    let mut places = [reader.at(), 0, 0, 0];
    for place in &mut places[1..] {
        reader.varint()?;
        *place = reader.at();
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ACK_ECN of 70 with two ranges, counting 3 ECT(0), 300 ECT(1) and 2 CE.
    const ACK: [u8; 12] = [3, 0x40, 70, 0, 1, 4, 2, 1, 3, 0x41, 44, 2];
    const STREAM: [u8; 5] = [0x0a, 0, 2, 7, 7];
    const COUNTS: Counts = Counts {
        ect0: 3,
        ect1: 300,
        ce: 2,
    };

    #[test]
    fn counts_are_read_wherever_the_frame_stands() {
        let ping = [1];
        for before in [&[][..], &ping, &[0; 9], &STREAM] {
            let mut payload = [before, &ACK, &STREAM].concat();
            let whole = payload.clone();
            assert_eq!(counts(&mut payload, false), Some(COUNTS), "{before:?}");
            assert_eq!(payload, whole);
        }
        let plain = [2, 5, 0, 1, 2, 0, 1];
        for payload in [&plain[..], &ACK[..11], &STREAM, &[]] {
            assert_eq!(counts(&mut payload.to_vec(), false), None, "{payload:?}");
        }
    }

    #[test]
    fn swapped_counts_are_of_the_other_code_point() {
        let mut payload = [&[1][..], &ACK, &STREAM].concat();
        assert_eq!(counts(&mut payload, true), Some(COUNTS));
        let swapped = Counts {
            ect0: 300,
            ect1: 3,
            ..COUNTS
        };
        assert_eq!(counts(&mut payload, false), Some(swapped));
        assert_eq!(payload[13..], STREAM);
    }
}

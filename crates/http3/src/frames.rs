//! Passes HTTP/3 frames on (RFC 9114 section 7). Frames of field sections are changed, all others
//! are not.
//!
//! h3 buffers every frame except DATA, whatever its announced length. So frames that are too long
//! are not passed on.

use bytes::{Buf, BufMut, Bytes, BytesMut};

const DATA: u64 = 0x00;
pub(crate) const HEADERS: u64 = 0x01;
const SETTINGS: u64 = 0x04;
/// PRIORITY_UPDATE for a request stream; the next number is for a push (RFC 9218 section 7.2).
pub(crate) const PRIORITY_UPDATE: u64 = 0xf0700;
const PUSH_PRIORITY_UPDATE: u64 = PRIORITY_UPDATE + 1;
/// Other types of frames that have a meaning (RFC 9114 section 7.2), or had one in HTTP/2 and are
/// forbidden.
const NAMED: [u64; 9] = [0x02, 0x03, SETTINGS, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0d];

/// Most bytes of an encoded field section. A smaller limit is h3's task.
const LONGEST_SECTION: u64 = 1 << 20;
/// Most bytes of a frame of settings, or of numbers.
const LONGEST_FRAME: u64 = 1 << 14;
const TABLE_CAPACITY: u64 = 0x01; // RFC 9204 section 5
const BLOCKED_STREAMS: u64 = 0x07;

use crate::offer::Offer;

/// Finds field sections in what a peer sends on a stream.
#[derive(Default)]
pub(crate) struct Sections {
    /// Bytes that arrived and were not passed on yet.
    buffer: BytesMut,
    /// Remaining bytes of the current frame, which is passed on unchanged.
    passing: u64,
    /// Remaining bytes of the current frame, which is not passed on.
    skipping: u64,
}

/// What to do with the next bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Bytes that pass as they are.
    Unchanged(Bytes),
    /// The field section of a HEADERS frame.
    Section(Bytes),
    /// A field section that is too long and is not passed on.
    Longest,
    /// The payload of a PRIORITY_UPDATE frame of this type, which h3 does not know.
    Update(u64, Bytes),
    /// Another frame is too long, so the connection ends.
    Excess,
}

impl Sections {
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next piece; None until more bytes arrive.
    pub fn next(&mut self) -> Option<Piece> {
        loop {
            self.skip();
            if self.passing > 0 {
                return self.pass();
            }
            let (kind, length, header) = frame_header(&self.buffer)?;
            match kind {
                DATA => self.passing = header as u64 + length,
                HEADERS if length > LONGEST_SECTION => {
                    self.skipping = header as u64 + length;
                    return Some(Piece::Longest);
                }
                HEADERS => {
                    let end = header + length as usize;
                    if self.buffer.len() < end {
                        return None;
                    }
                    self.buffer.advance(header);
                    return Some(Piece::Section(
                        self.buffer.split_to(length as usize).freeze(),
                    ));
                }
                PRIORITY_UPDATE | PUSH_PRIORITY_UPDATE if length <= LONGEST_FRAME => {
                    if self.buffer.len() < header + length as usize {
                        return None;
                    }
                    self.buffer.advance(header);
                    let payload = self.buffer.split_to(length as usize).freeze();
                    return Some(Piece::Update(kind, payload));
                }
                PRIORITY_UPDATE | PUSH_PRIORITY_UPDATE => return Some(Piece::Excess),
                _ if !NAMED.contains(&kind) => self.skipping = header as u64 + length,
                _ if length > LONGEST_FRAME => return Some(Piece::Excess),
                _ => self.passing = header as u64 + length,
            }
        }
    }

    fn skip(&mut self) {
        let length = self.skipping.min(self.buffer.len() as u64);
        self.skipping -= length;
        self.buffer.advance(length as usize);
    }

    fn pass(&mut self) -> Option<Piece> {
        let length = self.passing.min(self.buffer.len() as u64);
        if length == 0 {
            return None;
        }
        self.passing -= length;
        Some(Piece::Unchanged(
            self.buffer.split_to(length as usize).freeze(),
        ))
    }

    /// Returns the remaining bytes of a stream that has ended. h3 reports what is wrong with them.
    pub fn rest(&mut self) -> Bytes {
        self.buffer.split().freeze()
    }
}

/// A section for h3 in place of one that is too long: its fields are longer than `LONGEST_SECTION`
/// once decoded, so h3 refuses it like any other above the limit, with 431.
pub(crate) fn longest() -> Bytes {
    const PREFIX: [u8; 2] = [0, 0];
    const METHOD_GET: u8 = 0xc0 | 17; // of the static table (RFC 9204 appendix A)
    const DECODED: usize = ":method".len() + "GET".len() + 32; // RFC 9114 section 4.2.2
    let mut section = vec![METHOD_GET; PREFIX.len() + LONGEST_SECTION as usize / DECODED + 1];
    section[..PREFIX.len()].copy_from_slice(&PREFIX);
    headers(&section)
}

/// Makes a HEADERS frame of a section.
pub(crate) fn headers(section: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    put_varint(&mut out, HEADERS);
    put_varint(&mut out, section.len() as u64);
    out.put_slice(section);
    out.freeze()
}

/// The section of a complete HEADERS frame; None for another frame.
pub(crate) fn section(mut frame: Bytes) -> Option<Bytes> {
    let (kind, length, header) = frame_header(&frame)?;
    let whole = kind == HEADERS && (frame.len() - header) as u64 == length;
    whole.then(|| frame.split_off(header))
}

/// The start of a control stream, its type included, with `offer` among its settings.
pub(crate) fn offering(mut stream: Bytes, offer: Offer) -> Option<Bytes> {
    let kind = take_varint(&mut stream)?;
    let (frame, length, header) = frame_header(&stream)?;
    if frame != SETTINGS || (stream.len() - header) as u64 != length {
        return None;
    }
    let mut settings = BytesMut::from(&stream[header..]);
    for (id, value) in [
        (TABLE_CAPACITY, offer.table_bytes),
        (BLOCKED_STREAMS, offer.blocked_streams),
    ] {
        if value > 0 {
            put_varint(&mut settings, id);
            put_varint(&mut settings, value);
        }
    }
    let mut out = BytesMut::new();
    put_varint(&mut out, kind);
    put_varint(&mut out, SETTINGS);
    put_varint(&mut out, settings.len() as u64);
    out.put_slice(&settings);
    Some(out.freeze())
}

/// The offer in the SETTINGS at the start of a control stream, after its type. None until all of it
/// has arrived.
pub(crate) fn offered(stream: &[u8]) -> Option<Offer> {
    let (frame, length, header) = frame_header(stream)?;
    if frame != SETTINGS || length > LONGEST_FRAME {
        return Some(Offer::default());
    }
    let end = header.checked_add(usize::try_from(length).ok()?)?;
    let mut settings = stream.get(header..end)?;
    let mut offer = Offer::default();
    while let (Some(id), Some(value)) = (take_varint(&mut settings), take_varint(&mut settings)) {
        match id {
            TABLE_CAPACITY => offer.table_bytes = value,
            BLOCKED_STREAMS => offer.blocked_streams = value,
            _ => {}
        }
    }
    Some(offer)
}

/// Type, length and size of the header of the frame at the start of `bytes`.
fn frame_header(bytes: &[u8]) -> Option<(u64, u64, usize)> {
    let mut rest = bytes;
    let kind = take_varint(&mut rest)?;
    let length = take_varint(&mut rest)?;
    Some((kind, length, bytes.len() - rest.len()))
}

/// Reads a number of variable length from the front (RFC 9000 section 16).
pub(crate) fn take_varint(bytes: &mut impl Buf) -> Option<u64> {
    let first = *bytes.chunk().first()?;
    let length = 1 << (first >> 6);
    if bytes.remaining() < length {
        return None;
    }
    let mut value = u64::from(bytes.get_u8() & 0x3f);
    for _ in 1..length {
        value = value << 8 | u64::from(bytes.get_u8());
    }
    Some(value)
}

fn put_varint(out: &mut BytesMut, value: u64) {
    match value {
        0..0x40 => out.put_u8(value as u8),
        0x40..0x4000 => out.put_u16(value as u16 | 0x4000),
        0x4000..0x4000_0000 => out.put_u32(value as u32 | 0x8000_0000),
        _ => out.put_u64(value | 0xc000_0000_0000_0000),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
        let mut out = BytesMut::new();
        put_varint(&mut out, kind);
        put_varint(&mut out, payload.len() as u64);
        out.put_slice(payload);
        out.to_vec()
    }

    /// What passes of a stream that comes in pieces of `cut` bytes, and the sections found in it.
    fn passed(stream: &[u8], cut: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
        let (mut sections, mut passed, mut found) = (Sections::default(), Vec::new(), Vec::new());
        for bytes in stream.chunks(cut) {
            sections.push(bytes);
            while let Some(piece) = sections.next() {
                match piece {
                    Piece::Unchanged(bytes) => passed.extend_from_slice(&bytes),
                    Piece::Section(section) => {
                        found.push(section.to_vec());
                        passed.extend_from_slice(&headers(&section));
                    }
                    Piece::Longest => found.push(b"too long".to_vec()),
                    Piece::Update(kind, payload) => found.push(frame(kind, &payload)),
                    Piece::Excess => return (passed, vec![b"excess".to_vec()]),
                }
            }
            assert!(sections.buffer.len() <= LONGEST_SECTION as usize + cut);
        }
        passed.extend_from_slice(&sections.rest());
        (passed, found)
    }

    proptest! {
        #[test]
        fn frames_pass_however_they_are_cut(
            frames in vec((0_u64..12, vec(any::<u8>(), 0..200)), 0..8),
            cut in 1_usize..50,
        ) {
            let join = |frames: &[(u64, Vec<u8>)]| {
                frames.iter().flat_map(|(kind, data)| frame(*kind, data)).collect::<Vec<u8>>()
            };
            let (passed, found) = passed(&join(&frames), cut);
            let mut known = frames.clone();
            known.retain(|(kind, _)| *kind < 10); // 10 and 11 have no meaning
            prop_assert_eq!(passed, join(&known));
            let wanted = frames.into_iter().filter(|(kind, _)| *kind == HEADERS);
            prop_assert_eq!(found, wanted.map(|(_, data)| data).collect::<Vec<_>>());
        }

        #[test]
        fn varints_survive(value in 0_u64..1 << 62) {
            let mut out = BytesMut::new();
            put_varint(&mut out, value);
            prop_assert_eq!(take_varint(&mut &out[..]), Some(value));
            prop_assert_eq!(take_varint(&mut &out[..out.len() - 1]), None);
        }
    }

    #[test]
    fn a_section_that_is_too_long_is_refused_and_nothing_of_it_kept() {
        let long = frame(HEADERS, &vec![0; LONGEST_SECTION as usize + 1]);
        let stream = [long, frame(DATA, b"body")].concat();
        let (passed, found) = passed(&stream, 4096);
        assert_eq!(
            (passed, found),
            (frame(DATA, b"body"), vec![b"too long".to_vec()])
        );
        assert!(longest().len() as u64 * 42 > LONGEST_SECTION);
    }

    #[test]
    fn an_update_of_priorities_is_found_and_does_not_pass() {
        let updates = [PRIORITY_UPDATE, PUSH_PRIORITY_UPDATE].map(|kind| frame(kind, b"\x04u=1"));
        let stream = [&updates[0], &frame(DATA, b"body")[..], &updates[1]].concat();
        for cut in 1..stream.len() {
            let (passed, found) = passed(&stream, cut);
            assert_eq!(passed, frame(DATA, b"body"));
            assert_eq!(found, updates);
        }
    }

    #[test]
    fn a_frame_without_a_meaning_has_any_length_and_no_other_has() {
        let reserved = frame(0x21, &[1; 1 << 15]);
        assert_eq!(passed(&reserved, 100), (vec![], vec![]));
        for kind in NAMED {
            let longest = frame(kind, &[1; LONGEST_FRAME as usize]);
            assert_eq!(passed(&longest, 100), (longest.clone(), vec![]));
            let mut announced = BytesMut::new();
            put_varint(&mut announced, kind);
            put_varint(&mut announced, 1 << 60);
            assert_eq!(passed(&announced, 1), (vec![], vec![b"excess".to_vec()]));
        }
    }

    #[test]
    fn an_offer_joins_the_settings() {
        let mut stream = vec![0x00];
        stream.extend_from_slice(&frame(SETTINGS, &[0x06, 0x50, 0x00]));
        let offer = Offer {
            table_bytes: 4096,
            blocked_streams: 100,
        };
        let out = offering(stream.into(), offer).unwrap();
        assert_eq!(offered(&out[1..]), Some(offer));
        assert_eq!(offered(&out[1..out.len() - 1]), None, "not all of it came");
        assert!(out.windows(3).any(|bytes| bytes == [0x06, 0x50, 0x00]));
    }
}

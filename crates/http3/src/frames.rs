//! HTTP/3 frames as they pass (RFC 9114 section 7): those of field sections change, all others do not.

use bytes::{Buf, BufMut, Bytes, BytesMut};

pub(crate) const HEADERS: u64 = 0x01;
const SETTINGS: u64 = 0x04;
const TABLE_CAPACITY: u64 = 0x01; // RFC 9204 section 5
const BLOCKED_STREAMS: u64 = 0x07;

use crate::qpack::Offer;

/// Finds field sections in what a peer sends on a request stream.
#[derive(Default)]
pub(crate) struct Sections {
    /// What came and was not passed on yet.
    buffer: BytesMut,
    /// Of the frame that passes unchanged: bytes still to come.
    passing: u64,
}

/// What to do with the next bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// They pass as they are.
    Unchanged(Bytes),
    /// The field section of a HEADERS frame.
    Section(Bytes),
}

impl Sections {
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// None until more came.
    pub fn next(&mut self) -> Option<Piece> {
        if self.passing > 0 {
            return self.pass();
        }
        let (kind, length, header) = frame_header(&self.buffer)?;
        if kind != HEADERS {
            self.passing = header as u64 + length;
            return self.pass();
        }
        let end = header + usize::try_from(length).ok()?;
        if self.buffer.len() < end {
            return None;
        }
        self.buffer.advance(header);
        Some(Piece::Section(self.buffer.split_to(end - header).freeze()))
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

    /// The stream ended; what is left is for h3 to complain about.
    pub fn rest(&mut self) -> Bytes {
        self.buffer.split().freeze()
    }
}

/// A HEADERS frame.
pub(crate) fn headers(section: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    put_varint(&mut out, HEADERS);
    put_varint(&mut out, section.len() as u64);
    out.put_slice(section);
    out.freeze()
}

/// The section of a whole HEADERS frame; None if it is another.
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

/// What the SETTINGS at the start of a control stream, after its type, offer. None until all came.
pub(crate) fn offered(stream: &[u8]) -> Option<Offer> {
    let (frame, length, header) = frame_header(stream)?;
    if frame != SETTINGS {
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

/// RFC 9000 section 16.
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

    proptest! {
        #[test]
        fn frames_pass_however_they_are_cut(
            frames in vec((0_u64..3, vec(any::<u8>(), 0..200)), 0..8),
            cut in 1_usize..50,
        ) {
            let stream: Vec<u8> = frames.iter().flat_map(|(kind, data)| frame(*kind, data)).collect();
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
                    }
                }
            }
            passed.extend_from_slice(&sections.rest());
            prop_assert_eq!(passed, stream);
            let wanted: Vec<_> = frames.into_iter().filter(|(kind, _)| *kind == HEADERS).collect();
            prop_assert_eq!(found, wanted.into_iter().map(|(_, data)| data).collect::<Vec<_>>());
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

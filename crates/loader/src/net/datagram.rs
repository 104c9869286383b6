//! Reads what a QUIC datagram shows without keys.

use dragstrip_http3::Reader;

const LONG_HEADER: u8 = 0x80;
/// Bits of a long header that hold its type (RFC 9000 section 17.2).
const TYPE: u8 = 0x30;
pub(super) const INITIAL: u8 = 0x00;
pub(super) const HANDSHAKE: u8 = 0x20;
/// Longest Initial packet that holds only an ACK frame.
pub(super) const MOST_OF_AN_ACK: usize = 100;

/// Type and length of the packet with a long header that begins here.
pub(super) fn packet(bytes: &[u8]) -> Option<(u8, usize)> {
    let mut reader = Reader::new(bytes);
    let first = reader.byte().filter(|first| first & LONG_HEADER != 0)?;
    reader.skip(4)?; // version
    for _ in 0..2 {
        let id = reader.byte()?;
        reader.skip(id.into())?;
    }
    if first & TYPE == INITIAL {
        let token = reader.varint()?;
        reader.skip(token)?;
    }
    let length = reader.varint()?;
    reader.skip(length)?;
    Some((first & TYPE, reader.at()))
}

//! What can be read of a QUIC datagram without keys.

const LONG_HEADER: u8 = 0x80;
/// Of a long header's type (RFC 9000 section 17.2).
const TYPE: u8 = 0x30;
pub(super) const INITIAL: u8 = 0x00;
pub(super) const HANDSHAKE: u8 = 0x20;

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
    Some((first & TYPE, reader.at))
}

/// Reads numbers from the front; None at the end.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// RFC 9000 section 16.
    pub fn varint(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let mut value = u64::from(first & 0x3f);
        for _ in 1..1 << (first >> 6) {
            value = value << 8 | u64::from(self.byte()?);
        }
        Some(value)
    }

    pub fn skip(&mut self, bytes: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(bytes).ok()?)?;
        (end <= self.bytes.len()).then(|| self.at = end)
    }
}

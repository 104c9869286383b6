//! Numbers in a QUIC packet.

/// Reads numbers from the front; None at the end.
pub struct Reader<'a> {
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

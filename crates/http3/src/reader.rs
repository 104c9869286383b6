//! Reads numbers and frames from a QUIC packet.

use crate::frames::take_varint;

const ACK: u64 = 0x02;
const ACK_ECN: u64 = 0x03;
const CRYPTO: u64 = 0x06;
const NEW_TOKEN: u64 = 0x07;
/// A bit of the type of STREAM frames. Those whose type has the bit 0x02 say their length.
const STREAM_OFFSET: u64 = 0x04;
const RESET_TOKEN_BYTES: u64 = 16;

/// Reads numbers from the front of a packet; each is None at the end.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the number of bytes read so far.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub fn varint(&mut self) -> Option<u64> {
        let mut rest = &self.bytes[self.at..];
        let value = take_varint(&mut rest)?;
        self.at = self.bytes.len() - rest.len();
        Some(value)
    }

    pub fn skip(&mut self, bytes: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(bytes).ok()?)?;
        (end <= self.bytes.len()).then(|| self.at = end)
    }

    /// Reads the frame that begins here and returns its type (RFC 9000 section 19). None for stream
    /// data without a length, a truncated frame, or an unknown one.
    pub fn frame(&mut self) -> Option<u64> {
        let kind = self.varint()?;
        let numbers = match kind {
            0x00 | 0x01 | 0x1e | 0x1f => 0, // PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK
            ACK | ACK_ECN => {
                self.varint()?; // largest
                self.varint()?; // delay
                let ranges = self.varint()?;
                1 + 2 * ranges + if kind == ACK_ECN { 3 } else { 0 }
            }
            0x04 => 3,               // RESET_STREAM
            0x05 | 0x11 | 0x15 => 2, // STOP_SENDING, and a stream's limits
            0x0a | 0x0b | 0x0e | 0x0f => {
                self.varint()?; // the stream
                if kind & STREAM_OFFSET != 0 {
                    self.varint()?;
                }
                let length = self.varint()?;
                self.skip(length)?;
                0
            }
            0x10 | 0x12..=0x14 | 0x16 | 0x17 => 1, // a connection's limits
            CRYPTO | NEW_TOKEN => {
                if kind == CRYPTO {
                    self.varint()?; // offset
                }
                let length = self.varint()?;
                self.skip(length)?;
                0
            }
            0x18 => {
                // NEW_CONNECTION_ID
                self.varint()?; // sequence number
                self.varint()?; // retire what is before
                let length = self.byte()?;
                self.skip(u64::from(length) + RESET_TOKEN_BYTES)?;
                0
            }
            0x19 => 1, // RETIRE_CONNECTION_ID
            0x1a | 0x1b => {
                // PATH_CHALLENGE, PATH_RESPONSE
                self.skip(8)?;
                0
            }
            0xaf => 4, // ACK_FREQUENCY
            _ => return None,
        };
        for _ in 0..numbers {
            self.varint()?;
        }
        Some(kind)
    }
}

//! Detects early data in packets of the client, for every server.
//!
//! Over QUIC, early data has its own packet type (RFC 9001 section 4.6). Over TCP it consists of
//! TLS records after the ClientHello that are sent before anything came from the server (RFC 8446
//! section 2.3): all segments until then acknowledge the same byte.

use std::collections::HashMap;

use crate::ip::{Parts, TCP, UDP};

/// RFC 9293 section 3.1.
const SYN: u8 = 0b10;
/// RFC 8446 section 5.1: the content types of a ClientHello and of everything encrypted, and the
/// header of a record.
const HANDSHAKE: u8 = 22;
const ENCRYPTED: u8 = 23;
const RECORD_HEADER: usize = 5;
/// Most bytes of a client's flight that are examined.
const MOST_FLIGHT: usize = 64 * 1024;
/// Most connections of a visit that are examined.
const MOST_FLOWS: usize = 4096;
/// QUIC versions whose packet layout is known: 1 and 2 (RFC 9369).
const QUIC_1: u32 = 1;
const QUIC_2: u32 = 0x6b33_43cf;
const MOST_ID: usize = 20;

/// Searches packets from clients for early data.
#[derive(Default)]
pub struct EarlyData {
    flights: HashMap<u64, Flight>,
}

/// Data that a TCP connection sent before it received anything.
#[derive(Default)]
struct Flight {
    acknowledged: Option<u32>,
    /// Sequence number of the first byte.
    start: u32,
    bytes: Vec<u8>,
    over: bool,
}

impl EarlyData {
    /// Whether a record or packet of early data begins in this IP packet of a client. `flow` names
    /// its connection, see `Header`.
    pub fn begins(&mut self, ip: &[u8], flow: u64) -> bool {
        self.read(ip, flow).unwrap_or(false)
    }

    fn read(&mut self, ip: &[u8], flow: u64) -> Option<bool> {
        let parts = Parts::of(ip).filter(|parts| !parts.fragment)?;
        let segment = ip.get(parts.payload..parts.end.min(ip.len()))?;
        match parts.protocol {
            UDP => Some(has_0rtt(segment.get(8..)?)),
            TCP => {
                let data = segment.get(usize::from(segment.get(12)? >> 4) * 4..)?;
                if data.is_empty() {
                    return Some(false);
                }
                if self.flights.len() >= MOST_FLOWS && !self.flights.contains_key(&flow) {
                    return None;
                }
                let flight = self.flights.entry(flow).or_default();
                flight.take(segment, data)
            }
            _ => None,
        }
    }
}

impl Flight {
    fn take(&mut self, segment: &[u8], data: &[u8]) -> Option<bool> {
        if self.over {
            return Some(false);
        }
        let syn = segment.get(13)? & SYN != 0;
        let sequence = word(segment, 4)?.wrapping_add(u32::from(syn));
        if !syn {
            // What Fast Open sends with the SYN acknowledges nothing.
            let acknowledged = word(segment, 8)?;
            self.over = *self.acknowledged.get_or_insert(acknowledged) != acknowledged;
        }
        if self.bytes.is_empty() {
            self.start = sequence;
        }
        let at = sequence.wrapping_sub(self.start) as usize;
        self.over |= at > MOST_FLIGHT;
        if self.over || at > self.bytes.len() {
            return Some(false); // a gap: what was lost comes again
        }
        let new = data.get(self.bytes.len() - at..).unwrap_or_default();
        let before = encrypted(&self.bytes);
        self.bytes.extend(new);
        self.over = self.bytes.first() != Some(&HANDSHAKE);
        let begun = encrypted(&self.bytes) > before;
        if self.over {
            self.bytes = Vec::new();
        }
        Some(begun)
    }
}

/// Number of encrypted records that begin after the ClientHello in a client's flight.
fn encrypted(mut flight: &[u8]) -> usize {
    let mut count = 0;
    if flight.first() != Some(&HANDSHAKE) {
        return 0;
    }
    while let Some(&[kind, _, _, high, low]) = flight.first_chunk::<RECORD_HEADER>() {
        count += usize::from(kind == ENCRYPTED);
        let length = RECORD_HEADER + usize::from(u16::from_be_bytes([high, low]));
        flight = flight.get(length..).unwrap_or_default();
    }
    count
}

/// Whether a UDP payload has a 0-RTT packet in it; Initial packets before it are passed over.
fn has_0rtt(datagram: &[u8]) -> bool {
    let mut rest = datagram;
    while let Some((kind, length)) = long_packet(rest) {
        if kind == Kind::ZeroRtt {
            return true;
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    false
}

#[derive(PartialEq)]
enum Kind {
    ZeroRtt,
    Other,
}

/// Kind and length of a packet with a long header (RFC 9000 section 17.2). None for anything else.
fn long_packet(bytes: &[u8]) -> Option<(Kind, usize)> {
    const LONG_AND_FIXED: u8 = 0b1100_0000;
    let first = *bytes.first()?;
    let version = word(bytes, 1)?;
    if first & LONG_AND_FIXED != LONG_AND_FIXED || !matches!(version, QUIC_1 | QUIC_2) {
        return None;
    }
    // Types 0 to 3 are Initial, 0-RTT, Handshake and Retry; version 2 has them one further.
    let kind = (first >> 4 & 0b11).wrapping_sub(u8::from(version == QUIC_2)) & 0b11;
    let mut at = 5;
    for _ in 0..2 {
        let length = usize::from(*bytes.get(at)?);
        if length > MOST_ID {
            return None;
        }
        at += 1 + length;
    }
    if kind == 0 {
        let (token, after) = variable(bytes, at)?;
        at = after.checked_add(token)?;
    } else if kind == 3 {
        return None;
    }
    let (length, after) = variable(bytes, at)?;
    let kind = if kind == 1 {
        Kind::ZeroRtt
    } else {
        Kind::Other
    };
    Some((kind, after.checked_add(length)?))
}

/// Reads a variable-length integer (RFC 9000 section 16); returns the value and where it ends.
fn variable(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let first = *bytes.get(at)?;
    let length = 1usize << (first >> 6);
    let rest = bytes.get(at + 1..at + length)?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |sum, &byte| {
        sum << 8 | u64::from(byte)
    });
    Some((usize::try_from(value).ok()?, at + length))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let found = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(found.try_into().ok()?))
}

#[cfg(test)]
#[path = "early_tests.rs"]
mod tests;

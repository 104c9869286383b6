//! Chooses the size of the TLS records of answers over TCP, and measures their real sizes.
//!
//! A client can read nothing of a record before all of it has arrived. A record of 16 KB does not
//! fit the first flight of ten packets, so it costs a round trip. Small records avoid that, and
//! cost 22 bytes each.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::lock::unpoisoned;

/// Most plaintext of a record: RFC 8446 section 5.1.
pub const LARGEST: u16 = 16 * 1024;
/// The least useful size: a TLS 1.3 record has 22 bytes of overhead.
const LEAST: u16 = 256;

/// Dynamic sizes begin with records that fit a packet, for 40 records, then a few packets, for 40
/// records, then full ones; after a second without sending they begin again. Numbers: Cloudflare's
/// patch for nginx (github.com/cloudflare/sslconfig, nginx__dynamic_tls_records.patch); Google's
/// servers, H2O, nghttpx and Go do much the same.
pub const SMALL: u16 = 1369;
const MEDIUM: u16 = 4229;
const EACH: u32 = 40;
const IDLE: Duration = Duration::from_secs(1);

/// Plaintext bytes of a record: the same number in each record, or growing. In JSON a number or
/// `"dynamic"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Records {
    Fixed(u16),
    Dynamic,
}

impl Default for Records {
    fn default() -> Self {
        Self::Fixed(LARGEST)
    }
}

impl Records {
    pub(crate) fn check(self) -> Result<()> {
        if let Self::Fixed(bytes) = self {
            ensure!(
                (LEAST..=LARGEST).contains(&bytes),
                "tune.tls.records: {bytes} is not between {LEAST} and {LARGEST}"
            );
        }
        Ok(())
    }
}

impl Serialize for Records {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(bytes) => to.serialize_u16(*bytes),
            Self::Dynamic => to.serialize_str("dynamic"),
        }
    }
}

impl<'de> Deserialize<'de> for Records {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Bytes(u16),
            Word(String),
        }
        match Given::deserialize(from) {
            Ok(Given::Bytes(bytes)) => Ok(Self::Fixed(bytes)),
            Ok(Given::Word(word)) if word == "dynamic" => Ok(Self::Dynamic),
            _ => Err(de::Error::custom("expected bytes or \"dynamic\"")),
        }
    }
}

/// Chooses the size of each record of a connection.
pub(crate) struct Sizer {
    policy: Records,
    sent: u32,
    last: Option<Instant>,
}

impl Sizer {
    pub fn new(policy: Records) -> Self {
        Self {
            policy,
            sent: 0,
            last: None,
        }
    }

    /// Returns the most plaintext bytes of the record that is made now.
    pub fn next(&mut self, now: Instant) -> usize {
        if self.idle(now) {
            self.sent = 0;
        }
        let size = self.size(self.sent);
        self.sent = self.sent.saturating_add(1);
        self.last = Some(now);
        size
    }

    /// Returns the size of the next record, without making one.
    pub fn next_size(&self, now: Instant) -> usize {
        self.size(if self.idle(now) { 0 } else { self.sent })
    }

    fn idle(&self, now: Instant) -> bool {
        self.last.is_some_and(|last| now - last > IDLE)
    }

    fn size(&self, sent: u32) -> usize {
        let bytes = match (self.policy, sent) {
            (Records::Fixed(bytes), _) => bytes,
            (Records::Dynamic, 0..EACH) => SMALL,
            (Records::Dynamic, n) if n < 2 * EACH => MEDIUM,
            (Records::Dynamic, _) => LARGEST,
        };
        bytes.into()
    }
}

/// The records in which a connection's answers left, as read from the bytes that went to the
/// socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Number of records.
    #[serde(rename = "tls_records")]
    pub count: u64,
    /// Plaintext bytes of the largest of the first 40 records.
    #[serde(rename = "tls_early_record_bytes")]
    pub early: u64,
    /// Plaintext bytes of the largest of all records.
    #[serde(rename = "tls_largest_record_bytes")]
    pub largest: u64,
}

/// Counts records in what goes to the socket. The handshake's records do not count.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    sent: Sent,
    /// Bytes of each record that are not plaintext, beyond its header; None before the handshake is
    /// through.
    overhead: Option<u64>,
    header: Vec<u8>,
    /// Bytes of the current record's payload that are still missing.
    left: usize,
}

const HEADER: usize = 5;
const APPLICATION_DATA: u8 = 23;

impl Meter {
    /// Marks that only answers and alerts follow. TLS 1.3 adds a tag of 16 bytes and the type, TLS
    /// 1.2 with GCM a nonce of 8 bytes and a tag.
    pub fn answers_begin(&self, tls13: bool) {
        let overhead = if tls13 { 17 } else { 24 };
        unpoisoned(&self.0).overhead.get_or_insert(overhead);
    }

    /// Counts bytes that went to the socket.
    pub fn saw(&self, mut bytes: &[u8]) {
        let mut state = unpoisoned(&self.0);
        while !bytes.is_empty() {
            if state.left > 0 {
                let skipped = state.left.min(bytes.len());
                state.left -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            let taken = (HEADER - state.header.len()).min(bytes.len());
            state.header.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if state.header.len() == HEADER {
                state.record();
            }
        }
    }

    pub fn sent(&self) -> Sent {
        unpoisoned(&self.0).sent
    }
}

impl State {
    /// Handles the header of a record, which is complete.
    fn record(&mut self) {
        let kind = self.header[0];
        let length = u16::from_be_bytes([self.header[3], self.header[4]]);
        self.header.clear();
        self.left = length.into();
        let Some(overhead) = self.overhead.filter(|_| kind == APPLICATION_DATA) else {
            return;
        };
        let plaintext = u64::from(length).saturating_sub(overhead);
        self.sent.count += 1;
        if self.sent.count <= EACH.into() {
            self.sent.early = self.sent.early.max(plaintext);
        }
        self.sent.largest = self.sent.largest.max(plaintext);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamic_records_grow_and_begin_again_after_a_pause() {
        let mut sizer = Sizer::new(Records::Dynamic);
        let start = Instant::now();
        let mut sizes: Vec<usize> = (0..100).map(|_| sizer.next(start)).collect();
        sizes.dedup();
        assert_eq!(sizes, [1369, 4229, 16384]);
        assert_eq!(sizer.next(start + IDLE), 16384);
        assert_eq!(sizer.next(start + 3 * IDLE), 1369);
    }

    #[test]
    fn a_meter_reads_records_however_the_bytes_are_cut() {
        let record = |kind: u8, length: u16| {
            let [high, low] = length.to_be_bytes();
            let mut bytes = vec![kind, 3, 3, high, low];
            bytes.resize(HEADER + usize::from(length), 23);
            bytes
        };
        let handshake = [record(22, 90), record(23, 1000)].concat();
        let answers = [record(23, 1386), record(21, 19), record(23, 16401)].concat();
        for cut in [1, 3, 5, 6, 1000, 20_000] {
            let meter = Meter::default();
            handshake.chunks(cut).for_each(|part| meter.saw(part));
            meter.answers_begin(true);
            answers.chunks(cut).for_each(|part| meter.saw(part));
            let sent = Sent {
                count: 2,
                early: 16384,
                largest: 16384,
            };
            assert_eq!(meter.sent(), sent, "cut into {cut}");
        }
    }

    #[test]
    fn a_policy_is_bytes_or_a_word() {
        let read = |text: &str| serde_json::from_str::<Records>(text);
        assert_eq!(read("4096").unwrap(), Records::Fixed(4096));
        assert_eq!(read("\"dynamic\"").unwrap(), Records::Dynamic);
        assert!(read("\"small\"").is_err());
        assert!(Records::Fixed(255).check().is_err());
        assert!(Records::Fixed(16385).check().is_err());
    }
}

//! A QPACK encoder that decides as Chromium's does (quiche, qpack_encoder.cc).
//!
//! A field that is in no table is inserted and then referenced, if the table has room that no
//! unacknowledged section needs, and if the number of streams that can block stays below the peer's
//! limit.

use std::collections::{HashMap, VecDeque};

use shiguredo_http3::qpack::huffman;
use shiguredo_http3::qpack::integer::encode_integer_to_vec as integer;
use shiguredo_http3::qpack::{DecoderInstruction, DynamicTable, Header, find_static_entry};

use crate::offer::Offer;

/// Bytes that an entry counts in addition to its name and value (RFC 9204 section 3.2.1).
const ENTRY_OVERHEAD: u64 = 32;

/// Share of the table that counts as its oldest part. Entries there are copied to the front before
/// a section refers to them.
const DRAINING: f64 = 0.25;

#[derive(Default)]
pub(crate) struct Encoder {
    table: DynamicTable,
    peer: Offer,
    /// Number of insertions that the peer has acknowledged.
    received: u64,
    /// Sections that are not acknowledged yet, by stream.
    sections: HashMap<u64, VecDeque<Section>>,
    /// Instructions that were not sent yet.
    pub instructions: Vec<u8>,
}

/// The references of a section that was not acknowledged yet.
struct Section {
    /// Insertions that the peer must have received before it can read the section.
    required: u64,
    /// The oldest entry to which the section refers.
    oldest: u64,
}

/// How a field is represented in a section. Dynamic entries have their absolute index.
enum Line<'a> {
    Static(usize),
    Dynamic(u64),
    StaticName(usize, &'a [u8]),
    DynamicName(u64, &'a [u8]),
    Literal(&'a [u8], &'a [u8]),
}

impl Encoder {
    /// Handles the peer's offer of a table, of which we use at most `limit` bytes.
    pub fn offered(&mut self, peer: Offer, limit: u64) {
        if self.peer == peer {
            return;
        }
        let capacity = peer.table_bytes.min(limit);
        self.peer = peer;
        if capacity > 0 && capacity != self.table.max_capacity() {
            self.table.set_capacity(capacity);
            integer(&mut self.instructions, capacity, 5, 0x20);
        }
    }

    /// Whether there is a table that may be used.
    pub fn is_on(&self) -> bool {
        self.table.max_capacity() > 0
    }

    pub fn inserted(&self) -> u64 {
        self.table.insert_count()
    }

    /// Encodes the section of `stream`. The insertions that it needs are in `instructions`.
    pub fn encode(&mut self, stream: u64, fields: &[Header]) -> Vec<u8> {
        let may_block = self.may_block(stream);
        let mut oldest = self.oldest_in_use();
        let mut section = Section {
            required: 0,
            oldest: u64::MAX,
        };
        let crumbs = crumbled(fields);
        let mut lines = Vec::with_capacity(crumbs.len());
        for (name, value) in &crumbs {
            let line = self.line(name, value, may_block, &mut oldest);
            if let Line::Dynamic(index) | Line::DynamicName(index, _) = line {
                section.required = section.required.max(index + 1);
                section.oldest = section.oldest.min(index);
            }
            lines.push(line);
        }
        let encoded = self.section(section.required, &lines);
        if section.required > 0 {
            self.sections.entry(stream).or_default().push_back(section);
        }
        encoded
    }

    /// Chooses a field's representation, and inserts it where the table allows.
    fn line<'a>(
        &mut self,
        name: &'a [u8],
        value: &'a [u8],
        may_block: bool,
        oldest: &mut u64,
    ) -> Line<'a> {
        let (exact, static_name) = find_static_entry(name, value);
        if let Some(index) = exact {
            return Line::Static(index);
        }
        let (exact, dynamic_name) = self.table.find_entry(name, value);
        let known = |index: u64| may_block || index < self.received;
        let draining = self.draining();
        if let Some(index) = exact {
            if !known(index) {
                return Line::Literal(name, value);
            }
            if index >= draining {
                *oldest = (*oldest).min(index);
                return Line::Dynamic(index);
            }
            if may_block && self.has_room(name, value, (*oldest).min(index)) {
                let relative = self.table.insert_count() - 1 - index;
                integer(&mut self.instructions, relative, 5, 0x00);
                return self.insert(name, value, oldest);
            }
            return Line::Literal(name, value);
        }
        if let Some(index) = static_name {
            if may_block && self.has_room(name, value, *oldest) {
                integer(&mut self.instructions, index as u64, 6, 0xc0);
                string(&mut self.instructions, value, 7, 0x00);
                return self.insert(name, value, oldest);
            }
            return Line::StaticName(index, value);
        }
        if let Some(index) = dynamic_name {
            if may_block && self.has_room(name, value, (*oldest).min(index)) {
                let relative = self.table.insert_count() - 1 - index;
                integer(&mut self.instructions, relative, 6, 0x80);
                string(&mut self.instructions, value, 7, 0x00);
                return self.insert(name, value, oldest);
            }
            if known(index) && index >= draining {
                *oldest = (*oldest).min(index);
                return Line::DynamicName(index, value);
            }
            return Line::Literal(name, value);
        }
        if may_block && self.has_room(name, value, *oldest) {
            string(&mut self.instructions, name, 5, 0x40);
            string(&mut self.instructions, value, 7, 0x00);
            return self.insert(name, value, oldest);
        }
        Line::Literal(name, value)
    }

    fn insert<'a>(&mut self, name: &'a [u8], value: &'a [u8], oldest: &mut u64) -> Line<'a> {
        let index = self.table.insert(name.to_vec(), value.to_vec());
        let index = index.expect("has_room said that it fits");
        *oldest = (*oldest).min(index);
        Line::Dynamic(index)
    }

    /// Whether a field fits without evicting `keep` or anything newer.
    fn has_room(&self, name: &[u8], value: &[u8], keep: u64) -> bool {
        let size = (name.len() + value.len()) as u64 + ENTRY_OVERHEAD;
        let newer = self
            .table
            .iter()
            .filter(|entry| entry.absolute_index >= keep);
        let kept: u64 = newer.map(shiguredo_http3::DynamicEntry::size).sum();
        kept + size <= self.table.max_capacity()
    }

    /// Entries older than this are too close to eviction to be referenced.
    fn draining(&self) -> u64 {
        let wanted = (self.table.max_capacity() as f64 * DRAINING) as u64;
        let mut free = self.table.max_capacity() - self.table.current_size();
        let mut first = self.table.dropped_count();
        while free < wanted {
            let Some(entry) = self.table.get_by_absolute_index(first) else {
                break;
            };
            free += entry.size();
            first += 1;
        }
        first
    }

    fn oldest_in_use(&self) -> u64 {
        let sections = self.sections.values().flatten();
        sections
            .map(|section| section.oldest)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Whether the section of `stream` may have to wait for insertions.
    fn may_block(&self, stream: u64) -> bool {
        let blocking = |sections: &VecDeque<Section>| {
            let mut sections = sections.iter();
            sections.any(|section| section.required > self.received)
        };
        if self.sections.get(&stream).is_some_and(blocking) {
            return true;
        }
        let blocked = self.sections.values().filter(|it| blocking(it)).count() as u64;
        blocked < self.peer.blocked_streams
    }

    /// Handles instructions of the peer's decoder. False if they cannot be true.
    #[must_use]
    pub fn told(&mut self, told: DecoderInstruction) -> bool {
        match told {
            DecoderInstruction::SectionAcknowledgment { stream_id } => {
                let Some(sections) = self.sections.get_mut(&stream_id) else {
                    return false;
                };
                let Some(section) = sections.pop_front() else {
                    return false;
                };
                if sections.is_empty() {
                    self.sections.remove(&stream_id);
                }
                self.received = self.received.max(section.required);
            }
            DecoderInstruction::StreamCancellation { stream_id } => {
                self.sections.remove(&stream_id);
            }
            DecoderInstruction::InsertCountIncrement { increment } => {
                self.received = self.received.saturating_add(increment);
            }
        }
        self.received <= self.table.insert_count()
    }

    /// RFC 9204 section 4.5. The base is always the required insert count.
    fn section(&self, required: u64, lines: &[Line]) -> Vec<u8> {
        let mut out = Vec::new();
        let range = 2 * (self.peer.table_bytes / ENTRY_OVERHEAD);
        let told = if required == 0 {
            0
        } else {
            required % range + 1
        };
        integer(&mut out, told, 8, 0x00);
        integer(&mut out, 0, 7, 0x00);
        for line in lines {
            match *line {
                Line::Static(index) => integer(&mut out, index as u64, 6, 0xc0),
                Line::Dynamic(index) => integer(&mut out, required - 1 - index, 6, 0x80),
                Line::StaticName(index, value) => {
                    integer(&mut out, index as u64, 4, 0x50);
                    string(&mut out, value, 7, 0x00);
                }
                Line::DynamicName(index, value) => {
                    integer(&mut out, required - 1 - index, 4, 0x40);
                    string(&mut out, value, 7, 0x00);
                }
                Line::Literal(name, value) => {
                    string(&mut out, name, 3, 0x20);
                    string(&mut out, value, 7, 0x00);
                }
            }
        }
        out
    }
}

/// Returns the fields, with each `cookie` cut into its crumbs.
fn crumbled(fields: &[Header]) -> Vec<(&[u8], &[u8])> {
    let mut all = Vec::with_capacity(fields.len());
    for field in fields {
        if field.name() != b"cookie" {
            all.push((field.name(), field.value()));
            continue;
        }
        for crumb in field.value().split(|byte| *byte == b';') {
            let crumb = crumb.strip_prefix(b" ").unwrap_or(crumb);
            all.push((field.name(), crumb));
        }
    }
    all
}

/// A string literal whose length has a prefix of `bits`; the bit above it says Huffman.
fn string(out: &mut Vec<u8>, text: &[u8], bits: u8, prefix: u8) {
    let length = huffman::encoded_len(text);
    if length < text.len() {
        integer(out, length as u64, bits, prefix | 1 << bits);
        let start = out.len();
        out.resize(start + length, 0);
        huffman::encode(&mut out[start..], text).expect("made as long as that takes");
    } else {
        integer(out, text.len() as u64, bits, prefix);
        out.extend_from_slice(text);
    }
}

#[cfg(test)]
#[path = "encoder_tests.rs"]
mod tests;

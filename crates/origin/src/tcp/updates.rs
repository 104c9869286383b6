//! Finds PRIORITY_UPDATE frames (RFC 9218 section 7.1) among those that an h2 client sends: the h2
//! library drops them.

use std::sync::{Arc, Mutex};

use h2::Reason;

use crate::lock::unpoisoned;
use crate::priority::Priority;
use crate::reprioritise::Requests;
use crate::tcp::frame::{HEADER, PREFACE};

const PRIORITY_UPDATE: u8 = 0x10;
const STREAM_ID: usize = 4;
/// The h2 library ends a connection with a longer frame (RFC 9113 section 4.2).
const LONGEST: usize = 1 << 14;

/// The effects of a connection's updates since the last call. Clones share it.
#[derive(Clone)]
pub(crate) struct Updates {
    pub requests: Requests,
    news: Arc<Mutex<News>>,
}

#[derive(Default)]
pub(crate) struct News {
    /// Open requests whose priority the client changed.
    pub changed: Vec<u64>,
    /// Why the connection ends, if the client broke the rules.
    pub broken: Option<Reason>,
}

impl Updates {
    pub fn new(requests: Requests) -> Self {
        Self {
            requests,
            news: Arc::default(),
        }
    }

    pub fn news(&self) -> News {
        std::mem::take(&mut unpoisoned(&self.news))
    }

    fn hear(&self, stream: &[u8], payload: &[u8]) {
        match self.update(stream, payload) {
            Ok(Some(nth)) => unpoisoned(&self.news).changed.push(nth),
            Ok(None) => {}
            Err(reason) => unpoisoned(&self.news).broken = Some(reason),
        }
    }

    /// Handles one update; returns the open request that the update is about.
    fn update(&self, stream: &[u8], payload: &[u8]) -> Result<Option<u64>, Reason> {
        if stream != [0; STREAM_ID] {
            return Err(Reason::PROTOCOL_ERROR);
        }
        let (id, value) = payload
            .split_first_chunk::<STREAM_ID>()
            .ok_or(Reason::FRAME_SIZE_ERROR)?;
        let id = u32::from_be_bytes(*id) & (u32::MAX >> 1);
        if id % 2 == 0 {
            return Err(Reason::PROTOCOL_ERROR); // the connection itself, or a push that never was
        }
        let nth = u64::from(id / 2);
        match self.requests.update(nth, Priority::of_value(value)) {
            Ok(open) => Ok(open.then_some(nth)),
            Err(_) => Err(Reason::PROTOCOL_ERROR),
        }
    }
}

/// Reads the frames of a client as they pass, whatever the pieces they come in.
pub(crate) struct Reader {
    updates: Updates,
    /// The header of the frame that passes, as far as it came.
    header: Vec<u8>,
    /// The payload of an update, as far as it came.
    payload: Vec<u8>,
    /// Bytes of the payload still to come; at first those of the preface.
    left: usize,
}

impl Reader {
    pub fn new(updates: Updates) -> Self {
        Self {
            updates,
            header: Vec::with_capacity(HEADER),
            payload: Vec::new(),
            left: PREFACE,
        }
    }

    /// Reads bytes that passed by.
    pub fn saw(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (passed, rest) = bytes.split_at(self.left.min(bytes.len()));
            self.left -= passed.len();
            if self.header.get(3) == Some(&PRIORITY_UPDATE) {
                self.payload.extend_from_slice(passed);
            }
            if self.left > 0 {
                return;
            }
            self.end();
            let (begun, rest) = rest.split_at((HEADER - self.header.len()).min(rest.len()));
            self.header.extend_from_slice(begun);
            bytes = rest;
            if let Ok(&[a, b, c, ..]) = <&[u8; HEADER]>::try_from(&self.header[..]) {
                self.left = u32::from_be_bytes([0, a, b, c]) as usize;
                if self.left > LONGEST {
                    self.header[3] = !PRIORITY_UPDATE;
                }
                if self.left == 0 {
                    self.end();
                }
            }
        }
    }

    /// Handles the frame if it is complete.
    fn end(&mut self) {
        if self.header.len() < HEADER {
            return;
        }
        if self.header[3] == PRIORITY_UPDATE {
            self.updates.hear(&self.header[5..], &self.payload);
        }
        self.header.clear();
        self.payload.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PREFACE_BYTES: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    fn frame(kind: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u32).to_be_bytes();
        [&length[1..], &[kind, 0, 0, 0, 0, stream], payload].concat()
    }

    fn update(stream: u8, value: &[u8]) -> Vec<u8> {
        frame(PRIORITY_UPDATE, 0, &[&[0, 0, 0, stream], value].concat())
    }

    /// What is new after these frames, which come in pieces of `cut` bytes, with requests 0 and 1 open.
    fn news(frames: &[Vec<u8>], cut: usize) -> (News, Updates) {
        let updates = Updates::new(Requests::new(3));
        let mut reader = Reader::new(updates.clone());
        for nth in 0..2 {
            std::mem::forget(updates.requests.begin(nth, Priority::default()));
        }
        let bytes = [PREFACE_BYTES.to_vec(), frames.concat()].concat();
        bytes.chunks(cut).for_each(|piece| reader.saw(piece));
        (updates.news(), updates)
    }

    proptest! {
        #[test]
        fn updates_are_found_however_the_bytes_are_cut(
            others in prop::collection::vec((0_u8..10, prop::collection::vec(any::<u8>(), 0..40)), 0..5),
            cut in 1_usize..60,
        ) {
            let others: Vec<_> = others.iter().map(|(kind, data)| frame(*kind, 3, data)).collect();
            let frames = [others.clone(), vec![update(3, b"u=0")], others, vec![update(5, b"i")]];
            let (news, updates) = news(&frames.concat(), cut);
            prop_assert_eq!(&news.changed, &[1]);
            prop_assert_eq!(news.broken, None);
            let begun = updates.requests.begin(2, Priority::default());
            prop_assert_eq!(begun.asked(), Priority::of_value(b"i"), "it came before its request");
        }
    }

    #[test]
    fn what_breaks_the_rules_ends_the_connection() {
        for (broken, reason) in [
            (
                frame(PRIORITY_UPDATE, 1, &[0, 0, 0, 1]),
                Reason::PROTOCOL_ERROR,
            ),
            (
                frame(PRIORITY_UPDATE, 0, &[0, 0, 1]),
                Reason::FRAME_SIZE_ERROR,
            ),
            (frame(PRIORITY_UPDATE, 0, &[]), Reason::FRAME_SIZE_ERROR),
            (update(0, b"u=1"), Reason::PROTOCOL_ERROR),
            (update(2, b"u=1"), Reason::PROTOCOL_ERROR),
            (
                [update(9, b""), update(11, b"")].concat(),
                Reason::PROTOCOL_ERROR,
            ),
        ] {
            assert_eq!(news(&[broken], 7).0.broken, Some(reason));
        }
    }

    #[test]
    fn a_value_that_cannot_be_read_is_no_error() {
        let (news, updates) = news(&[update(1, b"\xffu=;=,")], 5);
        assert_eq!((news.changed, news.broken), (vec![0], None));
        assert_eq!(
            updates.requests.begin(0, Priority::default()).asked(),
            Priority::default()
        );
    }
}

//! Reads offers, and updates of priorities, from the passing frames of an h2 connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::offers::{Heard, Offer};
use crate::tcp::frame::{HEADER, PREFACE};
use crate::tcp::updates::{self, Updates};

const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const SETTINGS: u8 = 0x4;
const WINDOW_UPDATE: u8 = 0x8;
const ACK: u8 = 0x1;
const MAX_CONCURRENT_STREAMS: u64 = 0x3;
const INITIAL_WINDOW_SIZE: u64 = 0x4;

/// The window of a new connection (RFC 9113 section 6.9.2).
const FIRST_WINDOW: u64 = 65_535;

/// A stream of h2 whose frames are read as they pass: the first ones of each direction, and all of
/// the client's where priorities are obeyed.
pub(crate) struct Watched<S> {
    stream: S,
    heard: Heard,
    updates: Option<updates::Reader>,
    sent: Beginning,
    received: Beginning,
}

impl<S> Watched<S> {
    pub fn new(stream: S, heard: Heard, updates: Option<Updates>) -> Self {
        Self {
            stream,
            heard,
            updates: updates.map(updates::Reader::new),
            sent: Beginning::new(0),
            received: Beginning::new(PREFACE),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
        let passed = &buffer.filled()[before..];
        this.received.saw(passed);
        if let Some(updates) = &mut this.updates {
            updates.saw(passed);
        }
        if let Some(offer) = this.received.told() {
            this.heard.theirs(offer);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write_vectored(cx, slices))?;
        let mut left = written;
        for slice in slices {
            let part = left.min(slice.len());
            left -= part;
            this.sent.saw(&slice[..part]);
        }
        if let Some(offer) = this.sent.told() {
            this.heard.ours(offer);
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// The frames of one direction, up to the first frame that carries a message.
struct Beginning {
    offer: Option<Offer>,
    /// Bytes that passed and were not read yet; None once a frame with a message came.
    unread: Option<Vec<u8>>,
    /// Bytes that are still to come before the first frame.
    preface: usize,
}

impl Beginning {
    fn new(preface: usize) -> Self {
        Self {
            offer: None,
            unread: Some(Vec::new()),
            preface,
        }
    }

    /// Returns the offer, once nothing can be added to it before the first message.
    fn told(&self) -> Option<Offer> {
        self.offer.filter(|_| self.unread.is_none())
    }

    /// Reads bytes that passed by.
    fn saw(&mut self, bytes: &[u8]) {
        let skipped = self.preface.min(bytes.len());
        self.preface -= skipped;
        let Some(mut unread) = self.unread.take() else {
            return;
        };
        unread.extend_from_slice(&bytes[skipped..]);
        let mut rest = &unread[..];
        while let Some((header, after)) = rest.split_first_chunk::<HEADER>() {
            if [DATA, HEADERS].contains(&header[3]) {
                return;
            }
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
            let Some((payload, next)) = after.split_at_checked(length) else {
                break;
            };
            let of_connection = header[5..] == [0; 4];
            match header[3] {
                SETTINGS if header[4] & ACK == 0 => self.settings(payload),
                WINDOW_UPDATE if of_connection => self.more(payload),
                _ => {}
            }
            rest = next;
        }
        let read = unread.len() - rest.len();
        unread.drain(..read);
        self.unread = Some(unread);
    }

    fn settings(&mut self, payload: &[u8]) {
        let offer = self.offer.get_or_insert(Offer {
            window_bytes: FIRST_WINDOW,
            stream_window_bytes: FIRST_WINDOW,
            streams: None,
            migration: None,
            idle_ms: None,
        });
        for setting in payload.chunks_exact(6) {
            let value = number(&setting[2..]);
            match number(&setting[..2]) {
                INITIAL_WINDOW_SIZE => offer.stream_window_bytes = value,
                MAX_CONCURRENT_STREAMS => offer.streams = Some(value),
                _ => {}
            }
        }
    }

    fn more(&mut self, payload: &[u8]) {
        if let Some(offer) = &mut self.offer {
            offer.window_bytes += number(payload);
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, &byte| n << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let head = [0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
        [&head, payload].concat()
    }

    proptest! {
        #[test]
        fn an_offer_is_read_however_the_bytes_are_cut(cut in 1_usize..200) {
            let passed = [
                PREFACE_BYTES.to_vec(),
                frame(SETTINGS, 0, 0, &[0, 1, 0, 1, 0, 0, 0, 3, 0, 0, 0, 100, 0, 4, 0, 0x60, 0, 0]),
                frame(WINDOW_UPDATE, 0, 0, &[0, 0xef, 0, 1]),
                frame(WINDOW_UPDATE, 0, 3, &[0, 0, 0, 9]),
                frame(SETTINGS, ACK, 0, &[]),
                frame(HEADERS, 4, 1, &[1; 40]),
                frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 7]),
            ];
            let mut beginning = Beginning::new(PREFACE_BYTES.len());
            passed.concat().chunks(cut).for_each(|part| beginning.saw(part));
            let offer = Offer {
                window_bytes: 15 << 20,
                stream_window_bytes: 6 << 20,
                streams: Some(100),
                migration: None,
                idle_ms: None,
            };
            prop_assert_eq!(beginning.told(), Some(offer));
        }
    }

    const PREFACE_BYTES: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    #[test]
    fn an_offer_is_known_once_it_is_complete() {
        let mut beginning = Beginning::new(0);
        beginning.saw(&frame(SETTINGS, 0, 0, &[]));
        assert_eq!(beginning.told(), None);
        beginning.saw(&frame(HEADERS, 4, 1, &[1; 40])[..HEADER]);
        assert_eq!(beginning.told().unwrap().window_bytes, FIRST_WINDOW);
    }

    #[test]
    fn without_settings_there_is_no_offer() {
        let mut beginning = Beginning::new(0);
        beginning.saw(&frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 9]));
        beginning.saw(&frame(HEADERS, 4, 1, &[1; 40]));
        assert_eq!(beginning.told(), None);
        assert_eq!(PREFACE_BYTES.len(), PREFACE);
    }
}

//! The priorities of RFC 7540, which Chromium still sends with every request and the h2 library does not.
//!
//! They are put into HEADERS frames on their way out: an exclusive dependency on the newest open stream
//! that is at least as urgent, as Chromium's Http2PriorityDependencies has it, and a weight.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const PREFACE: usize = 24; // RFC 9113 section 3.4
const FRAME_HEADER: usize = 9; // section 4.1
const HEADERS: u8 = 1; // section 6.2
const PRIORITY_FLAG: u8 = 0x20;
const PRIORITY_BYTES: u32 = 5;
const EXCLUSIVE: u32 = 1 << 31;
/// Payload of the largest frame that needs no permission of the peer.
const LARGEST_FRAME: u32 = 16_384;
/// Bytes that may wait for the connection below.
const BUFFER: usize = 64 * 1024;

/// The open streams of one connection, in the order in which they were opened.
#[derive(Clone, Default)]
pub(super) struct Streams(Rc<RefCell<Vec<Open>>>);

struct Open {
    stream: u32,
    weight: u16,
    /// Stream on which this one depends; 0 is the root.
    parent: u32,
}

impl Streams {
    /// Registers a stream. The caller does this before the stream's HEADERS frame leaves.
    pub fn opened(&self, stream: u32, weight: u16) {
        let mut open = self.0.borrow_mut();
        let urgent = open.iter().filter(|other| other.weight >= weight);
        // The parent is the last stream of the least urgent class that is still urgent enough.
        let parent = urgent.min_by_key(|other| (other.weight, u32::MAX - other.stream));
        let parent = parent.map_or(0, |other| other.stream);
        open.push(Open {
            stream,
            weight,
            parent,
        });
    }

    pub fn closed(&self, stream: u32) {
        self.0.borrow_mut().retain(|open| open.stream != stream);
    }

    fn priority(&self, stream: u32) -> Option<[u8; PRIORITY_BYTES as usize]> {
        let open = self.0.borrow();
        let open = open.iter().find(|open| open.stream == stream)?;
        let [a, b, c, d] = (EXCLUSIVE | open.parent).to_be_bytes();
        Some([a, b, c, d, (open.weight - 1) as u8])
    }
}

/// A connection of HTTP/2 whose requests get their priorities.
pub(super) struct Weighted<S> {
    below: S,
    frames: Frames,
    /// Bytes that are ready to leave.
    out: Out,
    written: usize,
}

/// What leaves, and where in it a HEADERS frame begins. Chromium writes each by itself, so each
/// request travels in a separate packet.
#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    requests: Vec<usize>,
}

impl<S> Weighted<S> {
    pub fn new(below: S, streams: Streams) -> Self {
        Self {
            below,
            frames: Frames::new(streams),
            out: Out::default(),
            written: 0,
        }
    }
}

/// Finds the frames in the bytes that are written.
struct Frames {
    streams: Streams,
    header: Vec<u8>,
    /// Bytes still to pass on as they are.
    pass: usize,
}

impl Frames {
    fn new(streams: Streams) -> Self {
        Self {
            streams,
            header: Vec::with_capacity(FRAME_HEADER),
            pass: PREFACE,
        }
    }

    fn push(&mut self, mut bytes: &[u8], out: &mut Out) {
        while !bytes.is_empty() {
            let passed = self.pass.min(bytes.len());
            out.bytes.extend_from_slice(&bytes[..passed]);
            self.pass -= passed;
            bytes = &bytes[passed..];
            let taken = (FRAME_HEADER - self.header.len()).min(bytes.len());
            self.header.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.header.len() == FRAME_HEADER {
                self.frame(out);
            }
        }
    }

    fn frame(
        &mut self,
        Out {
            bytes: out,
            requests,
        }: &mut Out,
    ) {
        let header = std::mem::take(&mut self.header);
        let &[a, b, c, kind, flags, ref id @ ..] = &header[..] else {
            return;
        };
        let length = u32::from_be_bytes([0, a, b, c]);
        self.pass = length as usize;
        if kind == HEADERS {
            requests.push(out.len());
        }
        let stream = id.try_into().map_or(0, u32::from_be_bytes);
        let fits = length + PRIORITY_BYTES <= LARGEST_FRAME;
        let lacks = kind == HEADERS && flags & PRIORITY_FLAG == 0 && fits;
        if let Some(priority) = self.streams.priority(stream).filter(|_| lacks) {
            out.extend_from_slice(&(length + PRIORITY_BYTES).to_be_bytes()[1..]);
            out.extend_from_slice(&[kind, flags | PRIORITY_FLAG]);
            out.extend_from_slice(id);
            out.extend_from_slice(&priority);
        } else {
            out.extend_from_slice(&[a, b, c, kind, flags]);
            out.extend_from_slice(id);
        }
    }
}

impl<S: AsyncWrite + Unpin> Weighted<S> {
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Out { bytes, requests } = &mut self.out;
        while self.written < bytes.len() {
            let next = requests.iter().find(|start| **start > self.written);
            if requests.contains(&self.written) {
                ready!(Pin::new(&mut self.below).poll_flush(cx))?;
            }
            let piece = &bytes[self.written..*next.unwrap_or(&bytes.len())];
            let written = ready!(Pin::new(&mut self.below).poll_write(cx, piece))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
        }
        bytes.clear();
        requests.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Weighted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.below).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Weighted<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.out.bytes.len() >= BUFFER {
            ready!(this.poll_drain(cx))?;
        }
        this.frames.push(bytes, &mut this.out);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_drain(cx))?;
        Pin::new(&mut this.below).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_drain(cx))?;
        Pin::new(&mut this.below).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u32).to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    }

    #[test]
    fn a_request_depends_on_the_newest_that_is_as_urgent() {
        let streams = Streams::default();
        let parent = |stream, weight| {
            streams.opened(stream, weight);
            let [a, b, c, d, weight] = streams.priority(stream).unwrap();
            (
                u32::from_be_bytes([a, b, c, d]) & !EXCLUSIVE,
                u16::from(weight) + 1,
            )
        };
        assert_eq!(parent(1, 256), (0, 256)); // the document
        assert_eq!(parent(3, 147), (1, 147)); // an image
        assert_eq!(parent(5, 220), (1, 220)); // a script
        assert_eq!(parent(7, 147), (3, 147)); // an image
        streams.closed(7);
        streams.closed(3);
        assert_eq!(parent(9, 147), (5, 147));
    }

    proptest! {
        #[test]
        fn only_headers_frames_change_however_they_are_cut(
            cuts in prop::collection::vec(1_usize..40, 1..40),
            payload in prop::collection::vec(any::<u8>(), 0..50),
        ) {
            let streams = Streams::default();
            streams.opened(1, 256);
            let preface = [b'x'; PREFACE].to_vec();
            let settings = frame(4, 0, 0, &payload);
            let body = frame(0, 1, 1, &payload);
            let plain = [&preface[..], &settings, &frame(1, 4, 1, &payload), &body].concat();
            let priority = [0x80, 0, 0, 0, 255];
            let weighted = frame(1, 0x24, 1, &[&priority[..], &payload].concat());
            let expected = [preface, settings, weighted, body].concat();
            let (mut frames, mut out, mut rest) = (Frames::new(streams), Out::default(), &plain[..]);
            for cut in cuts.iter().cycle() {
                let (piece, later) = rest.split_at((*cut).min(rest.len()));
                frames.push(piece, &mut out);
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(out.bytes, expected);
            prop_assert_eq!(out.requests, [PREFACE + FRAME_HEADER + payload.len()]);
        }
    }
}

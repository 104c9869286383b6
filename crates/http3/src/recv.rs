//! The half of a stream that receives, as h3 reads it.

use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h3::quic::{self, StreamErrorIncoming, StreamId};
use quinn::{ConnectionError, Dir, ReadError, RecvStream, VarInt};

use crate::arrivals::Streams;
use crate::errors::{read_error, stream_id, stream_lost, varint};
use crate::frames::{self, Piece, Sections};
use crate::peer::{self, Peer};
use crate::qpack::Qpack;

const READ_BYTES: usize = 4096;

/// H3_EXCESSIVE_LOAD (RFC 9114 section 8.1).
const EXCESSIVE_LOAD: VarInt = VarInt::from_u32(0x107);

pub struct RecvHalf {
    quinn: RecvStream,
    /// Bytes that were read before h3 got the stream.
    begun: Bytes,
    /// Decoder of its sections; None for a stream that h3 does not read.
    sections: Option<Decoding>,
}

/// Decodes the header sections of a stream. If it is dropped early, it tells the peer that the rest
/// stays unread.
struct Decoding {
    connection: quinn::Connection,
    qpack: Qpack,
    streams: Streams,
    stream: quinn::StreamId,
    sections: Sections,
    /// A section that waits for insertions.
    blocked: Option<Bytes>,
    ended: bool,
    /// Whether everything was read, or the peer knows that the rest will not be.
    settled: bool,
}

impl RecvHalf {
    /// Makes the half of a stream of unknown type, of which `begun` was read.
    pub(crate) fn begun(quinn: RecvStream, begun: Bytes) -> Self {
        Self {
            quinn,
            begun,
            sections: None,
        }
    }

    /// Makes the half of the peer's control stream, of which its type and `after` were read.
    pub(crate) fn control(quinn: RecvStream, peer: Peer, kind: Bytes, after: &[u8]) -> Self {
        let mut half = Self::read(quinn, peer);
        half.begun = kind;
        if let Some(decoding) = &mut half.sections {
            decoding.sections.push(after);
        }
        half
    }

    /// Makes the half of a request's stream, or of the stream of its answer.
    pub(crate) fn read(quinn: RecvStream, peer: Peer) -> Self {
        Self {
            begun: Bytes::new(),
            sections: Some(Decoding {
                connection: peer.quinn,
                qpack: peer.qpack,
                streams: peer.streams,
                stream: quinn.id(),
                sections: Sections::default(),
                blocked: None,
                ended: false,
                settled: false,
            }),
            quinn,
        }
    }

    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let mut buffer = [0; READ_BYTES];
        let read = ready!(self.quinn.poll_read(cx, &mut buffer)).map_err(read_error)?;
        Poll::Ready(Ok(
            (read > 0).then(|| Bytes::copy_from_slice(&buffer[..read]))
        ))
    }
}

impl Decoding {
    /// Returns what h3 should read of the bytes that came so far; None if more has to come.
    fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let section = loop {
            if let Some(section) = self.blocked.take() {
                break section;
            }
            match self.sections.next() {
                Some(Piece::Unchanged(bytes)) => return Poll::Ready(Ok(Some(bytes))),
                Some(Piece::Section(section)) => break section,
                Some(Piece::Longest) => {
                    self.qpack.cancel(self.stream.into());
                    return Poll::Ready(Ok(Some(frames::longest())));
                }
                Some(Piece::Update(kind, payload)) => {
                    let control = self.stream.dir() == Dir::Uni;
                    if let Err(code) = self.streams.update(control, kind, payload) {
                        self.connection
                            .close(varint(code.value()), b"PRIORITY_UPDATE");
                        return Poll::Ready(Err(stream_lost(ConnectionError::LocallyClosed)));
                    }
                }
                Some(Piece::Excess) => {
                    self.connection.close(EXCESSIVE_LOAD, b"frame length");
                    return Poll::Ready(Err(stream_lost(ConnectionError::LocallyClosed)));
                }
                None => return Poll::Ready(Ok(None)),
            }
        };
        if self.qpack.offer.table_bytes == 0 {
            return Poll::Ready(Ok(Some(frames::headers(&section))));
        }
        match self.qpack.poll_decode(cx, self.stream.into(), &section) {
            Poll::Ready(Ok(plain)) => Poll::Ready(Ok(Some(frames::headers(&plain)))),
            Poll::Ready(Err(broken)) => {
                peer::close(&self.connection, broken);
                Poll::Ready(Err(stream_lost(ConnectionError::LocallyClosed)))
            }
            Poll::Pending => {
                self.blocked = Some(section);
                match self.connection.close_reason() {
                    Some(reason) => Poll::Ready(Err(stream_lost(reason))),
                    None => Poll::Pending,
                }
            }
        }
    }
}

/// Whether the peer has reset a stream of which nothing is read for now.
fn poll_reset(quinn: &mut RecvStream, cx: &mut Context<'_>) -> Poll<StreamErrorIncoming> {
    // The waker belongs to the stream, not to this future.
    match pin!(quinn.received_reset()).poll(cx) {
        Poll::Ready(Ok(Some(code))) => Poll::Ready(read_error(ReadError::Reset(code))),
        _ => Poll::Pending,
    }
}

impl Decoding {
    fn cancel(&mut self) {
        if !std::mem::replace(&mut self.settled, true) && self.connection.close_reason().is_none() {
            self.qpack.cancel(self.stream.into());
        }
    }
}

impl Drop for Decoding {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl quic::RecvStream for RecvHalf {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        if !self.begun.is_empty() {
            return Poll::Ready(Ok(Some(std::mem::take(&mut self.begun))));
        }
        loop {
            if let Some(decoding) = &mut self.sections {
                let Poll::Ready(piece) = decoding.poll_piece(cx) else {
                    return poll_reset(&mut self.quinn, cx).map(|error| {
                        decoding.cancel();
                        Err(error)
                    });
                };
                if let Some(bytes) = piece? {
                    return Poll::Ready(Ok(Some(bytes)));
                }
                if decoding.ended {
                    let rest = decoding.sections.rest();
                    decoding.settled |= rest.is_empty();
                    return Poll::Ready(Ok((!rest.is_empty()).then_some(rest)));
                }
            }
            let read = match ready!(self.poll_read(cx)) {
                Ok(read) => read,
                Err(error) => {
                    self.sections.iter_mut().for_each(Decoding::cancel);
                    return Poll::Ready(Err(error));
                }
            };
            let Some(decoding) = &mut self.sections else {
                return Poll::Ready(Ok(read));
            };
            match read {
                Some(bytes) => decoding.sections.push(&bytes),
                None => decoding.ended = true,
            }
        }
    }

    fn stop_sending(&mut self, code: u64) {
        self.sections.iter_mut().for_each(Decoding::cancel);
        let _ = self.quinn.stop(varint(code));
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.quinn.id())
    }
}

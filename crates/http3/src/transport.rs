//! h3's view of a quinn connection.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{ConnectionError, Dir, ReadError, RecvStream, SendStream, VarInt, WriteError};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::arrivals::Streams;
use crate::frames::{self, Piece, Sections};
use crate::qpack::{self, Qpack};
use crate::sender::Sender;
use crate::streams;

const READ_BYTES: usize = 4096;

/// H3_EXCESSIVE_LOAD (RFC 9114 section 8.1).
const EXCESSIVE_LOAD: VarInt = VarInt::from_u32(0x107);

type Opening<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send>>;

/// To be built within a Tokio runtime: the peer's unidirectional streams are read by tasks of their own.
pub struct Connection {
    streams: Streams,
    accept_bi: Opening<(SendStream, RecvStream)>,
    unidirectional: UnboundedReceiver<RecvHalf>,
    opener: Opener,
}

/// Opens streams of our own.
pub struct Opener {
    quinn: quinn::Connection,
    qpack: Qpack,
    bi: Opening<(SendStream, RecvStream)>,
    uni: Opening<SendStream>,
}

impl Connection {
    pub fn new(quinn: quinn::Connection, qpack: Qpack, streams: Streams) -> Self {
        let (to_h3, unidirectional) = unbounded_channel();
        let opener = Opener::new(quinn.clone(), qpack);
        tokio::spawn(streams::accept(opener.peer(streams.clone()), to_h3));
        Self {
            streams,
            accept_bi: accept_bi(quinn),
            unidirectional,
            opener,
        }
    }
}

impl Opener {
    fn new(quinn: quinn::Connection, qpack: Qpack) -> Self {
        Self {
            bi: open_bi(quinn.clone()),
            uni: open_uni(quinn.clone()),
            quinn,
            qpack,
        }
    }

    /// Who reads a stream, with what it hears of requests.
    fn peer(&self, streams: Streams) -> streams::Peer {
        streams::Peer {
            quinn: self.quinn.clone(),
            qpack: self.qpack.clone(),
            streams,
        }
    }
}

impl Clone for Opener {
    fn clone(&self) -> Self {
        Self::new(self.quinn.clone(), self.qpack.clone())
    }
}

// quinn's own futures borrow the connection; these own it, so that they can wait between polls.
fn accept_bi(quinn: quinn::Connection) -> Opening<(SendStream, RecvStream)> {
    Box::pin(async move { quinn.accept_bi().await })
}

fn open_bi(quinn: quinn::Connection) -> Opening<(SendStream, RecvStream)> {
    Box::pin(async move { quinn.open_bi().await })
}

fn open_uni(quinn: quinn::Connection) -> Opening<SendStream> {
    Box::pin(async move { quinn.open_uni().await })
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = RecvHalf;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvHalf, ConnectionErrorIncoming>> {
        if let Some(stream) = ready!(self.unidirectional.poll_recv(cx)) {
            return Poll::Ready(Ok(stream));
        }
        // No more are accepted once the connection is over.
        let reason = self.opener.quinn.close_reason();
        Poll::Ready(Err(lost(reason.unwrap_or(ConnectionError::LocallyClosed))))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bidi<B>, ConnectionErrorIncoming>> {
        let accepted = ready!(self.accept_bi.as_mut().poll(cx));
        self.accept_bi = accept_bi(self.opener.quinn.clone());
        let (send, recv) = accepted.map_err(lost)?;
        let id = stream_id(send.id());
        let send = SendHalf::new(send, self.opener.qpack.clone());
        let sender = send.quinn.as_ref().map(Sender::downgrade);
        let early = recv.is_0rtt();
        self.streams.came(id, early, sender.unwrap_or_default());
        Poll::Ready(Ok(Bidi {
            send,
            recv: RecvHalf::read(recv, self.opener.peer(self.streams.clone())),
        }))
    }

    fn opener(&self) -> Opener {
        self.opener.clone()
    }
}

impl<B: Buf> quic::OpenStreams<B> for Opener {
    type BidiStream = Bidi<B>;
    type SendStream = SendHalf<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bidi<B>, StreamErrorIncoming>> {
        let opened = ready!(self.bi.as_mut().poll(cx));
        self.bi = open_bi(self.quinn.clone());
        let (send, recv) = opened.map_err(stream_lost)?;
        Poll::Ready(Ok(Bidi {
            send: SendHalf::new(send, self.qpack.clone()),
            recv: RecvHalf::read(recv, self.peer(Streams::default())),
        }))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendHalf<B>, StreamErrorIncoming>> {
        let opened = ready!(self.uni.as_mut().poll(cx));
        self.uni = open_uni(self.quinn.clone());
        let opened = opened.map(|stream| SendHalf::new(stream, self.qpack.clone()));
        Poll::Ready(opened.map_err(stream_lost))
    }

    fn close(&mut self, code: h3::error::Code, reason: &[u8]) {
        self.quinn.close(varint(code.value()), reason);
    }
}

impl<B: Buf> quic::OpenStreams<B> for Connection {
    type BidiStream = Bidi<B>;
    type SendStream = SendHalf<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bidi<B>, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendHalf<B>, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: h3::error::Code, reason: &[u8]) {
        quic::OpenStreams::<B>::close(&mut self.opener, code, reason);
    }
}

pub struct Bidi<B> {
    send: SendHalf<B>,
    recv: RecvHalf,
}

pub struct SendHalf<B> {
    id: quinn::StreamId,
    /// None once QPACK has it.
    quinn: Option<Sender>,
    qpack: Qpack,
    writing: Option<Writing<B>>,
}

enum Writing<B> {
    Ours(Bytes),
    H3s(WriteBuf<B>),
}

pub struct RecvHalf {
    quinn: RecvStream,
    /// Read already.
    begun: Bytes,
    /// None of a stream that h3 does not read either.
    sections: Option<Decoding>,
}

/// If it is dropped before the end, the peer is told that nobody reads the rest.
struct Decoding {
    connection: quinn::Connection,
    qpack: Qpack,
    streams: Streams,
    stream: quinn::StreamId,
    sections: Sections,
    /// Waits for insertions.
    blocked: Option<Bytes>,
    ended: bool,
    /// Everything was read, or the peer was told that it will not be.
    settled: bool,
}

impl<B> SendHalf<B> {
    fn new(quinn: SendStream, qpack: Qpack) -> Self {
        Self {
            id: quinn.id(),
            quinn: Some(Sender::new(quinn)),
            qpack,
            writing: None,
        }
    }
}

impl<B: Buf> SendHalf<B> {
    /// What goes to the peer in place of what h3 wrote.
    fn translated(&mut self, mut written: WriteBuf<B>) -> Option<Writing<B>> {
        let first = written.chunk().first().copied();
        if self.id.dir() == Dir::Bi {
            if first.map(u64::from) != Some(frames::HEADERS) {
                return Some(Writing::H3s(written));
            }
            let frame = written.copy_to_bytes(written.remaining());
            let section = frames::section(frame.clone());
            let encoded = section.and_then(|section| self.qpack.encode(self.id.into(), &section));
            return Some(Writing::Ours(
                encoded.map_or(frame, |section| frames::headers(&section)),
            ));
        }
        let bytes = written.copy_to_bytes(written.remaining());
        match first.map(u64::from) {
            Some(qpack::ENCODER) => {
                let stream = self.quinn.take()?.into_stream()?;
                self.qpack.write_insertions_to(stream);
            }
            Some(qpack::DECODER) => {
                let stream = self.quinn.take()?.into_stream()?;
                self.qpack.write_acknowledgements_to(stream);
            }
            _ => {
                let offering = frames::offering(bytes.clone(), self.qpack.offer);
                return Some(Writing::Ours(offering.unwrap_or(bytes)));
            }
        }
        None
    }
}

fn write(
    quinn: &mut SendStream,
    cx: &mut Context<'_>,
    data: &mut impl Buf,
) -> Poll<Result<(), StreamErrorIncoming>> {
    while data.has_remaining() {
        let written = ready!(Pin::new(&mut *quinn).poll_write(cx, data.chunk()));
        data.advance(written.map_err(write_error)?);
    }
    Poll::Ready(Ok(()))
}

impl<B: Buf> quic::SendStream<B> for SendHalf<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let (Some(quinn), Some(data)) = (&self.quinn, &mut self.writing) {
            let quinn = &mut *quinn.stream();
            match data {
                Writing::Ours(data) => ready!(write(quinn, cx, data))?,
                Writing::H3s(data) => ready!(write(quinn, cx, data))?,
            }
            self.writing = None;
        }
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        debug_assert!(
            self.writing.is_none(),
            "h3 waits for poll_ready between writes"
        );
        self.writing = self.translated(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        let quinn = self.quinn.as_ref();
        let finished = quinn.map_or(Ok(()), |quinn| quinn.stream().finish());
        Poll::Ready(finished.map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, code: u64) {
        if let Some(quinn) = &self.quinn {
            let _ = quinn.stream().reset(varint(code));
        }
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.id)
    }
}

impl RecvHalf {
    /// A stream of no known type, of which `begun` was read.
    pub(crate) fn begun(quinn: RecvStream, begun: Bytes) -> Self {
        Self {
            quinn,
            begun,
            sections: None,
        }
    }

    /// The peer's control stream, of which its type and `after` were read.
    pub(crate) fn control(
        quinn: RecvStream,
        peer: streams::Peer,
        kind: Bytes,
        after: &[u8],
    ) -> Self {
        let mut half = Self::read(quinn, peer);
        half.begun = kind;
        if let Some(decoding) = &mut half.sections {
            decoding.sections.push(after);
        }
        half
    }

    /// A stream of a request, or of the answer to one.
    fn read(quinn: RecvStream, peer: streams::Peer) -> Self {
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
    /// What is left for h3 of what came so far; None if more has to come.
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
                streams::close(&self.connection, broken);
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
    // What it waits with belongs to the stream, not to this future.
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

impl<B: Buf> quic::BidiStream<B> for Bidi<B> {
    type SendStream = SendHalf<B>;
    type RecvStream = RecvHalf;

    fn split(self) -> (SendHalf<B>, RecvHalf) {
        (self.send, self.recv)
    }
}

impl<B: Buf> quic::SendStream<B> for Bidi<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, code: u64) {
        self.send.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl<B> quic::RecvStream for Bidi<B> {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.recv.poll_data(cx)
    }

    fn stop_sending(&mut self, code: u64) {
        self.recv.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.recv.recv_id()
    }
}

fn varint(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

fn stream_id(id: quinn::StreamId) -> StreamId {
    StreamId::try_from(u64::from(id)).expect("QUIC stream ids fit")
}

fn lost(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => ConnectionErrorIncoming::ApplicationClose {
            error_code: close.error_code.into(),
        },
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn stream_lost(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: lost(error),
    }
}

fn write_error(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into(),
        },
        WriteError::ConnectionLost(error) => stream_lost(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

fn read_error(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into(),
        },
        ReadError::ConnectionLost(error) => stream_lost(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

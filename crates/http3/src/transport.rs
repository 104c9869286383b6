//! h3's view of a quinn connection.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{ConnectionError, Dir, ReadError, RecvStream, SendStream, VarInt, WriteError};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::frames::{self, Piece, Sections};
use crate::qpack::{self, Qpack};
use crate::streams;

const READ_BYTES: usize = 4096;

/// Request streams that have arrived and not yet been asked about.
#[derive(Clone, Default)]
pub struct Streams(Arc<Mutex<HashMap<StreamId, Arrival>>>);

#[derive(Default)]
pub struct Arrival {
    /// It came as 0-RTT data.
    pub early: bool,
    /// quinn's priority for the answer; holds from the next write.
    pub priority: Arc<AtomicI32>,
}

impl Streams {
    pub fn take(&self, id: StreamId) -> Arrival {
        self.waiting().remove(&id).unwrap_or_default()
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<StreamId, Arrival>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
        tokio::spawn(streams::accept(quinn.clone(), qpack.clone(), to_h3));
        Self {
            streams,
            accept_bi: accept_bi(quinn.clone()),
            unidirectional,
            opener: Opener::new(quinn, qpack),
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
        let (quinn, qpack) = (self.opener.quinn.clone(), self.opener.qpack.clone());
        let arrival = Arrival {
            early: recv.is_0rtt(),
            ..Arrival::default()
        };
        let send = SendHalf {
            priority: arrival.priority.clone(),
            ..SendHalf::new(send, qpack.clone())
        };
        let waiting = &mut *self.streams.waiting();
        waiting.insert(quic::SendStream::send_id(&send), arrival);
        Poll::Ready(Ok(Bidi {
            send,
            recv: RecvHalf::of_request(recv, quinn, qpack),
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
            recv: RecvHalf::of_request(recv, self.quinn.clone(), self.qpack.clone()),
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
    quinn: Option<SendStream>,
    qpack: Qpack,
    writing: Option<Writing<B>>,
    priority: Arc<AtomicI32>,
}

enum Writing<B> {
    Ours(Bytes),
    H3s(WriteBuf<B>),
}

pub struct RecvHalf {
    quinn: RecvStream,
    /// Read already.
    begun: Bytes,
    /// Of a request or its answer.
    sections: Option<Decoding>,
}

struct Decoding {
    connection: quinn::Connection,
    qpack: Qpack,
    sections: Sections,
    /// Waits for insertions.
    blocked: Option<Bytes>,
    ended: bool,
}

impl<B> SendHalf<B> {
    fn new(quinn: SendStream, qpack: Qpack) -> Self {
        Self {
            id: quinn.id(),
            quinn: Some(quinn),
            qpack,
            writing: None,
            priority: Arc::default(),
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
        match first {
            Some(qpack::ENCODER) => self.qpack.write_insertions_to(self.quinn.take()?),
            Some(qpack::DECODER) => self.qpack.write_acknowledgements_to(self.quinn.take()?),
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
        let Some(quinn) = &mut self.quinn else {
            return Poll::Ready(Ok(()));
        };
        if let Some(data) = &mut self.writing {
            // Fails only on a closed stream, which the write reports.
            let _ = quinn.set_priority(self.priority.load(Ordering::Relaxed));
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
        let finished = self.quinn.as_mut().map_or(Ok(()), SendStream::finish);
        Poll::Ready(finished.map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, code: u64) {
        if let Some(quinn) = &mut self.quinn {
            let _ = quinn.reset(varint(code));
        }
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.id)
    }
}

impl RecvHalf {
    /// A stream of which `begun` was read.
    pub(crate) fn begun(quinn: RecvStream, begun: Bytes) -> Self {
        Self {
            quinn,
            begun,
            sections: None,
        }
    }

    /// Of a request, or of the answer to one.
    fn of_request(quinn: RecvStream, connection: quinn::Connection, qpack: Qpack) -> Self {
        let decoding = qpack.offer.table_bytes > 0;
        Self {
            quinn,
            begun: Bytes::new(),
            sections: decoding.then(|| Decoding {
                connection,
                qpack,
                sections: Sections::default(),
                blocked: None,
                ended: false,
            }),
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
        stream: u64,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let section = match self.blocked.take() {
            Some(section) => section,
            None => match self.sections.next() {
                Some(Piece::Unchanged(bytes)) => return Poll::Ready(Ok(Some(bytes))),
                Some(Piece::Section(section)) => section,
                None => return Poll::Ready(Ok(None)),
            },
        };
        match self.qpack.poll_decode(cx, stream, &section) {
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

impl quic::RecvStream for RecvHalf {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        if !self.begun.is_empty() {
            return Poll::Ready(Ok(Some(std::mem::take(&mut self.begun))));
        }
        let stream = self.quinn.id().into();
        loop {
            if let Some(decoding) = &mut self.sections {
                if let Some(bytes) = ready!(decoding.poll_piece(cx, stream))? {
                    return Poll::Ready(Ok(Some(bytes)));
                }
                if decoding.ended {
                    let rest = decoding.sections.rest();
                    return Poll::Ready(Ok((!rest.is_empty()).then_some(rest)));
                }
            }
            let read = ready!(self.poll_read(cx))?;
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
        if let Some(decoding) = &self.sections {
            decoding.qpack.cancel(self.quinn.id().into());
        }
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

//! h3's view of a quinn connection.
//!
//! The public bridge crate hides two things the origin needs: whether a request came as 0-RTT data,
//! and the priority of its answer. Both pass through `Streams`.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{ConnectionError, ReadError, RecvStream, SendStream, VarInt, WriteError};

use crate::log::unpoisoned;

const READ_BYTES: usize = 4096;

/// Request streams that have arrived and not yet been asked about.
#[derive(Clone, Default)]
pub(crate) struct Streams(Arc<Mutex<HashMap<StreamId, Arrival>>>);

#[derive(Default)]
pub(crate) struct Arrival {
    /// It came as 0-RTT data.
    pub early: bool,
    /// quinn's priority for the answer; holds from the next write.
    pub priority: Arc<AtomicI32>,
}

impl Streams {
    pub fn take(&self, id: StreamId) -> Arrival {
        unpoisoned(&self.0).remove(&id).unwrap_or_default()
    }
}

type Opening<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send>>;

pub(crate) struct Connection {
    quinn: quinn::Connection,
    streams: Streams,
    accept_bi: Opening<(SendStream, RecvStream)>,
    accept_uni: Opening<RecvStream>,
    opener: Opener,
}

/// Opens streams of our own: control and QPACK.
pub(crate) struct Opener {
    quinn: quinn::Connection,
    bi: Opening<(SendStream, RecvStream)>,
    uni: Opening<SendStream>,
}

impl Connection {
    pub fn new(quinn: quinn::Connection, streams: Streams) -> Self {
        Self {
            streams,
            accept_bi: accept_bi(quinn.clone()),
            accept_uni: accept_uni(quinn.clone()),
            opener: Opener::new(quinn.clone()),
            quinn,
        }
    }
}

impl Opener {
    fn new(quinn: quinn::Connection) -> Self {
        Self {
            bi: open_bi(quinn.clone()),
            uni: open_uni(quinn.clone()),
            quinn,
        }
    }
}

// quinn's own futures borrow the connection; these own it, so that they can wait between polls.
fn accept_bi(quinn: quinn::Connection) -> Opening<(SendStream, RecvStream)> {
    Box::pin(async move { quinn.accept_bi().await })
}

fn accept_uni(quinn: quinn::Connection) -> Opening<RecvStream> {
    Box::pin(async move { quinn.accept_uni().await })
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
        let accepted = ready!(self.accept_uni.as_mut().poll(cx));
        self.accept_uni = accept_uni(self.quinn.clone());
        Poll::Ready(accepted.map(RecvHalf).map_err(lost))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bidi<B>, ConnectionErrorIncoming>> {
        let accepted = ready!(self.accept_bi.as_mut().poll(cx));
        self.accept_bi = accept_bi(self.quinn.clone());
        let (send, recv) = accepted.map_err(lost)?;
        let arrival = Arrival {
            early: recv.is_0rtt(),
            ..Arrival::default()
        };
        let send = SendHalf {
            priority: arrival.priority.clone(),
            ..SendHalf::new(send)
        };
        unpoisoned(&self.streams.0).insert(quic::SendStream::send_id(&send), arrival);
        Poll::Ready(Ok(Bidi {
            send,
            recv: RecvHalf(recv),
        }))
    }

    fn opener(&self) -> Opener {
        Opener::new(self.quinn.clone())
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
            send: SendHalf::new(send),
            recv: RecvHalf(recv),
        }))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendHalf<B>, StreamErrorIncoming>> {
        let opened = ready!(self.uni.as_mut().poll(cx));
        self.uni = open_uni(self.quinn.clone());
        Poll::Ready(opened.map(SendHalf::new).map_err(stream_lost))
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

pub(crate) struct Bidi<B> {
    send: SendHalf<B>,
    recv: RecvHalf,
}

pub(crate) struct SendHalf<B> {
    quinn: SendStream,
    writing: Option<WriteBuf<B>>,
    priority: Arc<AtomicI32>,
}

pub(crate) struct RecvHalf(RecvStream);

impl<B> SendHalf<B> {
    fn new(quinn: SendStream) -> Self {
        Self {
            quinn,
            writing: None,
            priority: Arc::default(),
        }
    }
}

impl<B: Buf> quic::SendStream<B> for SendHalf<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(data) = &mut self.writing {
            // Fails only on a closed stream, which the write reports.
            let _ = self
                .quinn
                .set_priority(self.priority.load(Ordering::Relaxed));
            while data.has_remaining() {
                let written = ready!(Pin::new(&mut self.quinn).poll_write(cx, data.chunk()));
                data.advance(written.map_err(write_error)?);
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
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        Poll::Ready(
            self.quinn
                .finish()
                .map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))),
        )
    }

    fn reset(&mut self, code: u64) {
        let _ = self.quinn.reset(varint(code));
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.quinn.id())
    }
}

impl quic::RecvStream for RecvHalf {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let mut buffer = [0; READ_BYTES];
        let read = ready!(self.0.poll_read(cx, &mut buffer)).map_err(read_error)?;
        Poll::Ready(Ok(
            (read > 0).then(|| Bytes::copy_from_slice(&buffer[..read]))
        ))
    }

    fn stop_sending(&mut self, code: u64) {
        let _ = self.0.stop(varint(code));
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.0.id())
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

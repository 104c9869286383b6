//! The traits of `h3` for noq, as h3-quinn has them for quinn.
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

use bytes::{Buf, Bytes};
use futures_util::stream::{unfold, BoxStream};
use futures_util::StreamExt;
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use noq::{ConnectionError, ReadError, VarInt, WriteError};

const READ: usize = 65_536;

type Both = Result<(noq::SendStream, noq::RecvStream), ConnectionError>;
type Sent = Result<noq::SendStream, ConnectionError>;
type Received = Result<noq::RecvStream, ConnectionError>;

pub struct Connection {
    opener: Opener,
    both: BoxStream<'static, Both>,
    received: BoxStream<'static, Received>,
}

pub struct Opener {
    connection: noq::Connection,
    both: BoxStream<'static, Both>,
    sent: BoxStream<'static, Sent>,
}

impl Connection {
    pub fn new(connection: noq::Connection) -> Self {
        let both = unfold(connection.clone(), |c| async {
            Some((c.accept_bi().await, c))
        });
        let received = unfold(connection.clone(), |c| async {
            Some((c.accept_uni().await, c))
        });
        Self {
            opener: Opener::new(connection),
            both: both.boxed(),
            received: received.boxed(),
        }
    }
}

impl Opener {
    fn new(connection: noq::Connection) -> Self {
        let both = unfold(connection.clone(), |c| async {
            Some((c.open_bi().await, c))
        });
        let sent = unfold(connection.clone(), |c| async {
            Some((c.open_uni().await, c))
        });
        Self {
            connection,
            both: both.boxed(),
            sent: sent.boxed(),
        }
    }
}

fn next<T>(
    from: &mut BoxStream<'static, Result<T, ConnectionError>>,
    cx: &mut Context<'_>,
) -> Poll<Result<T, ConnectionErrorIncoming>> {
    from.poll_next_unpin(cx)
        .map(|one| one.expect("the stream never ends").map_err(lost))
}

fn lost(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => ConnectionErrorIncoming::ApplicationClose {
            error_code: close.error_code.into_inner(),
        },
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn of_stream(connection_error: ConnectionErrorIncoming) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error }
}

fn unread(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        ReadError::ConnectionLost(error) => of_stream(lost(error)),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

fn unwritten(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        WriteError::ConnectionLost(error) => of_stream(lost(error)),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

fn id(of: noq::StreamId) -> StreamId {
    VarInt::from(of)
        .into_inner()
        .try_into()
        .expect("QUIC's ids have 62 bits")
}

fn code(of: u64) -> VarInt {
    VarInt::from_u64(of).unwrap_or(VarInt::MAX)
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = Receive;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Receive, ConnectionErrorIncoming>> {
        next(&mut self.received, cx).map_ok(Receive)
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Stream<B>, ConnectionErrorIncoming>> {
        next(&mut self.both, cx).map_ok(Stream::new)
    }

    fn opener(&self) -> Opener {
        Opener::new(self.opener.connection.clone())
    }
}

impl<B: Buf> quic::OpenStreams<B> for Connection {
    type BidiStream = Stream<B>;
    type SendStream = Send<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Stream<B>, StreamErrorIncoming>> {
        quic::OpenStreams::<B>::poll_open_bidi(&mut self.opener, cx)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Send<B>, StreamErrorIncoming>> {
        quic::OpenStreams::<B>::poll_open_send(&mut self.opener, cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        quic::OpenStreams::<B>::close(&mut self.opener, code, reason);
    }
}

impl<B: Buf> quic::OpenStreams<B> for Opener {
    type BidiStream = Stream<B>;
    type SendStream = Send<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Stream<B>, StreamErrorIncoming>> {
        next(&mut self.both, cx)
            .map_ok(Stream::new)
            .map_err(of_stream)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Send<B>, StreamErrorIncoming>> {
        next(&mut self.sent, cx)
            .map_ok(Send::new)
            .map_err(of_stream)
    }

    fn close(&mut self, reason: Code, text: &[u8]) {
        self.connection.close(code(reason.value()), text);
    }
}

impl Clone for Opener {
    fn clone(&self) -> Self {
        Self::new(self.connection.clone())
    }
}

pub struct Stream<B: Buf> {
    send: Send<B>,
    receive: Receive,
}

impl<B: Buf> Stream<B> {
    fn new((send, receive): (noq::SendStream, noq::RecvStream)) -> Self {
        Self {
            send: Send::new(send),
            receive: Receive(receive),
        }
    }
}

impl<B: Buf> quic::BidiStream<B> for Stream<B> {
    type SendStream = Send<B>;
    type RecvStream = Receive;

    fn split(self) -> (Send<B>, Receive) {
        (self.send, self.receive)
    }
}

impl<B: Buf> quic::RecvStream for Stream<B> {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receive.poll_data(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.receive.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.receive.recv_id()
    }
}

impl<B: Buf> quic::SendStream<B> for Stream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

pub struct Receive(noq::RecvStream);

impl quic::RecvStream for Receive {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let mut buffer = vec![0; READ];
        let length = ready!(self.0.poll_read(cx, &mut buffer)).map_err(unread)?;
        buffer.truncate(length);
        Poll::Ready(Ok((length > 0).then(|| buffer.into())))
    }

    fn stop_sending(&mut self, error_code: u64) {
        let _ = self.0.stop(code(error_code));
    }

    fn recv_id(&self) -> StreamId {
        id(self.0.id())
    }
}

pub struct Send<B: Buf> {
    stream: noq::SendStream,
    writing: Option<WriteBuf<B>>,
}

impl<B: Buf> Send<B> {
    fn new(stream: noq::SendStream) -> Self {
        Self {
            stream,
            writing: None,
        }
    }
}

impl<B: Buf> quic::SendStream<B> for Send<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(data) = &mut self.writing {
            while data.has_remaining() {
                let written = ready!(Pin::new(&mut self.stream).poll_write(cx, data.chunk()))
                    .map_err(unwritten)?;
                data.advance(written);
            }
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.writing.is_some() {
            let why = "h3 sends before the stream is ready".to_owned();
            return Err(of_stream(ConnectionErrorIncoming::InternalError(why)));
        }
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        Poll::Ready(
            self.stream
                .finish()
                .map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))),
        )
    }

    fn reset(&mut self, reset_code: u64) {
        let _ = self.stream.reset(code(reset_code));
    }

    fn send_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

//! h3's view of a quinn connection.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming};
use quinn::{ConnectionError, RecvStream, SendStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::arrivals::Streams;
use crate::bidi::Bidi;
use crate::errors::{lost, stream_id, stream_lost, varint};
use crate::peer::Peer;
use crate::qpack::Qpack;
use crate::recv::RecvHalf;
use crate::send::SendHalf;
use crate::streams;

type Opening<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send>>;

/// A connection for h3. Create it within a Tokio runtime, because tasks read the peer's
/// unidirectional streams.
pub struct Connection {
    streams: Streams,
    accept_bi: Opening<(SendStream, RecvStream)>,
    unidirectional: UnboundedReceiver<RecvHalf>,
    opener: Opener,
}

/// Opens streams from this end.
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

    /// Returns the peer for a task that reads a stream, with what that task hears of requests.
    fn peer(&self, streams: Streams) -> Peer {
        Peer {
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
        let sender = send.sender();
        let early = recv.is_0rtt();
        self.streams.came(id, early, sender);
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

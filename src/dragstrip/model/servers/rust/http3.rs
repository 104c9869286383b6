//! HTTP/3 by hyperium's `h3`, over any QUIC that implements its traits.
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures_util::stream::unfold;
use h3::error::Code;
use h3::quic::{BidiStream, Connection, OpenStreams, RecvStream, SendStream};
use h3::server::{RequestResolver, RequestStream};
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::Frame;
use hyper::{Method, Response};

use crate::pages::{Client, Failure, Pages, RequestBody};

type Bidi<C> = <C as OpenStreams<Bytes>>::BidiStream;
type Sending<C> = <Bidi<C> as BidiStream<Bytes>>::SendStream;
type Receiving<C> = <Bidi<C> as BidiStream<Bytes>>::RecvStream;

struct Stream<S: SendStream<Bytes>>(RequestStream<S, Bytes>);

impl<S: SendStream<Bytes> + Send> Client for Stream<S> {
    async fn head(&mut self, head: Response<()>) -> Result<(), Failure> {
        Ok(self.0.send_response(head).await?)
    }

    async fn data(&mut self, data: Bytes) -> Result<(), Failure> {
        Ok(self.0.send_data(data).await?)
    }

    async fn end(&mut self) -> Result<(), Failure> {
        Ok(self.0.finish().await?)
    }

    async fn abort(&mut self) {
        self.0.stop_stream(Code::H3_INTERNAL_ERROR);
    }
}

/// Serves a connection until it ends.
pub async fn serve<C>(connection: C, port: u16, pages: Arc<Pages>)
where
    C: Connection<Bytes> + Send + 'static,
    Bidi<C>: BidiStream<Bytes> + Send + 'static,
    Sending<C>: Send + 'static,
    Receiving<C>: Send + 'static,
{
    let Ok(mut http) = h3::server::Connection::new(connection).await else {
        return;
    };
    while let Ok(Some(request)) = http.accept().await {
        tokio::spawn(answer(request, port, Arc::clone(&pages)));
    }
}

async fn answer<C>(request: RequestResolver<C, Bytes>, port: u16, pages: Arc<Pages>)
where
    C: Connection<Bytes> + 'static,
    Bidi<C>: BidiStream<Bytes>,
    Sending<C>: Send + 'static,
    Receiving<C>: Send + 'static,
{
    let Ok((head, stream)) = request.resolve_request().await else {
        return;
    };
    let (send, receive) = stream.split();
    let bodiless = matches!(*head.method(), Method::GET | Method::HEAD);
    let body = if bodiless { empty() } else { body(receive) };
    pages.answer(head.map(|()| body), port, Stream(send)).await;
}

fn empty() -> RequestBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

fn body<R: RecvStream + Send + 'static>(receive: RequestStream<R, Bytes>) -> RequestBody {
    let parts = unfold(receive, |mut receive| async {
        let part = match receive.recv_data().await {
            Ok(data) => data.map(|mut data| Ok(data.copy_to_bytes(data.remaining()))),
            Err(error) => Some(Err(error.into())),
        };
        part.map(|part: Result<Bytes, Failure>| (part.map(Frame::data), receive))
    });
    StreamBody::new(parts).boxed_unsync()
}

//! HTTP/2 with Chromium's settings.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use bytes::Bytes;
use h2::client::{self, SendRequest};
use http::Version;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;

use crate::event::{Failure, FailureKind, Finish, Outgoing};
use crate::input::ResourceId;
use crate::net::Shared;
use crate::net::common::{Answer, Driver, ahead, driver, multiplexed, upload};
use crate::net::weights::{Streams, Weighted};

/// What Chromium announces (net/spdy/spdy_session.h, net/http/http_network_session.cc).
const HEADER_TABLE: u32 = 64 * 1024;
const HEADER_LIST: u32 = 256 * 1024;
const STREAM_WINDOW: u32 = 6 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 15 * 1024 * 1024;

pub(super) struct Handle {
    sender: SendRequest<Bytes>,
    streams: Streams,
    used: Rc<Notify>,
}

pub(super) async fn begin(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
) -> Result<(Handle, Driver), Failure> {
    let streams = Streams::default();
    let stream = Weighted::new(stream, streams.clone());
    let (sender, connection) = client::Builder::new()
        .header_table_size(HEADER_TABLE)
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .max_header_list_size(HEADER_LIST)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .handshake(stream)
        .await
        .map_err(|error| failure(&error))?;
    let (used, driver) = driver(connection, failure);
    let handle = Handle {
        sender,
        streams,
        used,
    };
    Ok((handle, driver))
}

impl Handle {
    pub async fn exchange(
        &self,
        id: ResourceId,
        request: &Outgoing,
        shared: &Shared,
    ) -> Result<Finish, Failure> {
        let mut sender = self
            .sender
            .clone()
            .ready()
            .await
            .map_err(|error| unsent(&error))?;
        let last = request.body_bytes == 0;
        let sent = sender.send_request(multiplexed(request, Version::HTTP_2)?, last);
        let (mut answer, mut body) = sent.map_err(|error| unsent(&error))?;
        let stream: u32 = answer.stream_id().into();
        self.streams.opened(stream, request.weight);
        let _closed = Closed(&self.streams, stream);
        self.used.notify_one();
        if !last {
            let sent = body.send_data(upload(request.body_bytes), true);
            sent.map_err(|error| failure(&error))?;
        }
        let answered = poll_fn(|cx| {
            while let Poll::Ready(Some(Ok(hints))) = answer.poll_informational(cx) {
                ahead(id, hints.into_parts().0, shared);
            }
            Pin::new(&mut answer).poll(cx)
        });
        let answer = answered.await.map_err(|error| unsent(&error))?;
        let (parts, mut body) = answer.into_parts();
        let mut answer = Answer::begin(id, request, parts, shared);
        while let Some(data) = body.data().await {
            let data = data.map_err(|error| failure(&error))?;
            let given_back = body.flow_control().release_capacity(data.len());
            given_back.map_err(|error| failure(&error))?;
            answer.push(&data)?;
        }
        answer.finish()
    }
}

/// Takes a stream out of the order of priorities when it is dropped, however the request ends.
struct Closed<'a>(&'a Streams, u32);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.closed(self.1);
    }
}

fn failure(error: &h2::Error) -> Failure {
    let kind = if error.is_io() {
        FailureKind::Reset
    } else {
        FailureKind::Protocol
    };
    Failure::new(kind, error)
}

/// The failure of a request that got no answer. The server may have said that it never processed it
/// (RFC 9113 section 8.7).
fn unsent(error: &h2::Error) -> Failure {
    let refused = error.reason() == Some(h2::Reason::REFUSED_STREAM);
    Failure {
        retry: refused || (error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR)),
        ..failure(error)
    }
}

//! HTTP/1.1: one request at a time on a connection.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderValue, Request, Version, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;

use crate::event::{Failure, FailureKind, Finish, Outgoing, What};
use crate::input::ResourceId;
use crate::net::Shared;
use crate::net::common::{Answer, Driver, complete, driver, upload};
use crate::pool::ConnectionId;

/// Longest head of an answer. Chromium takes 256 kB.
const HEAD_BYTES: usize = 256 * 1024;
const MOST_HEADERS: usize = 1000;

pub(super) struct Handle {
    sender: RefCell<Option<SendRequest<Full<Bytes>>>>,
    used: Rc<Notify>,
}

pub(super) async fn begin(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
) -> Result<(Handle, Driver), Failure> {
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_BYTES)
        .max_headers(MOST_HEADERS)
        .title_case_headers(true)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| failure(&error))?;
    let (used, driver) = driver(connection, failure);
    let sender = RefCell::new(Some(sender));
    Ok((Handle { sender, used }, driver))
}

impl Handle {
    pub async fn exchange(
        &self,
        id: ResourceId,
        request: &Outgoing,
        shared: &Shared,
    ) -> Result<Finish, Failure> {
        // Only one request at a time comes here, so no other task wants it meanwhile.
        let Some(mut sender) = self.sender.borrow_mut().take() else {
            return Err(Failure::new(
                FailureKind::Protocol,
                "the connection is busy",
            ));
        };
        let answered = sender.send_request(outgoing(request)?);
        self.used.notify_one();
        let answered = answered.await;
        *self.sender.borrow_mut() = Some(sender);
        let answer = answered.map_err(|error| Failure {
            retry: error.is_canceled() || (error.is_incomplete_message() && request.safe),
            ..failure(&error)
        })?;
        let (parts, mut body) = answer.into_parts();
        let mut answer = Answer::begin(id, request, parts, shared);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| failure(&error))?;
            if let Some(data) = frame.data_ref() {
                answer.push(data)?;
            }
        }
        answer.finish()
    }

    /// Tells when the connection takes another request. If it never does, the connection's driver
    /// tells of its end.
    pub async fn wait_until_free(&self, connection: ConnectionId, shared: &Shared) {
        let Some(mut sender) = self.sender.borrow_mut().take() else {
            return;
        };
        if sender.ready().await.is_ok() {
            *self.sender.borrow_mut() = Some(sender);
            shared.events.tell(What::Free(connection));
        }
    }
}

fn outgoing(request: &Outgoing) -> Result<Request<Full<Bytes>>, Failure> {
    let uri = &request.uri;
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let authority = uri
        .authority()
        .map(http::uri::Authority::as_str)
        .unwrap_or_default();
    let out = Request::builder()
        .uri(target)
        .version(Version::HTTP_11)
        .header(header::HOST, authority)
        .header(header::CONNECTION, HeaderValue::from_static("keep-alive"));
    complete(out, request, Full::new(upload(request.body_bytes)))
}

fn failure(error: &hyper::Error) -> Failure {
    let kind = if error.is_incomplete_message() {
        FailureKind::Truncated
    } else if error.is_parse() || error.is_user() {
        FailureKind::Protocol
    } else {
        FailureKind::Reset
    };
    Failure::new(kind, chain(error))
}

/// Writes an error with its causes, which hyper leaves out.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

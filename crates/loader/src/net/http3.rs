//! HTTP/3. The library's QPACK has no dynamic table: requests are a little longer than Chromium's to
//! a server that offers one (docs/decisions/0032-loader.md).

use std::cell::RefCell;
use std::future::poll_fn;

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3::error::{ConnectionError, StreamError};
use h3_quinn::OpenStreams;
use http::{Request, header};
use tokio::sync::watch;

use crate::body::Receiver;
use crate::event::{Failure, FailureKind, Finish, Outgoing, What};
use crate::input::ResourceId;
use crate::net::common::{Driver, bodiless, head, upload};
use crate::net::{Shared, spawn};

/// As Chromium announces it.
const FIELD_SECTION: u64 = 256 * 1024;

type Sender = SendRequest<OpenStreams, Bytes>;

pub(super) struct Handle {
    sender: RefCell<Sender>,
    /// None until the handshake is through; then whether what was sent before it was taken.
    handshake: watch::Sender<Option<bool>>,
}

/// With `early` the handshake is not through yet; `through` must follow.
pub(super) async fn begin(
    quinn: quinn::Connection,
    early: bool,
) -> Result<(Handle, Driver), Failure> {
    let handshake = watch::Sender::new((!early).then_some(true));
    let (sender, run) = connect(quinn.clone()).await?;
    let mut known = handshake.subscribe();
    let driver = Box::pin(async move {
        let end = run.await;
        // Early data that was rejected breaks the streams of HTTP/3, not the connection below.
        let taken = known.wait_for(Option::is_some).await;
        if taken.is_ok_and(|taken| *taken == Some(false)) {
            let end = quinn.closed().await;
            return Some(Failure::new(FailureKind::Reset, end));
        }
        end
    });
    let handle = Handle {
        sender: RefCell::new(sender),
        handshake,
    };
    Ok((handle, driver))
}

async fn connect(quinn: quinn::Connection) -> Result<(Sender, Driver), Failure> {
    let (mut connection, sender) = h3::client::builder()
        .max_field_section_size(FIELD_SECTION)
        .send_grease(false)
        .build(h3_quinn::Connection::new(quinn.clone()))
        .await
        .map_err(|error| lost(&error))?;
    let driver = Box::pin(async move {
        let end = poll_fn(|cx| connection.poll_close(cx)).await;
        let reason = quinn.close_reason();
        Some(reason.map_or(lost(&end), |reason| {
            Failure::new(FailureKind::Reset, reason)
        }))
    });
    Ok((sender, driver))
}

impl Handle {
    /// The handshake is through. Where early data was rejected, HTTP/3 begins anew.
    pub async fn through(&self, taken: bool, quinn: quinn::Connection) {
        if !taken && let Ok((sender, driver)) = connect(quinn).await {
            *self.sender.borrow_mut() = sender;
            spawn(async move {
                driver.await;
            });
        }
        self.handshake.send_replace(Some(taken));
    }

    pub async fn exchange(
        &self,
        id: ResourceId,
        request: &Outgoing,
        shared: &Shared,
    ) -> Result<Finish, Failure> {
        let mut handshake = self.handshake.subscribe();
        let early = handshake.borrow().is_none();
        let tried = self.attempt(id, request, shared).await;
        if early && tried.is_err() {
            // It may have failed only because early data was rejected.
            let known = handshake.wait_for(Option::is_some).await;
            let rejected = known.is_ok_and(|taken| *taken == Some(false));
            if rejected {
                return self.attempt(id, request, shared).await;
            }
        }
        tried
    }

    async fn attempt(
        &self,
        id: ResourceId,
        request: &Outgoing,
        shared: &Shared,
    ) -> Result<Finish, Failure> {
        let mut sender = self.sender.borrow().clone();
        let sent = sender.send_request(outgoing(request)?).await;
        let mut stream = sent.map_err(|error| failure(&error))?;
        if request.body_bytes > 0 {
            let sent = stream.send_data(upload(request.body_bytes)).await;
            sent.map_err(|error| failure(&error))?;
        }
        stream.finish().await.map_err(|error| failure(&error))?;
        let answer = loop {
            let answer = stream
                .recv_response()
                .await
                .map_err(|error| failure(&error))?;
            if !answer.status().is_informational() {
                break answer;
            }
        };
        let (parts, ()) = answer.into_parts();
        let bodiless = bodiless(&request.method, parts.status);
        let mut receiver = Receiver::new(&parts.headers, bodiless, &shared.budget);
        shared.events.tell(What::Headers(id, head(parts)));
        while let Some(mut data) = stream.recv_data().await.map_err(|error| failure(&error))? {
            let received = receiver.push(&data.copy_to_bytes(data.remaining()))?;
            shared.events.tell(What::Bytes(id, received));
        }
        receiver.finish().map(|(_, finish)| finish)
    }
}

fn outgoing(request: &Outgoing) -> Result<Request<()>, Failure> {
    let mut out = Request::builder().method(&request.method).uri(&request.uri);
    if request.body_bytes > 0 {
        out = out.header(header::CONTENT_LENGTH, request.body_bytes);
    }
    for (name, value) in &request.headers {
        out = out.header(name, value);
    }
    if let Some(priority) = &request.priority {
        out = out.header("priority", priority);
    }
    out.body(())
        .map_err(|error| Failure::new(FailureKind::Protocol, error))
}

fn lost(error: &ConnectionError) -> Failure {
    Failure::new(FailureKind::Reset, error)
}

fn failure(error: &StreamError) -> Failure {
    let kind = match error {
        StreamError::ConnectionError { .. } => FailureKind::Reset,
        _ => FailureKind::Protocol,
    };
    Failure::new(kind, error)
}

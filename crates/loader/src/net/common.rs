//! What the three protocols have in common.

use std::pin::Pin;
use std::rc::Rc;

use bytes::Bytes;
use http::{Method, Request, StatusCode, Version, header, request, response};
use tokio::sync::Notify;

use crate::body::Receiver;
use crate::event::{Events, Failure, FailureKind, Finish, Head, Outgoing, What};
use crate::input::ResourceId;
use crate::net::Shared;

/// Runs a connection from its first request on, like Chromium, which sends no preface on an unused
/// connection. Ends when the connection is over, with the reason if that did not happen in order.
pub(super) type Driver = Pin<Box<dyn Future<Output = Option<Failure>>>>;

/// The driver of a TCP connection, and what its first request notifies.
pub(super) fn driver<E: 'static>(
    connection: impl Future<Output = Result<(), E>> + 'static,
    failure: fn(&E) -> Failure,
) -> (Rc<Notify>, Driver) {
    let used = Rc::<Notify>::default();
    let first = used.clone();
    let driver = Box::pin(async move {
        first.notified().await;
        connection.await.err().map(|error| failure(&error))
    });
    (used, driver)
}

/// Makes a request of HTTP/2 or HTTP/3, whose body is sent after it.
pub(super) fn multiplexed(request: &Outgoing, version: Version) -> Result<Request<()>, Failure> {
    let mut out = Request::builder().uri(&request.uri).version(version);
    if request.body_bytes > 0 {
        out = out.header(header::CONTENT_LENGTH, request.body_bytes);
    }
    let mut out = complete(out, request, ())?;
    if let Some(priority) = &request.priority {
        out.headers_mut().append("priority", priority.clone());
    }
    Ok(out)
}

/// Adds the page's headers to those that the protocol wrote.
pub(super) fn complete<B>(
    mut out: request::Builder,
    request: &Outgoing,
    body: B,
) -> Result<Request<B>, Failure> {
    for (name, value) in &request.headers {
        out = out.header(name, value);
    }
    out.method(&request.method)
        .body(body)
        .map_err(|error| Failure::new(FailureKind::Protocol, error))
}

pub(super) fn upload(length: u32) -> Bytes {
    Bytes::from(vec![0; length as usize])
}

/// Tells of an answer that comes before the final one, if it hints at something (RFC 8297).
pub(super) fn ahead(id: ResourceId, answer: response::Parts, shared: &Shared) {
    if answer.status == StatusCode::EARLY_HINTS {
        shared.events.tell(What::Ahead(id, answer.headers));
    }
}

/// An answer while it comes in. Each step sends an event.
pub(super) struct Answer<'a> {
    id: ResourceId,
    events: &'a Events,
    receiver: Receiver,
}

impl<'a> Answer<'a> {
    /// Begins an answer whose head has come.
    pub fn begin(
        id: ResourceId,
        request: &Outgoing,
        head: response::Parts,
        shared: &'a Shared,
    ) -> Self {
        let bodiless = bodiless(&request.method, head.status);
        let receiver = Receiver::new(&head.headers, bodiless, &shared.budget);
        let head = Head {
            status: head.status.as_u16(),
            headers: head.headers,
        };
        let events = &shared.events;
        events.tell(What::Headers(id, head));
        Self {
            id,
            events,
            receiver,
        }
    }

    /// Handles the next piece of the answer's body.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let received = self.receiver.push(bytes)?;
        self.events.tell(What::Bytes(self.id, received));
        Ok(())
    }

    /// Ends the answer's body; returns what is known of the whole.
    pub fn finish(self) -> Result<Finish, Failure> {
        self.receiver.finish().map(|(_, finish)| finish)
    }
}

/// Whether an answer has no body whatever its headers say (RFC 9110 section 6.4.1).
fn bodiless(method: &Method, status: StatusCode) -> bool {
    let without = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED];
    *method == Method::HEAD || without.contains(&status) || status.is_informational()
}

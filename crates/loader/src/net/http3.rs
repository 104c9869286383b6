//! HTTP/3 with Chromium's settings.

use std::cell::Cell;
use std::future::poll_fn;

use bytes::{Buf, Bytes};
use dragstrip_http3::{Connection, LastOffer, Offer, Opener, Qpack, Streams};
use h3::client::SendRequest;
use h3::error::{ConnectionError, StreamError};
use http::Version;
use tokio::sync::{Mutex, watch};
use tokio::task::yield_now;

use crate::event::{Failure, FailureKind, Finish, Outgoing};
use crate::input::ResourceId;
use crate::net::Shared;
use crate::net::common::{Answer, Driver, ahead, multiplexed, upload};

/// What Chromium announces (quiche's quic_spdy_session.h, quic_constants.h).
const FIELD_SECTION: u64 = 256 * 1024;
const OFFER: Offer = Offer {
    table_bytes: 64 * 1024,
    blocked_streams: 100,
};

pub(super) struct Handle {
    sender: SendRequest<Opener, Bytes>,
    /// A lock that is held while a request leaves. Chromium's requests are separate tasks, after
    /// each of which its QUIC sends, so each request travels in a separate packet.
    leaving: Mutex<()>,
    /// None until the handshake is through; then whether the server took what was sent before that.
    handshake: watch::Sender<Option<bool>>,
    /// Why the handshake was given up while requests were under way.
    given_up: Cell<Option<&'static str>>,
}

/// Begins HTTP/3 on a connection. With `early` the handshake is not through yet, and `through` must
/// follow. The tables know when the server's settings have come.
pub(super) async fn begin(
    quinn: quinn::Connection,
    last_offer: LastOffer,
    early: bool,
) -> Result<(Handle, Driver, Qpack), Failure> {
    let qpack = Qpack::remembering(OFFER, OFFER.table_bytes, last_offer, early);
    let (mut connection, sender) = h3::client::builder()
        .max_field_section_size(FIELD_SECTION)
        .send_grease(false)
        .build(Connection::new(
            quinn.clone(),
            qpack.clone(),
            Streams::default(),
        ))
        .await
        .map_err(|error| lost(&error))?;
    let driver = Box::pin(async move {
        let end = poll_fn(|cx| connection.poll_close(cx)).await;
        let reason = quinn.close_reason();
        Some(reason.map_or(lost(&end), |reason| {
            Failure::new(FailureKind::Reset, reason)
        }))
    });
    let handshake = watch::Sender::new((!early).then_some(true));
    let handle = Handle {
        sender,
        leaving: Mutex::new(()),
        handshake,
        given_up: Cell::new(None),
    };
    Ok((handle, driver, qpack))
}

impl Handle {
    /// Notes that the handshake is through, and whether early data was taken.
    pub fn through(&self, taken: bool) {
        self.handshake.send_replace(Some(taken));
    }

    /// The handshake failed, and the connection's requests end with it.
    pub fn given_up(&self, why: &'static str) {
        self.given_up.set(Some(why));
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
        let Err(failure) = tried else { return tried };
        if let Some(why) = self.given_up.get() {
            return Err(Failure::new(FailureKind::Timeout, why));
        }
        // The request may have failed only because early data was rejected: then it is sent again.
        let retry = early && {
            let known = handshake.wait_for(Option::is_some).await;
            known.is_ok_and(|taken| *taken == Some(false))
        };
        Err(Failure { retry, ..failure })
    }

    async fn attempt(
        &self,
        id: ResourceId,
        request: &Outgoing,
        shared: &Shared,
    ) -> Result<Finish, Failure> {
        let mut sender = self.sender.clone();
        let leaving = self.leaving.lock().await;
        let sent = sender.send_request(multiplexed(request, Version::HTTP_3)?);
        let mut stream = sent.await.map_err(|error| failure(&error))?;
        if request.body_bytes > 0 {
            let sent = stream.send_data(upload(request.body_bytes)).await;
            sent.map_err(|error| failure(&error))?;
        }
        stream.finish().await.map_err(|error| failure(&error))?;
        yield_now().await; // to quinn, which sends
        drop(leaving);
        let answer = loop {
            let answer = stream
                .recv_response()
                .await
                .map_err(|error| failure(&error))?;
            if !answer.status().is_informational() {
                break answer;
            }
            ahead(id, answer.into_parts().0, shared);
        };
        let (parts, ()) = answer.into_parts();
        let mut answer = Answer::begin(id, request, parts, shared);
        while let Some(mut data) = stream.recv_data().await.map_err(|error| failure(&error))? {
            answer.push(&data.copy_to_bytes(data.remaining()))?;
        }
        answer.finish()
    }
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

//! WebSockets (RFC 6455): their opening, the recorded frames, and their log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{SinkExt, StreamExt};
use http::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use http::{Method, request};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::page::sockets::Frame;
use crate::protocol::Protocol;

/// A WebSocket that a client opened.
#[derive(Debug, Clone, Serialize)]
pub struct WebSocket {
    /// When the request's headers were complete, in microseconds of the Unix epoch.
    pub t_us: u64,
    pub host: String,
    /// The URL, with the scheme wss or ws.
    pub url: String,
    /// The protocol that carries the socket.
    pub protocol: Protocol,
    pub connection: u64,
    pub client_port: u16,
    pub status: u16,
    /// Whether the recording has this socket; if not, the socket stays open and the origin sends
    /// nothing.
    pub recorded: bool,
    #[serde(flatten)]
    pub carried: Carried,
    #[serde(skip)]
    pub(crate) counts: Arc<Counts>,
}

/// How many messages crossed a socket, and how large their payload was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Carried {
    pub sent_messages: u64,
    pub sent_bytes: u64,
    pub received_messages: u64,
    pub received_bytes: u64,
}

/// Messages that have crossed a socket that is still open.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    sent: Direction,
    received: Direction,
}

#[derive(Debug, Default)]
struct Direction {
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Direction {
    fn add(&self, bytes: usize) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn read(&self) -> (u64, u64) {
        let read = |of: &AtomicU64| of.load(Ordering::Relaxed);
        (read(&self.messages), read(&self.bytes))
    }
}

impl Counts {
    pub fn read(&self) -> Carried {
        let (sent_messages, sent_bytes) = self.sent.read();
        let (received_messages, received_bytes) = self.received.read();
        Carried {
            sent_messages,
            sent_bytes,
            received_messages,
            received_bytes,
        }
    }
}

/// The answer to a request that opens a socket, and the frames that follow.
pub(crate) struct Opening {
    /// Headers of the answer.
    pub headers: HeaderMap,
    pub frames: Vec<Frame>,
    pub counts: Arc<Counts>,
    /// How long the origin sends nothing at all.
    pub hold: std::time::Duration,
}

/// The key of a request of HTTP/1.1 that opens one (RFC 6455 section 4.2.1).
pub(crate) fn asked(request: &request::Parts) -> Option<&HeaderValue> {
    let upgrade = request.headers.get(UPGRADE)?.to_str().ok()?;
    let wanted = upgrade
        .split(',')
        .any(|one| one.trim().eq_ignore_ascii_case("websocket"));
    (wanted && request.method == Method::GET)
        .then(|| request.headers.get(SEC_WEBSOCKET_KEY))
        .flatten()
}

/// Returns the headers of an answer with status 101 to this key.
pub(crate) fn upgraded(key: &HeaderValue) -> HeaderMap {
    let accept = derive_accept_key(key.as_bytes());
    HeaderMap::from_iter([
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (
            SEC_WEBSOCKET_ACCEPT,
            HeaderValue::from_str(&accept).expect("base64"),
        ),
    ])
}

/// The subprotocol of the answer: the recorded one if it is offered, else the first. A browser that
/// offers some ends the socket if none is chosen.
pub(crate) fn subprotocol(request: &HeaderMap, recorded: &str) -> Option<HeaderValue> {
    let offers = request.get_all(SEC_WEBSOCKET_PROTOCOL);
    let offers = offers.iter().filter_map(|offer| offer.to_str().ok());
    let offers: Vec<_> = offers.flat_map(|o| o.split(',')).map(str::trim).collect();
    let known = offers.iter().find(|offer| **offer == recorded);
    HeaderValue::from_str(known.or(offers.first())?).ok()
}

/// Sends the recorded frames at their times and answers pings and closes, until the client leaves.
pub(crate) async fn play(stream: impl AsyncRead + AsyncWrite + Unpin, opening: Opening) {
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
    let (opened, counts) = (Instant::now(), opening.counts);
    let mut frames = opening.frames.into_iter().peekable();
    loop {
        let due = frames.peek().map(|frame| opened + frame.at);
        tokio::select! {
            heard = socket.next() => match heard {
                Some(Ok(message)) if message.is_text() || message.is_binary() => {
                    counts.received.add(message.len());
                }
                Some(Ok(_)) => {} // answered by the library
                Some(Err(_)) | None => return,
            },
            () = sleep_until(due.unwrap_or(opened)), if due.is_some() => {
                let message = frames.next().expect("one is due").message;
                let bytes = message.len();
                if socket.send(message).await.is_err() {
                    return;
                }
                counts.sent.add(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn request(headers: &[(&str, &str)]) -> request::Parts {
        let mut made = Request::get("/ws");
        for (name, value) in headers {
            made = made.header(*name, *value);
        }
        made.body(()).unwrap().into_parts().0
    }

    #[test]
    fn only_an_upgrade_with_a_key_opens_a_socket() {
        let key = ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        assert!(asked(&request(&[("upgrade", "WebSocket"), key])).is_some());
        assert!(asked(&request(&[("upgrade", "h2c"), key])).is_none());
        assert!(asked(&request(&[key])).is_none());
        assert!(asked(&request(&[("upgrade", "websocket")])).is_none());
    }

    #[test]
    fn the_answer_proves_that_the_key_was_read() {
        let key = HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==");
        let accept = &upgraded(&key)[SEC_WEBSOCKET_ACCEPT];
        assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="); // RFC 6455 section 1.3
    }

    #[test]
    fn the_recorded_subprotocol_is_chosen_if_it_is_offered() {
        let offers = request(&[("sec-websocket-protocol", "graphql-ws, mqtt")]).headers;
        assert_eq!(subprotocol(&offers, "mqtt").unwrap(), "mqtt");
        assert_eq!(subprotocol(&offers, "other").unwrap(), "graphql-ws");
        assert_eq!(subprotocol(&HeaderMap::new(), "mqtt"), None);
    }
}

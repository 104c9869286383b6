//! The interface between page and network: requests one way, events the other.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::input::{Protocol, ResourceId};
use crate::pool::ConnectionId;

/// Carries requests. Their results come as events, in the order in which they happened.
pub trait Transport {
    /// Begins a connection; `Opened` or `Lost` follows.
    fn open(&mut self, connection: ConnectionId, target: &Target);
    /// Sends a request on an open connection; `Ended` follows.
    fn send(&mut self, connection: ConnectionId, id: ResourceId, request: &Outgoing);
    /// Aborts a connection without requests; events that follow do not matter.
    fn abandon(&mut self, connection: ConnectionId);
    /// Whether the certificate that the connection's host showed covers this host, too.
    fn covers(&self, connection: ConnectionId, host: &str) -> bool;
}

/// The other end of a connection, and what the connection may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub host: String,
    pub port: u16,
    pub secure: bool,
    pub quic: bool,
    /// Whether TLS may offer h2.
    pub h2: bool,
    /// The protocol that the host spoke before. Early data needs to know it.
    pub known: Option<Protocol>,
    /// Whether the request for which the connection is opened may be sent as early data.
    pub early: bool,
}

/// A request as it is sent, without what the protocol adds.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub method: Method,
    pub uri: Uri,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The `priority` field of RFC 9218, for h2 and h3; None where the field is among `headers` or
    /// would say nothing.
    pub priority: Option<HeaderValue>,
    /// Weight of RFC 7540, 1 to 256. RFC 9113 removed it, but Chromium still sends it.
    pub weight: u16,
    pub body_bytes: u32,
    pub credentials: bool,
    /// Whether the request may be sent before the handshake is complete.
    pub safe: bool,
}

#[derive(Debug)]
pub struct Event {
    pub at: Instant,
    pub what: What,
}

#[derive(Debug)]
pub enum What {
    /// TCP's handshake is complete.
    Connected(ConnectionId),
    /// The connection takes requests, by this protocol.
    Opened(ConnectionId, Protocol),
    /// The connection could not be opened or has ended; None if it ended in order.
    Lost(ConnectionId, Option<Failure>),
    /// A connection of h1 takes another request.
    Free(ConnectionId),
    /// The request was given to its connection.
    Sent(ResourceId),
    /// An answer with status 103 arrived before the final one.
    Ahead(ResourceId, HeaderMap),
    Headers(ResourceId, Head),
    Bytes(ResourceId, Received),
    Ended(ResourceId, Result<Finish, Failure>),
}

/// The status and the headers of an answer.
#[derive(Debug, Clone)]
pub struct Head {
    pub status: u16,
    pub headers: HeaderMap,
}

/// Bytes of a body that came so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    pub wire: u64,
    pub decoded: u64,
}

/// The end of a body that came whole.
#[derive(Debug, Clone)]
pub struct Finish {
    pub digest: String,
}

/// Why a request or a connection failed.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
    /// Whether the request never reached the server, so that Chromium sends it again.
    #[serde(skip)]
    pub retry: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureKind {
    Resolve,
    Connect,
    Tls,
    Protocol,
    Reset,
    Truncated,
    Decode,
    Limit,
    Timeout,
    /// The load ended before the request did.
    Unfinished,
}

impl Failure {
    pub fn new(kind: FailureKind, message: impl ToString) -> Self {
        Self {
            kind,
            message: message.to_string(),
            retry: false,
        }
    }
}

/// Sends events to the load. Once the load is over they are lost, harmlessly.
#[derive(Clone)]
pub struct Events(mpsc::UnboundedSender<Event>);

impl Events {
    pub fn channel() -> (Self, mpsc::UnboundedReceiver<Event>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// Sends an event, stamped with the current time.
    pub fn tell(&self, what: What) {
        let at = Instant::now();
        let _ = self.0.send(Event { at, what });
    }
}

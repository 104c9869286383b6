//! The report of a load. Times are microseconds since navigation start.

use serde::Serialize;

use crate::event::Failure;
use crate::input::{Protocol, ResourceId};
use crate::pool::ConnectionId;

/// The answer to one `load`.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Navigation start in microseconds of the Unix epoch.
    pub start_us: u64,
    /// Navigation start in microseconds of CLOCK_MONOTONIC.
    pub start_monotonic_us: u64,
    pub load_event_us: Option<u64>,
    pub end_us: u64,
    pub ended: Ended,
    /// The discovered requests, by resource.
    pub requests: Vec<Request>,
    /// The attempted connections, by id.
    pub connections: Vec<Connection>,
}

/// Why a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// Every request is over and the load event has fired.
    Complete,
    /// The quiet time after the load event is over as well.
    Quiet,
    /// The time limit was reached.
    Time,
    Bytes,
    /// The load ended because there is no document.
    Document,
}

#[derive(Debug, Clone, Serialize)]
pub struct Request {
    pub resource: ResourceId,
    pub url: String,
    /// When the request's conditions were met and the computing before it had ended.
    pub discovered_us: u64,
    /// When the request left the scheduler for the sockets.
    pub queued_us: Option<u64>,
    /// When the request was given to its connection.
    pub sent_us: Option<u64>,
    /// When the answer's headers were complete, or those of a preceding answer with status 103.
    pub first_byte_us: Option<u64>,
    /// When the body's last byte arrived, or the request failed.
    pub end_us: Option<u64>,
    pub status: Option<u16>,
    pub protocol: Option<Protocol>,
    pub connection: Option<ConnectionId>,
    /// Whether the request was sent before the handshake was complete, and the server accepted it.
    pub early_data: bool,
    /// Whether an answer with status 103 named the resource before the page did.
    pub hinted: bool,
    pub headers: Vec<(String, String)>,
    /// Bytes of the body as sent.
    pub wire_bytes: u64,
    /// Bytes of the body without content encoding.
    pub decoded_bytes: u64,
    /// First 16 hex digits of SHA-256 of the decoded body, if it came whole.
    pub digest: Option<String>,
    pub error: Option<Failure>,
}

impl Request {
    pub(crate) fn discovered(resource: ResourceId, url: &str, now_us: u64) -> Self {
        Self {
            resource,
            url: url.to_owned(),
            discovered_us: now_us,
            queued_us: None,
            sent_us: None,
            first_byte_us: None,
            end_us: None,
            status: None,
            protocol: None,
            connection: None,
            early_data: false,
            hinted: false,
            headers: Vec::new(),
            wire_bytes: 0,
            decoded_bytes: 0,
            digest: None,
            error: None,
        }
    }
}

/// One connection, or an attempt at one.
#[derive(Debug, Clone, Serialize)]
pub struct Connection {
    pub id: ConnectionId,
    pub host: String,
    pub port: u16,
    pub address: String,
    pub local_port: Option<u16>,
    pub protocol: Option<Protocol>,
    pub secure: bool,
    pub connect_start_us: Option<u64>,
    pub connect_end_us: Option<u64>,
    pub tls_start_us: Option<u64>,
    pub tls_end_us: Option<u64>,
    /// When the connection began to take requests; with early data, that is before the handshake
    /// was complete.
    pub ready_us: Option<u64>,
    pub closed_us: Option<u64>,
    pub tls_version: Option<&'static str>,
    pub resumed: Option<bool>,
    /// The group in which keys were exchanged, by its number in TLS's registry; None over QUIC, for quinn
    /// does not say.
    pub key_share: Option<u16>,
    /// The scheme by which the server signed, by its number in TLS's registry; None if it resumed.
    pub signature: Option<u16>,
    /// Length (DER) of the certificates that it showed; None if it resumed.
    pub certificate_bytes: Option<usize>,
    pub early_data: EarlyData,
    /// What came of TCP Fast Open; None for QUIC.
    pub tcp_fast_open: Option<FastOpen>,
    pub requests: u64,
    /// Payload bytes that were sent by TCP, without retransmissions, or by UDP.
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// TCP segments sent again, or QUIC packets lost, on the way out.
    pub retransmitted: u64,
    pub rtt_us: Option<u64>,
    pub error: Option<Failure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyData {
    NotOffered,
    /// The early data was sent, and it is not known yet whether the server took it.
    Offered,
    Accepted,
    Rejected,
}

/// The result of TCP Fast Open, as the kernel reports it (TCP_INFO).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FastOpen {
    NotAsked,
    /// The client asked for a cookie; its SYN had no data.
    NoCookie,
    /// The data in the SYN was acknowledged with it.
    Accepted,
    Refused,
}

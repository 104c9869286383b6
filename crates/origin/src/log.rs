//! The request log: what the origin saw. The verdict compares it with the browser's evidence.

use std::fs::File;
use std::io::Write;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::HeaderValue;
use serde::Serialize;

use crate::certs::Shown;
use crate::lock::unpoisoned;
use crate::page::answer::Match;
use crate::protocol::Protocol;
use crate::sockets::WebSocket;
use crate::telemetry::{self, Gauge, Transport};

/// One answered request. Times are microseconds of the Unix epoch.
#[derive(Debug, Clone, Serialize)]
pub struct Served {
    /// When the request's headers were complete.
    pub t_us: u64,
    /// When the request's body was complete; 0 if it never was.
    pub received_us: u64,
    /// Bytes of the request's body; 0 until it is complete.
    pub received_bytes: u64,
    /// When the answer was ready, after the time it was held; 0 if it never was. The answer's first
    /// byte goes to the transport as soon as the transport has room.
    pub ready_us: u64,
    /// When the answer's last byte was handed to the transport; 0 if it never was.
    pub end_us: u64,
    pub host: String,
    pub method: String,
    pub url: String,
    pub protocol: Protocol,
    pub connection: u64,
    pub client_port: u16,
    pub resumed: bool,
    /// Whether the request arrived as early data.
    pub early: bool,
    pub status: u16,
    pub body_bytes: u64,
    #[serde(rename = "match")]
    pub matched: Match,
    /// Digest of the recorded body that was sent, whole or in part.
    pub digest: String,
    /// `link` values of an answer with status 103 that went ahead of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

/// One connection, or an attempt at one.
#[derive(Debug, Clone, Serialize)]
pub struct Connection {
    /// Number of the connection, unique in this process.
    pub id: u64,
    /// The protocol that the ends agreed on; None if the handshake failed before that.
    pub protocol: Option<Protocol>,
    /// The server name that the client requested; empty if the client did not get that far.
    pub host: String,
    /// False for http://.
    pub secure: bool,
    pub client_port: u16,
    /// The origin's address to which the client connected; None on a Unix socket.
    pub address: Option<IpAddr>,
    /// Port at which the connection's server announces h3 (RFC 7838): the server's own port, as in
    /// URLs.
    #[serde(skip)]
    pub(crate) announced: u16,
    /// When the connection was accepted, before the handshake.
    pub t_us: u64,
    /// When the handshake ended or failed; with early data, when the early data arrived; 0 before.
    pub handshake_end_us: u64,
    pub resumed: bool,
    /// The group in which keys were exchanged; None if the handshake failed before.
    pub key_share: Option<String>,
    /// The certificates that the connection sent; none when resuming.
    #[serde(flatten)]
    pub shown: Option<Shown>,
    /// Whether the client came back with the token of a Retry packet. TCP has none.
    pub retried: bool,
    /// Why the handshake failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// State of the sending side when the connection ended, or now if it is open; None if there was
    /// no connection.
    pub transport: Option<Transport>,
    #[serde(skip)]
    pub(crate) gauge: Gauge,
    #[serde(skip)]
    pub(crate) asked: Asked,
}

/// When a connection got its first request; all its requests share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked(Arc<OnceLock<Instant>>);

impl Asked {
    /// Returns how long ago the first request came; the call for the first request sets that time.
    pub fn age(&self) -> Duration {
        self.0.get_or_init(Instant::now).elapsed()
    }
}

impl Connection {
    /// Makes the record of a connection that was accepted just now, before its handshake.
    pub(crate) fn accepted(id: u64, client_port: u16) -> Self {
        Self {
            id,
            protocol: None,
            host: String::new(),
            secure: true,
            client_port,
            address: None,
            announced: 443,
            t_us: now_us(),
            handshake_end_us: 0,
            resumed: false,
            key_share: None,
            shown: None,
            retried: false,
            error: None,
            transport: None,
            gauge: Gauge::default(),
            asked: Asked::default(),
        }
    }
}

/// Everything that was logged since the last call of `drain`.
#[derive(Debug, Default, Serialize)]
pub struct Entries {
    pub requests: Vec<Served>,
    pub connections: Vec<Connection>,
    pub sockets: Vec<WebSocket>,
    /// CPU time of the origin since it started, seconds.
    pub cpu_s: f64,
}

/// Collects in memory; `file` gets the same as JSON lines.
#[derive(Default)]
pub struct Log {
    entries: Mutex<Entries>,
    file: Option<Mutex<File>>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Line<'a> {
    Request(&'a Served),
    Connection(&'a Connection),
    Socket(&'a WebSocket),
}

impl Log {
    pub fn new(file: Option<File>) -> Self {
        Self {
            entries: Mutex::default(),
            file: file.map(Mutex::new),
        }
    }

    /// Returns everything since the last call, in the order of time.
    pub fn drain(&self) -> Entries {
        let mut entries = std::mem::take(&mut *unpoisoned(&self.entries));
        entries.requests.sort_by_key(|served| served.t_us);
        entries
            .connections
            .sort_by_key(|connection| connection.t_us);
        read_gauges(&mut entries.connections);
        for socket in &mut entries.sockets {
            socket.carried = socket.counts.read();
        }
        entries.cpu_s = telemetry::cpu_s();
        entries
    }

    /// Returns the connections that `drain` would return, in their current state.
    pub fn connections(&self) -> Vec<Connection> {
        let mut connections = unpoisoned(&self.entries).connections.clone();
        read_gauges(&mut connections);
        connections
    }

    /// Logs a connection whose handshake ended, or failed, just now.
    pub(crate) fn connection(&self, mut connection: Connection) {
        connection.handshake_end_us = now_us();
        self.append(&Line::Connection(&connection));
        unpoisoned(&self.entries).connections.push(connection);
    }

    pub(crate) fn socket(&self, socket: WebSocket) {
        self.append(&Line::Socket(&socket));
        unpoisoned(&self.entries).sockets.push(socket);
    }

    fn served(&self, served: Served) {
        self.append(&Line::Request(&served));
        unpoisoned(&self.entries).requests.push(served);
    }

    fn append(&self, line: &Line) {
        let Some(file) = &self.file else { return };
        let text = serde_json::to_string(line).expect("log lines are plain data") + "\n";
        if let Err(error) = unpoisoned(file).write_all(text.as_bytes()) {
            eprintln!("dragstrip-origin: the log file cannot be written: {error}");
        }
    }
}

/// A request under way. It is logged when its answer was handed to the transport, or with `end_us`
/// 0 when the answer is given up.
pub(crate) struct InFlight {
    served: Option<Served>,
    log: Arc<Log>,
}

impl InFlight {
    pub fn new(served: Served, log: Arc<Log>) -> Self {
        Self {
            served: Some(served),
            log,
        }
    }

    /// Marks the request as complete, with the size of its body.
    pub fn received(&mut self, bytes: u64) {
        if let Some(served) = &mut self.served {
            served.received_us = now_us();
            served.received_bytes = bytes;
        }
    }

    /// Marks the answer as ready.
    pub fn ready(&mut self) {
        if let Some(served) = &mut self.served {
            served.ready_us = now_us();
        }
    }

    /// Records that an answer with status 103 was sent first.
    pub fn hinted(&mut self, links: &[HeaderValue]) {
        let text = |link: &HeaderValue| String::from_utf8_lossy(link.as_bytes()).into_owned();
        if let Some(served) = &mut self.served {
            served.hints = links.iter().map(text).collect();
        }
    }

    pub fn finish(&mut self) {
        if let Some(mut served) = self.served.take() {
            served.end_us = now_us();
            self.log.served(served);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(served) = self.served.take() {
            self.log.served(served);
        }
    }
}

fn read_gauges(connections: &mut [Connection]) {
    for connection in connections {
        connection.transport = connection.gauge.read();
    }
}

pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the clock is past 1970");
    since.as_micros() as u64
}

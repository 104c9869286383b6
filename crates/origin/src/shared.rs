//! State that all connections of an origin share, and the answers that they give from it.

use std::collections::HashMap;
use std::fs::File;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use http::{HeaderValue, Method, StatusCode, header, request, uri};
use socket2::Socket;

use crate::certs::Authority;
use crate::connections::Connections;
use crate::lock::unpoisoned;
use crate::log::{Connection, InFlight, Log, Served, now_us};
use crate::page::answer::{Answer, Match};
use crate::page::replay::Replay;
use crate::page::url::{host_of, normal};
use crate::protocol::Protocol;
use crate::servers::Servers;
use crate::sockets::{self, Carried, Counts, Opening, WebSocket};
use crate::tuning::Tuning;

/// Most bytes of a request's headers, in every protocol; above that, the answer is 431. No browser
/// sends as many: its cookies for a site have at most 180 x 4096 bytes.
pub(crate) const MAX_HEADER_BYTES: u32 = 1 << 20;

/// Most header lines of a request over h1; h2 and h3 count bytes only.
pub(crate) const MAX_HEADERS: usize = 4096;

/// What every connection needs.
pub(crate) struct Shared {
    pub authority: Arc<Authority>,
    pub connections: Connections,
    pub log: Arc<Log>,
    pub replay: Mutex<Replay>,
    pub servers: Mutex<Servers>,
    pub tuning: Mutex<Tuning>,
    /// The hosts of the recording.
    pub hosts: Mutex<Vec<String>>,
    pub qlog: Mutex<Option<PathBuf>>,
    last_connection: AtomicU64,
    /// Second handles on the listening TCP sockets.
    pub listeners: Mutex<Vec<Socket>>,
    /// The round trip of a client's last QUIC connection to a host, for the client's resumed
    /// connections.
    round_trips: Mutex<HashMap<Path, Duration>>,
}

/// The two ends that determine a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Path {
    pub client: IpAddr,
    /// The origin's address; None where the kernel does not tell it.
    pub host: Option<IpAddr>,
}

/// Waits as long as the recorded server took to answer. Tokio's shortest sleep is a millisecond.
pub(crate) async fn think(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

impl Shared {
    pub fn new(log: Option<File>) -> Result<Self> {
        Ok(Self {
            authority: Arc::new(Authority::new()?),
            connections: Connections::default(),
            log: Arc::new(Log::new(log)),
            replay: Mutex::default(),
            servers: Mutex::default(),
            tuning: Mutex::default(),
            hosts: Mutex::default(),
            qlog: Mutex::default(),
            last_connection: AtomicU64::new(0),
            listeners: Mutex::default(),
            round_trips: Mutex::default(),
        })
    }

    pub fn tuning(&self) -> Tuning {
        unpoisoned(&self.tuning).clone()
    }

    pub fn qlog(&self) -> Option<PathBuf> {
        unpoisoned(&self.qlog).clone()
    }

    pub fn round_trip(&self, path: Path) -> Option<Duration> {
        unpoisoned(&self.round_trips).get(&path).copied()
    }

    pub fn keep_round_trip(&self, path: Path, rtt: Duration) {
        unpoisoned(&self.round_trips).insert(path, rtt);
    }

    pub fn keep_listener(&self, listener: Socket) {
        unpoisoned(&self.listeners).push(listener);
    }

    pub fn next_connection(&self) -> u64 {
        self.last_connection.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Opens the WebSocket that a request asks for, and logs its opening under this status.
    pub fn socket(
        &self,
        request: &request::Parts,
        connection: &Connection,
        status: StatusCode,
    ) -> Opening {
        let authority = authority_of(request, connection);
        let target = request
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        let recorded = unpoisoned(&self.replay).socket(connection.secure, &authority, target);
        let chosen = recorded.as_ref().map_or("", |socket| &socket.subprotocol);
        let chosen = sockets::subprotocol(&request.headers, chosen);
        let counts = Arc::<Counts>::default();
        let scheme = if connection.secure { "wss" } else { "ws" };
        self.log.socket(WebSocket {
            t_us: now_us(),
            host: host_of(&authority),
            url: format!("{scheme}://{authority}{target}"),
            protocol: connection
                .protocol
                .expect("requests come after the handshake"),
            connection: connection.id,
            client_port: connection.client_port,
            status: status.as_u16(),
            recorded: recorded.is_some(),
            carried: Carried::default(),
            counts: counts.clone(),
        });
        let hold = Duration::from_secs_f64(self.tuning().http.hold_ms / 1000.0);
        Opening {
            headers: chosen
                .map(|chosen| (header::SEC_WEBSOCKET_PROTOCOL, chosen))
                .into_iter()
                .collect(),
            frames: recorded.map_or(Vec::new(), |socket| socket.frames),
            counts,
            hold: hold.saturating_sub(connection.asked.age()),
        }
    }

    /// Returns the answer to a request, and the request's line of the log, which is still open.
    pub fn answer(
        &self,
        request: &request::Parts,
        connection: &Connection,
        early: bool,
    ) -> (Answer, InFlight) {
        let t_us = now_us();
        let protocol = connection
            .protocol
            .expect("requests come after the handshake");
        let authority = authority_of(request, connection);
        let host = host_of(&authority);
        let mut answer = if unpoisoned(&self.servers).misdirected(&host, connection.address) {
            Answer::empty(StatusCode::MISDIRECTED_REQUEST, Match::Misdirected)
        } else {
            unpoisoned(&self.replay).answer(connection.secure, &authority, request)
        };
        let tuned = self.tuning().http;
        let hold = Duration::from_secs_f64(tuned.hold_ms / 1000.0);
        answer.hold = hold.saturating_sub(connection.asked.age());
        // Servers announce h3 over QUIC as well. A browser that is forced to use QUIC and never sees
        // the announcement treats the host as one without priorities: six images at a time.
        if (tuned.alt_svc || protocol == Protocol::H3) && connection.secure {
            let here = format!("h3=\":{}\"; ma=86400", connection.announced);
            let here = HeaderValue::from_str(&here).expect("digits");
            answer.headers.insert(header::ALT_SVC, here);
        }
        let target = request
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        let scheme = if connection.secure { "https" } else { "http" };
        let url = format!("{scheme}://{authority}{target}");
        let found = answer.matched != Match::Misdirected;
        if found && protocol != Protocol::H1 && request.method == Method::GET {
            answer.hints = tuned.hints(&url);
        }
        let served = Served {
            t_us,
            received_us: 0,
            received_bytes: 0,
            ready_us: 0,
            end_us: 0,
            host,
            method: request.method.to_string(),
            url,
            protocol,
            connection: connection.id,
            client_port: connection.client_port,
            resumed: connection.resumed,
            early,
            status: answer.status.as_u16(),
            body_bytes: answer.body.len() as u64,
            matched: answer.matched,
            digest: answer.digest.clone(),
            hints: Vec::new(),
        };
        (answer, InFlight::new(served, self.log.clone()))
    }
}

/// The host that a request is for: `host[:port]`, without the scheme's own port.
fn authority_of(request: &request::Parts, connection: &Connection) -> String {
    let header = || request.headers.get(header::HOST)?.to_str().ok();
    let authority = request.uri.authority().map(uri::Authority::as_str);
    normal(
        authority.or_else(header).unwrap_or_default(),
        connection.secure,
    )
}

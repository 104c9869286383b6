//! The origin as a whole: what its transports share, and what can be asked of it.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use http::{HeaderValue, header, request};
use serde::Serialize;
use socket2::Socket;

use crate::certs::Authority;
use crate::connections::Connections;
use crate::log::{Connection, Entries, InFlight, Log, Protocol, Served, now_us, unpoisoned};
use crate::page::answer::Answer;
use crate::page::recording::{Recording, host_of};
use crate::page::replay::Replay;
use crate::tcp::fast_open;
use crate::tcp::plain;
use crate::tuning::Tuning;
use crate::{quic, tcp};

/// Streams a client may have open at once, for h2 and h3 alike.
pub(crate) const MAX_STREAMS: u32 = 256;

/// What `Origin::page` reports about the recording it now serves.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub name: String,
    pub hosts: Vec<String>,
    pub objects: usize,
    /// Issuer of the certificates it answers with.
    pub authority: String,
}

/// What another server needs to speak for this origin's hosts, in PEM.
#[derive(Debug, Serialize)]
pub struct Certificates {
    /// Of all leaves.
    pub key: String,
    /// Leaf and intermediate by host.
    pub chains: BTreeMap<String, String>,
    /// The same for all hosts at once, for servers that take one certificate.
    pub shared: String,
}

/// A running server. It lives as long as the runtime it was bound in.
pub struct Origin {
    shared: Arc<Shared>,
    port: u16,
}

/// What every connection needs.
pub(crate) struct Shared {
    pub authority: Arc<Authority>,
    pub connections: Connections,
    pub log: Arc<Log>,
    replay: Mutex<Replay>,
    tuning: Mutex<Tuning>,
    qlog: Mutex<Option<PathBuf>>,
    last_connection: AtomicU64,
    /// Second handles on the listening TCP sockets.
    listeners: Mutex<Vec<Socket>>,
    /// The last round trip of a client's QUIC connections, for its resumed ones.
    round_trips: Mutex<HashMap<IpAddr, Duration>>,
}

impl Origin {
    /// Listens on every address, TCP and UDP; port 0 takes a free one. IPv6 is left out where the
    /// machine has none.
    pub fn bind(port: u16, log: Option<File>) -> Result<Self> {
        let shared = Arc::new(Shared {
            authority: Arc::new(Authority::new()?),
            connections: Connections::default(),
            log: Arc::new(Log::new(log)),
            replay: Mutex::default(),
            tuning: Mutex::default(),
            qlog: Mutex::default(),
            last_connection: AtomicU64::new(0),
            listeners: Mutex::default(),
            round_trips: Mutex::default(),
        });
        let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let port =
            tcp::listen(v4, &shared, true)?.with_context(|| format!("{v4}: no IPv4 here"))?;
        let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        quic::listen(v4, &shared)?;
        let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        tcp::listen(v6, &shared, true)?;
        quic::listen(v6, &shared)?;
        Ok(Self { shared, port })
    }

    /// Also answers http:// URLs, on every address; returns the port.
    pub fn http(&self, port: u16) -> Result<u16> {
        let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let port = tcp::listen(v4, &self.shared, false)?.context("no IPv4 here")?;
        let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        tcp::listen(v6, &self.shared, false)?;
        Ok(port)
    }

    /// Also answers plain HTTP/1.1 on a Unix socket, which must not exist yet.
    pub fn plain(&self, socket: &Path) -> Result<()> {
        plain::listen(socket, &self.shared)
    }

    /// Chains like those this origin sends. An error if a host is no DNS name.
    pub fn certificates(&self, hosts: &[String]) -> Result<Certificates> {
        let authority = &self.shared.authority;
        let chain = |host: &String| Ok((host.clone(), authority.chain_pem(&[host])?));
        let all: Vec<&str> = hosts.iter().map(String::as_str).collect();
        Ok(Certificates {
            key: authority.leaf_key_pem(),
            chains: hosts.iter().map(chain).collect::<Result<_>>()?,
            shared: authority.chain_pem(&all)?,
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate a client must trust.
    pub fn root_pem(&self) -> &str {
        self.shared.authority.root_pem()
    }

    /// Serves this recording from now on. Issues its certificates, so that no visit waits for one.
    /// With `think` each answer takes as long as the recorded server took for it.
    pub fn page(&self, path: &Path, think: bool) -> Result<Summary> {
        let mut recording = Recording::open(path)?;
        if !think {
            let entries = recording.entries.iter_mut();
            entries.for_each(|entry| entry.think = Duration::ZERO);
        }
        let hosts = recording.hosts();
        for host in &hosts {
            self.shared
                .authority
                .issue(host)
                .with_context(|| path.display().to_string())?;
        }
        let summary = Summary {
            name: recording.name.clone(),
            hosts,
            objects: recording.entries.len(),
            authority: self.shared.authority.name().to_owned(),
        };
        *unpoisoned(&self.shared.replay) = Replay::new(recording);
        Ok(summary)
    }

    /// Holds for connections accepted from now on. An error, and no change, if it cannot be had.
    pub fn tune(&self, tuning: Tuning) -> Result<Tuning> {
        tuning.check()?;
        for listener in unpoisoned(&self.shared.listeners).iter() {
            fast_open::set(listener, tuning.tcp.fast_open).context("tune.tcp.fast_open")?;
        }
        *unpoisoned(&self.shared.tuning) = tuning.clone();
        Ok(tuning)
    }

    /// Connections accepted from now on write qlog into this folder; None ends that.
    pub fn qlog(&self, folder: Option<PathBuf>) {
        *unpoisoned(&self.shared.qlog) = folder;
    }

    /// Ends every connection, open streams included, and starts repeated entries from the first
    /// again. Session tickets stay good. Returns how many connections (tcp, quic).
    pub async fn close(&self) -> (usize, usize) {
        let counts = self.shared.connections.close().await;
        unpoisoned(&self.shared.replay).rewind();
        counts
    }

    /// The connections logged since the last `log`, as they stand now; they stay in the log.
    pub fn connections(&self) -> Vec<Connection> {
        self.shared.log.connections()
    }

    /// What was logged since the last call.
    pub fn log(&self) -> Entries {
        self.shared.log.drain()
    }
}

impl Shared {
    pub fn tuning(&self) -> Tuning {
        unpoisoned(&self.tuning).clone()
    }

    pub fn qlog(&self) -> Option<PathBuf> {
        unpoisoned(&self.qlog).clone()
    }

    pub fn round_trip(&self, client: IpAddr) -> Option<Duration> {
        unpoisoned(&self.round_trips).get(&client).copied()
    }

    pub fn keep_round_trip(&self, client: IpAddr, rtt: Duration) {
        unpoisoned(&self.round_trips).insert(client, rtt);
    }

    pub fn keep_listener(&self, listener: Socket) {
        unpoisoned(&self.listeners).push(listener);
    }

    pub fn next_connection(&self) -> u64 {
        self.last_connection.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The answer to a request, and its line of the log, still open.
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
        let header = || request.headers.get(header::HOST)?.to_str().ok();
        let authority = request.uri.authority().map(|authority| authority.as_str());
        let authority = authority.or_else(header).unwrap_or_default();
        let host = host_of(authority);
        let mut answer = unpoisoned(&self.replay).answer(connection.secure, &host, request);
        let tuned = self.tuning().http;
        let hold = Duration::from_secs_f64(tuned.hold_ms / 1000.0);
        answer.think += hold.saturating_sub(connection.asked.age());
        // As servers do over QUIC itself. A browser that was made to speak QUIC and is told of it by
        // nobody takes the host for one without priorities, and has it answer six images at a time.
        if (tuned.alt_svc || protocol == Protocol::H3) && connection.secure {
            let here = HeaderValue::from_static("h3=\":443\"; ma=86400");
            answer.headers.insert(header::ALT_SVC, here);
        }
        let target = request
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        let scheme = if connection.secure { "https" } else { "http" };
        let served = Served {
            t_us,
            end_us: 0,
            host,
            method: request.method.to_string(),
            url: format!("{scheme}://{authority}{target}"),
            protocol,
            connection: connection.id,
            client_port: connection.client_port,
            resumed: connection.resumed,
            early,
            status: answer.status.as_u16(),
            body_bytes: answer.body.len() as u64,
            matched: answer.matched,
            digest: answer.digest.clone(),
        };
        (answer, InFlight::new(served, self.log.clone()))
    }
}

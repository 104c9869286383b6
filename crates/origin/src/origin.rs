//! The origin as a whole: what its transports share, and what can be asked of it.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{self, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use http::{HeaderValue, Method, StatusCode, header, request};
use serde::Serialize;
use socket2::Socket;

use crate::certs::Authority;
use crate::connections::Connections;
use crate::log::{Connection, Entries, InFlight, Log, Protocol, Served, now_us, unpoisoned};
use crate::page::answer::Answer;
use crate::page::recording::{Recording, host_of, normal};
use crate::page::replay::{Match, Replay};
use crate::servers::Servers;
use crate::sockets::{self, Carried, Counts, Opening, WebSocket};
use crate::tcp::fast_open;
use crate::tcp::plain;
use crate::tuning::{Tuning, check_chain};
use crate::{quic, tcp};

/// Most bytes of a request's headers, in every protocol; above, the answer is 431. No browser sends as
/// many: its cookies for a site have at most 180 x 4096 bytes.
pub(crate) const MAX_HEADER_BYTES: u32 = 1 << 20;

/// Most header lines of a request over h1; h2 and h3 count bytes only.
pub(crate) const MAX_HEADERS: usize = 4096;

/// The port of https, as URLs have it.
const HTTPS: u16 = 443;

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
    /// The further ports of pages, and whether they answer by TLS.
    others: Mutex<BTreeMap<u16, bool>>,
}

/// What every connection needs.
pub(crate) struct Shared {
    pub authority: Arc<Authority>,
    pub connections: Connections,
    pub log: Arc<Log>,
    replay: Mutex<Replay>,
    servers: Mutex<Servers>,
    tuning: Mutex<Tuning>,
    /// Of the recording.
    hosts: Mutex<Vec<String>>,
    qlog: Mutex<Option<PathBuf>>,
    last_connection: AtomicU64,
    /// Second handles on the listening TCP sockets.
    listeners: Mutex<Vec<Socket>>,
    /// The last round trip of a client's QUIC connections to a host, for its resumed ones.
    round_trips: Mutex<HashMap<Path, Duration>>,
}

/// What decides a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Path {
    pub client: IpAddr,
    /// Ours; None where the kernel does not tell.
    pub host: Option<IpAddr>,
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
            servers: Mutex::default(),
            tuning: Mutex::default(),
            hosts: Mutex::default(),
            qlog: Mutex::default(),
            last_connection: AtomicU64::new(0),
            listeners: Mutex::default(),
            round_trips: Mutex::default(),
        });
        let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let port = tcp::listen(v4, &shared, true, HTTPS)?
            .with_context(|| format!("{v4}: no IPv4 here"))?;
        let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        quic::listen(v4, &shared, HTTPS)?;
        let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        tcp::listen(v6, &shared, true, HTTPS)?;
        quic::listen(v6, &shared, HTTPS)?;
        Ok(Self {
            shared,
            port,
            others: Mutex::default(),
        })
    }

    /// Also answers on another port of a page, by TLS and QUIC or by neither.
    fn also(&self, port: u16, secure: bool) -> Result<()> {
        for address in [
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
        ] {
            tcp::listen(address, &self.shared, secure, port)?;
            if secure {
                quic::listen(address, &self.shared, port)?;
            }
        }
        Ok(())
    }

    /// Answers on all ports of a recording from now on.
    fn open_ports(&self, recording: &Recording) -> Result<()> {
        let mut others = unpoisoned(&self.others);
        for (port, how) in recording.ports() {
            for secure in how {
                match others.get(&port) {
                    Some(known) if *known == secure => {}
                    Some(_) => bail!("port {port} answers http and https: no server does both"),
                    None => {
                        self.also(port, secure)?;
                        others.insert(port, secure);
                    }
                }
            }
        }
        Ok(())
    }

    /// Also answers http:// URLs, on every address; returns the port.
    pub fn http(&self, port: u16) -> Result<u16> {
        let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let port = tcp::listen(v4, &self.shared, false, HTTPS)?.context("no IPv4 here")?;
        let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        tcp::listen(v6, &self.shared, false, HTTPS)?;
        Ok(port)
    }

    /// Also answers plain HTTP/1.1 on a Unix socket, which must not exist yet.
    pub fn plain(&self, socket: &path::Path) -> Result<()> {
        plain::listen(socket, &self.shared)
    }

    /// Chains like those this origin sends, of the size that `tune` calls `certificate_bytes`. An error
    /// if a host is no DNS name.
    pub fn certificates(
        &self,
        hosts: &[String],
        certificate_bytes: Option<u32>,
    ) -> Result<Certificates> {
        check_chain(certificate_bytes)?;
        let least = certificate_bytes.unwrap_or(0) as usize;
        let authority = &self.shared.authority;
        let mut made = HashMap::new();
        let mut chains = BTreeMap::new();
        for host in hosts {
            let names = authority.names(host);
            if !made.contains_key(&names) {
                made.insert(names.clone(), authority.chain_pem(&names, least)?);
            }
            chains.insert(host.clone(), made[&names].clone());
        }
        Ok(Certificates {
            key: authority.leaf_key_pem(),
            chains,
            shared: authority.chain_pem(hosts, least)?,
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate a client must trust.
    pub fn root_pem(&self) -> &str {
        self.shared.authority.root_pem()
    }

    /// Serves hosts at these addresses and with these certificates from now on, and answers 421 at any
    /// other address.
    pub fn place(&self, servers: Servers) {
        self.shared.authority.share(&servers.certificates);
        *unpoisoned(&self.shared.servers) = servers;
    }

    /// Serves this recording from now on. Issues its certificates, so that no visit waits for one.
    /// With `think` each answer takes as long as the recorded server took for it; else only that to
    /// a long poll does.
    pub fn page(&self, path: &path::Path, think: bool) -> Result<Summary> {
        let mut recording = Recording::open(path)?;
        recording.thinks = think;
        self.open_ports(&recording)
            .with_context(|| path.display().to_string())?;
        let hosts = recording.hosts();
        self.issue(&hosts, &self.shared.tuning())
            .with_context(|| path.display().to_string())?;
        unpoisoned(&self.shared.hosts).clone_from(&hosts);
        let summary = Summary {
            name: recording.name.clone(),
            hosts,
            objects: recording.entries.len(),
            authority: self.shared.authority.name().to_owned(),
        };
        *unpoisoned(&self.shared.replay) = Replay::new(recording);
        Ok(summary)
    }

    fn issue(&self, hosts: &[String], tuning: &Tuning) -> Result<()> {
        let least = tuning.tls.chain_bytes();
        for host in hosts {
            self.shared.authority.issue(host, least)?;
        }
        Ok(())
    }

    /// Holds for connections accepted from now on. An error, and no change, if it cannot be had.
    pub fn tune(&self, tuning: Tuning) -> Result<Tuning> {
        tuning.check()?;
        self.issue(&unpoisoned(&self.shared.hosts), &tuning)?;
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

/// As long as the recorded server took. Tokio's shortest sleep is a millisecond.
pub(crate) async fn think(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

impl Shared {
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

    /// Opens the WebSocket that a request asks for, and logs that under this status.
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
        // As servers do over QUIC itself. A browser that was made to speak QUIC and is told of it by
        // nobody takes the host for one without priorities, and has it answer six images at a time.
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

/// Whom a request is for: `host[:port]`, without the scheme's own port.
fn authority_of(request: &request::Parts, connection: &Connection) -> String {
    let header = || request.headers.get(header::HOST)?.to_str().ok();
    let authority = request.uri.authority().map(|authority| authority.as_str());
    normal(
        authority.or_else(header).unwrap_or_default(),
        connection.secure,
    )
}

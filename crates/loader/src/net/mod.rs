//! The real network: TCP and QUIC connections, and requests over them. Everything runs as local tasks
//! of one thread and reports through `Events`; dropping the `LocalSet` they run in ends them all.

mod acks;
pub mod clock;
mod common;
mod datagram;
mod early;
mod first_flight;
mod http1;
mod http2;
mod http3;
mod hybrid;
mod memory;
mod probes;
mod quic;
mod session;
mod socket;
mod tcp;
mod tickets;
pub mod tls;
mod weights;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Result;
use rustls::{ClientConnection, HandshakeKind, ProtocolVersion};
use socket2::Socket;
use tokio::task::AbortHandle;

use crate::body::Budget;
use crate::event::{Events, Failure, FailureKind, Outgoing, Target, Transport, What};
use crate::input::{self, ResourceId};
use crate::net::clock::Clock;
use crate::pool::ConnectionId;
use crate::report::{Connection, EarlyData, FastOpen};
pub use memory::NetMemory;
use tls::Verifier;

/// A connection's line in the report, while it is being written.
type Line = Rc<RefCell<Connection>>;

/// The part of an open connection that carries requests.
enum Handle {
    H1(http1::Handle),
    H2(http2::Handle),
    H3(http3::Handle),
}

/// What the loader can ask about a connection until its end.
enum Probe {
    /// A second handle on a TCP connection's socket.
    Tcp(Socket),
    Quic(quinn::Connection, quinn::Endpoint),
}

/// What all tasks of a load share.
#[derive(Clone)]
struct Shared {
    clock: Clock,
    events: Events,
    budget: Budget,
    handles: Rc<RefCell<BTreeMap<ConnectionId, Rc<Handle>>>>,
    probes: Rc<RefCell<BTreeMap<ConnectionId, Probe>>>,
}

pub struct Network {
    shared: Shared,
    hosts: BTreeMap<String, input::Place>,
    fast_open: bool,
    /// TLS settings without h2, and those with h2.
    tcp: [rustls::ClientConfig; 2],
    verifier: Arc<Verifier>,
    quic: quic::Client,
    lines: BTreeMap<ConnectionId, Line>,
    opening: BTreeMap<ConnectionId, AbortHandle>,
}

impl Network {
    /// Begins the network of a load; `seed` is for the randomness of QUIC itself. An error if the
    /// file of authorities cannot be read.
    pub fn new(
        load: &input::Load,
        memory: &mut NetMemory,
        seed: u64,
        clock: Clock,
        events: Events,
        budget: Budget,
    ) -> Result<Self> {
        let mut tcp = |alpn: &[&str]| memory.tls.tcp(&load.ca, load.tls, alpn);
        let ((h1, verifier), (h2, _)) = (tcp(&["http/1.1"])?, tcp(&["h2", "http/1.1"])?);
        Ok(Self {
            shared: Shared {
                clock,
                events,
                budget,
                handles: Rc::default(),
                probes: Rc::default(),
            },
            hosts: load.hosts.clone(),
            fast_open: load.tcp.fast_open,
            tcp: [h1, h2],
            verifier,
            quic: memory.quic(&load.ca, load.tls, seed)?,
            lines: BTreeMap::new(),
            opening: BTreeMap::new(),
        })
    }

    /// Closes the connections; returns everything that was recorded of them.
    pub fn close(self) -> Vec<Connection> {
        let ids: Vec<ConnectionId> = self.lines.keys().copied().collect();
        for id in ids {
            self.shared.end(id, &self.lines[&id]);
        }
        let finished = |line: Line| line.borrow().clone();
        self.lines.into_values().map(finished).collect()
    }
}

impl Transport for Network {
    fn open(&mut self, connection: ConnectionId, target: &Target) {
        let place = self.hosts.get(&target.host);
        let address = place.map(|place| place.socket(target.secure, target.port));
        let line = Rc::new(RefCell::new(Connection::begun(connection, target, address)));
        self.lines.insert(connection, line.clone());
        let Some(address) = address else {
            let message = format!("load.hosts has no {}", target.host);
            let failure = Failure::new(FailureKind::Resolve, message);
            return self.shared.lost(connection, &line, Some(failure));
        };
        let (shared, target) = (self.shared.clone(), target.clone());
        if target.quic {
            let client = self.quic.clone();
            spawn(quic::open(
                connection, target, address, client, line, shared,
            ));
        } else {
            let tls = target.secure.then(|| {
                (
                    self.tcp[usize::from(target.h2)].clone(),
                    self.verifier.clone(),
                )
            });
            let fast_open = self.fast_open;
            let opening = tcp::open(connection, target, address, tls, fast_open, line, shared);
            let task = tokio::task::spawn_local(opening);
            self.opening.insert(connection, task.abort_handle());
        }
    }

    fn abandon(&mut self, connection: ConnectionId) {
        if let Some(task) = self.opening.remove(&connection) {
            task.abort();
        }
        if let Some(line) = self.lines.get(&connection) {
            line.borrow_mut().closed_us = Some(self.shared.clock.now_us());
            self.shared.end(connection, line);
        }
    }

    fn covers(&self, connection: ConnectionId, host: &str) -> bool {
        self.lines.get(&connection).is_some_and(|line| {
            let line = line.borrow();
            let verifier = match line.protocol {
                Some(input::Protocol::H3) => self.quic.verifier(),
                _ => &self.verifier,
            };
            verifier.covers(&line.host, host)
        })
    }

    fn send(&mut self, connection: ConnectionId, id: ResourceId, request: &Outgoing) {
        let handle = self.shared.handles.borrow().get(&connection).cloned();
        let (shared, request) = (self.shared.clone(), request.clone());
        let Some(handle) = handle else {
            let failure = Failure {
                retry: true,
                ..Failure::new(FailureKind::Reset, "the connection is gone")
            };
            return shared.events.tell(What::Ended(id, Err(failure)));
        };
        if let Some(line) = self.lines.get(&connection) {
            line.borrow_mut().requests += 1;
        }
        spawn(async move {
            shared.events.tell(What::Sent(id));
            let ended = match &*handle {
                Handle::H1(handle) => handle.exchange(id, &request, &shared).await,
                Handle::H2(handle) => handle.exchange(id, &request, &shared).await,
                Handle::H3(handle) => handle.exchange(id, &request, &shared).await,
            };
            shared.events.tell(What::Ended(id, ended));
            if let Handle::H1(handle) = &*handle {
                handle.wait_until_free(connection, &shared).await;
            }
        });
    }
}

impl Shared {
    /// Completes the record of a connection that never opened, or has ended.
    fn lost(&self, id: ConnectionId, line: &Line, failure: Option<Failure>) {
        {
            let mut line = line.borrow_mut();
            line.closed_us = Some(self.clock.now_us());
            line.error = failure.clone();
        }
        self.end(id, line);
        self.events.tell(What::Lost(id, failure));
    }

    fn end(&self, id: ConnectionId, line: &Line) {
        self.handles.borrow_mut().remove(&id);
        if let Some(probe) = self.probes.borrow_mut().remove(&id) {
            probe.read(&mut line.borrow_mut());
            probe.close();
        }
    }
}

impl Probe {
    fn read(&self, line: &mut Connection) {
        match self {
            Self::Tcp(socket) => {
                if let Ok(kernel) = socket::kernel(socket) {
                    line.sent_bytes = kernel.sent_bytes;
                    line.received_bytes = kernel.received_bytes;
                    line.retransmitted = kernel.retransmitted;
                    line.rtt_us = kernel.rtt_us;
                    if line.tcp_fast_open != Some(FastOpen::NotAsked) {
                        line.tcp_fast_open = Some(kernel.fast_open);
                    }
                }
            }
            Self::Quic(quinn, _) => {
                let stats = quinn.stats();
                line.sent_bytes = stats.udp_tx.bytes;
                line.received_bytes = stats.udp_rx.bytes;
                line.retransmitted = stats.path.lost_packets;
                let answered = stats.frame_rx.acks > 0;
                line.rtt_us = answered.then(|| clock::micros(stats.path.rtt));
            }
        }
    }

    fn close(self) {
        if let Self::Quic(quinn, endpoint) = self {
            quinn.close(quic::NO_ERROR, b"");
            endpoint.close(quic::NO_ERROR, b"");
        }
    }
}

impl Connection {
    fn begun(id: ConnectionId, target: &Target, address: Option<SocketAddr>) -> Self {
        Self {
            id,
            host: target.host.clone(),
            port: address.map_or(target.port, |address| address.port()),
            address: address
                .map(|address| address.ip().to_string())
                .unwrap_or_default(),
            local_port: None,
            protocol: None,
            secure: target.secure,
            connect_start_us: None,
            connect_end_us: None,
            tls_start_us: None,
            tls_end_us: None,
            ready_us: None,
            closed_us: None,
            tls_version: None,
            resumed: None,
            key_share: None,
            signature: None,
            certificate_bytes: None,
            early_data: EarlyData::NotOffered,
            tcp_fast_open: (!target.quic).then_some(FastOpen::NotAsked),
            requests: 0,
            sent_bytes: 0,
            received_bytes: 0,
            retransmitted: 0,
            rtt_us: None,
            error: None,
        }
    }
}

fn note_handshake(
    line: &mut Connection,
    session: &ClientConnection,
    verifier: &Verifier,
    clock: Clock,
) {
    line.tls_end_us = Some(clock.now_us());
    line.resumed = Some(session.handshake_kind() == Some(HandshakeKind::Resumed));
    line.tls_version = match session.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => Some("1.2"),
        Some(ProtocolVersion::TLSv1_3) => Some("1.3"),
        _ => None,
    };
    let group = session.negotiated_key_exchange_group();
    line.key_share = group.map(|group| group.name().into());
    note_shown(line, verifier);
}

/// What the server showed, unless the handshake resumed a session.
fn note_shown(line: &mut Connection, verifier: &Verifier) {
    let shown = verifier
        .shown(&line.host)
        .filter(|_| line.resumed != Some(true));
    line.signature = shown.and_then(|shown| shown.signature);
    line.certificate_bytes = shown.map(|shown| shown.bytes);
}

fn spawn(task: impl Future<Output = ()> + 'static) {
    tokio::task::spawn_local(task);
}

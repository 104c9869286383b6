//! The connections to one host, and the requests that wait for them.
//!
//! It is pure: it takes events and says what to do next. The rules are those of Chromium's
//! TransportClientSocketPool and HttpStreamFactory: a request takes an idle socket or asks for a
//! new one, up to six; a free socket goes to the most urgent request; the first connection that
//! turns out to speak h2 serves all requests; a host known for h2 gets one connection.

use crate::input::{Priority, Protocol, ResourceId};

/// Number of a connection, from 1, in the order of their beginnings.
pub type ConnectionId = u64;

/// What the load should do next for a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    OpenTcp,
    OpenQuic,
    Send(ConnectionId, ResourceId),
}

/// The transports over which a host is to be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Tcp {
        /// Whether the host spoke h2 before, so that one connection is enough.
        multiplexed: bool,
    },
    Quic,
    /// QUIC first, because an earlier load learnt that the host speaks h3 as well: TCP waits until
    /// `release_tcp`.
    QuicFirst,
}

pub struct Pool {
    per_host: usize,
    /// Whether TCP may be used now.
    tcp: bool,
    tcp_at_all: bool,
    multiplexed: bool,
    /// Whether QUIC should be tried or used.
    quic: bool,
    connecting: Vec<ConnectionId>,
    connecting_quic: Option<ConnectionId>,
    /// Connections of h1 in the order in which they became idle, and whether they were used before.
    idle: Vec<(ConnectionId, bool)>,
    busy: Vec<ConnectionId>,
    /// Connections that take many requests at once; the best is the last.
    sessions: Vec<(Protocol, ConnectionId)>,
    /// Waiting requests, most urgent first.
    waiting: Vec<(Priority, ResourceId)>,
}

impl Pool {
    pub fn new(reach: Reach, per_host: usize) -> Self {
        Self {
            per_host,
            tcp_at_all: reach != Reach::Quic,
            tcp: matches!(reach, Reach::Tcp { .. }),
            multiplexed: reach == Reach::Tcp { multiplexed: true },
            quic: !matches!(reach, Reach::Tcp { .. }),
            connecting: Vec::new(),
            connecting_quic: None,
            idle: Vec::new(),
            busy: Vec::new(),
            sessions: Vec::new(),
            waiting: Vec::new(),
        }
    }

    pub fn request(&mut self, id: ResourceId, priority: Priority) {
        let place = self
            .waiting
            .partition_point(|(other, _)| *other >= priority);
        self.waiting.insert(place, (priority, id));
    }

    /// Returns the request that goes next.
    pub fn first(&self) -> Option<ResourceId> {
        self.waiting.first().map(|(_, id)| *id)
    }

    /// The next order. `room` says whether another TCP socket may be opened at all. `OpenTcp` and
    /// `OpenQuic` must be followed by `opening`.
    pub fn next(&mut self, room: bool) -> Option<Order> {
        let id = self.waiting.first()?.1;
        if self.quic && !self.has_quic() {
            return Some(Order::OpenQuic);
        }
        if let Some((_, session)) = self.sessions.last() {
            self.waiting.remove(0);
            return Some(Order::Send(*session, id));
        }
        if let Some(socket) = self.idle_socket() {
            self.waiting.remove(0);
            self.busy.push(socket);
            return Some(Order::Send(socket, id));
        }
        let wanted = if self.multiplexed {
            1
        } else {
            self.waiting.len()
        };
        let sockets = self.connecting.len() + self.busy.len();
        let open = self.tcp && room && self.connecting.len() < wanted && sockets < self.per_host;
        open.then_some(Order::OpenTcp)
    }

    pub fn opening(&mut self, connection: ConnectionId, order: Order) {
        if order == Order::OpenQuic {
            self.connecting_quic = Some(connection);
        } else {
            self.connecting.push(connection);
        }
    }

    /// Marks a connection as ready for requests. Returns the connections that are no longer needed:
    /// requests that waited for them use this one, and Chromium aborts them.
    pub fn opened(&mut self, connection: ConnectionId, protocol: Protocol) -> Vec<ConnectionId> {
        self.forget_connecting(connection);
        match protocol {
            Protocol::H1 => self.idle.push((connection, false)),
            // A second connection of h2 stays unused.
            Protocol::H2 if self.speaks(Protocol::H2) => {}
            Protocol::H2 => self.sessions.insert(0, (protocol, connection)),
            Protocol::H3 => self.sessions.push((protocol, connection)),
        }
        self.multiplexed |= protocol == Protocol::H2;
        match protocol {
            Protocol::H2 => std::mem::take(&mut self.connecting),
            _ => Vec::new(),
        }
    }

    /// Sends further requests over this connection of another host instead of `own`, which is
    /// through its handshake. Returns the connections that are no longer needed, as `opened`.
    pub fn join(
        &mut self,
        connection: ConnectionId,
        protocol: Protocol,
        own: Option<ConnectionId>,
    ) -> Vec<ConnectionId> {
        if let Some(own) = own {
            self.forget_connecting(own);
        }
        own.into_iter()
            .chain(self.opened(connection, protocol))
            .collect()
    }

    /// Marks a connection of h1 as free: its answer has ended.
    pub fn free(&mut self, connection: ConnectionId) {
        if let Some(place) = self.busy.iter().position(|other| *other == connection) {
            self.busy.remove(place);
            self.idle.push((connection, true));
        }
    }

    /// Removes a connection that is gone. Returns the requests that waited for it alone, which
    /// fail.
    pub fn lost(&mut self, connection: ConnectionId) -> Vec<ResourceId> {
        let quic = self.connecting_quic == Some(connection);
        let connecting = self.forget_connecting(connection);
        self.busy.retain(|other| *other != connection);
        self.idle.retain(|(other, _)| *other != connection);
        let session = self
            .sessions
            .iter()
            .position(|(_, other)| *other == connection);
        let lost = session.map(|place| self.sessions.remove(place).0);
        if quic && self.tcp_at_all {
            // The announced alternative does not work: Chromium marks it as broken.
            self.quic = false;
            self.tcp = true;
            return Vec::new();
        }
        if lost == Some(Protocol::H3) && self.tcp {
            self.quic = false;
        }
        let few = if quic || self.multiplexed {
            usize::MAX
        } else {
            1
        };
        let failing = if connecting {
            self.waiting.len().min(few)
        } else {
            0
        };
        self.waiting.drain(..failing).map(|(_, id)| id).collect()
    }

    /// Records that the host announced h3.
    pub fn alternative(&mut self) {
        self.quic = true;
    }

    /// Lets TCP connect without waiting for QUIC any longer.
    pub fn release_tcp(&mut self) {
        self.tcp = self.tcp_at_all;
    }

    /// Whether `connection` is still on its way and a second one may be tried.
    pub fn wants_backup(&self, connection: ConnectionId) -> bool {
        self.connecting.contains(&connection)
            && !self.waiting.is_empty()
            && self.connecting.len() + self.busy.len() + self.idle.len() < self.per_host
    }

    /// Whether the host has no TCP connection, not even one on its way.
    pub fn no_tcp(&self) -> bool {
        self.connecting.is_empty() && self.busy.is_empty() && self.idle.is_empty()
    }

    fn has_quic(&self) -> bool {
        self.connecting_quic.is_some() || self.speaks(Protocol::H3)
    }

    fn speaks(&self, protocol: Protocol) -> bool {
        self.sessions.iter().any(|(other, _)| *other == protocol)
    }

    /// The newest socket that was used before, else the oldest unused one. A used socket has a
    /// wider congestion window.
    fn idle_socket(&mut self) -> Option<ConnectionId> {
        let used = self.idle.iter().rposition(|(_, used)| *used);
        let place = used.or((!self.idle.is_empty()).then_some(0))?;
        Some(self.idle.remove(place).0)
    }

    fn forget_connecting(&mut self, connection: ConnectionId) -> bool {
        let known =
            self.connecting.contains(&connection) || self.connecting_quic == Some(connection);
        self.connecting.retain(|other| *other != connection);
        self.connecting_quic = self.connecting_quic.filter(|other| *other != connection);
        known
    }
}

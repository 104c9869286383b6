//! One load: joins the page's graph, the scheduler, the socket pools and the network.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::sleep_until;

use crate::admission::{Admission, Candidate};
use crate::body::Budget;
use crate::event::{Event, Events, Failure, FailureKind, Outgoing, Target, Transport, What};
use crate::graph::{Act, Graph, News};
use crate::hints::{self, Preloads, Use};
use crate::input::{Kind, Load, Protocol, ResourceId};
use crate::memory::Memory;
use crate::net::Network;
use crate::net::clock::{Clock, epoch_and_monotonic_us, micros};
use crate::outgoing::{self, Host};
use crate::pool::{ConnectionId, Order, Pool, Reach};
use crate::report::{Ended, Report, Request};

/// How often Chromium sends a request that never reached its server.
const MOST_ATTEMPTS: u32 = 3;
/// How long TCP waits for QUIC if an earlier load learnt that the host speaks it
/// (net/http/http_stream_factory).
const QUIC_HEAD_START: Duration = Duration::from_millis(300);

/// Turns that quinn's tasks get to say that a connection is closed: its own, the endpoint's, spare ones.
const LAST_PACKETS: usize = 16;

/// Loads a page over the real network, within a `LocalSet`. An error only for bad input.
pub async fn load(load: &Load, memory: &mut Memory) -> Result<Report> {
    load.check()?;
    let requests = outgoing::all(&load.page)?;
    let (events, mail) = Events::channel();
    let budget = Budget::new(load.limits.bytes);
    let (start_us, start_monotonic_us) = epoch_and_monotonic_us();
    let clock = Clock::start();
    let net = &mut memory.net;
    let mut network = Network::new(load, net, memory.seed, clock, events, budget.clone())?;
    let mut browser = Browser::new(load, requests, memory, clock);
    let ended = browser.run(mail, &mut network, &budget).await;
    let (requests, load_event) = browser.finish();
    let end_us = clock.now_us();
    let connections = network.close();
    // The last packets of QUIC leave in tasks of their own.
    for _ in 0..LAST_PACKETS {
        yield_now().await;
    }
    Ok(Report {
        start_us,
        start_monotonic_us,
        load_event_us: load_event.map(micros),
        end_us,
        ended,
        requests: outgoing::with_early_data(requests, &connections),
        connections,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timer {
    /// A second connection may be opened next to this one.
    Backup(ConnectionId),
    /// TCP of this connection's host has waited for QUIC long enough.
    ReleaseTcp(ConnectionId),
}

/// The browser while it loads a page.
pub(crate) struct Browser<'a> {
    load: &'a Load,
    memory: &'a mut Memory,
    clock: Clock,
    outgoing: Vec<Outgoing>,
    graph: Graph,
    admission: Admission,
    pools: BTreeMap<Host, Pool>,
    /// The host of each connection, and whether the connection counts as a TCP socket; by id, from
    /// 1.
    connections: Vec<(Host, bool)>,
    /// Open connections of h2 and h3: the protocol, and the other hosts whose requests go over
    /// them.
    sessions: BTreeMap<ConnectionId, (Protocol, Vec<Host>)>,
    open_tcp: usize,
    /// Connections to break off.
    abandoned: Vec<ConnectionId>,
    timers: BTreeMap<(Duration, u64), Timer>,
    timers_set: u64,
    requests: BTreeMap<ResourceId, Request>,
    attempts: BTreeMap<ResourceId, u32>,
    /// Requests made before the page made them, because a 103 answer named them. The number of such
    /// a request is its resource's number plus the number of all resources.
    preloads: Preloads,
    /// Requests that were discovered and are not over.
    under_way: usize,
    load_event: Option<Duration>,
    document_failed: bool,
}

impl<'a> Browser<'a> {
    /// Begins a load that has passed its check.
    pub fn new(
        load: &'a Load,
        outgoing: Vec<Outgoing>,
        memory: &'a mut Memory,
        clock: Clock,
    ) -> Self {
        Self {
            graph: Graph::new(&load.page),
            admission: Admission::new(load.page.tight.clone()),
            load,
            memory,
            clock,
            outgoing,
            pools: BTreeMap::new(),
            connections: Vec::new(),
            sessions: BTreeMap::new(),
            open_tcp: 0,
            abandoned: Vec::new(),
            timers: BTreeMap::new(),
            timers_set: 0,
            requests: BTreeMap::new(),
            attempts: BTreeMap::new(),
            preloads: Preloads::default(),
            under_way: 0,
            load_event: None,
            document_failed: false,
        }
    }

    pub async fn run(
        &mut self,
        mut mail: mpsc::UnboundedReceiver<Event>,
        transport: &mut impl Transport,
        budget: &Budget,
    ) -> Ended {
        let limit = Duration::from_millis(self.load.limits.time_ms);
        loop {
            let now = self.clock.now();
            if now >= limit {
                return Ended::Time;
            }
            self.advance(now, transport);
            if let Some(ended) = self.ended(now, budget) {
                return ended;
            }
            let next = self.next().map_or(limit, |next| next.min(limit));
            tokio::select! {
                biased;
                event = mail.recv() => {
                    let Some(event) = event else { return Ended::Time };
                    self.take(event, transport);
                    // Events that came together are handled together.
                    while let Ok(event) = mail.try_recv() {
                        self.take(event, transport);
                    }
                }
                () = sleep_until(self.clock.at(next)) => {}
            }
        }
    }

    /// Every request that was discovered, and when the load event fired.
    pub fn finish(self) -> (Vec<Request>, Option<Duration>) {
        let unfinished = |mut request: Request| {
            if request.end_us.is_none() {
                let message = "the load ended before it did";
                request.error = Some(Failure::new(FailureKind::Unfinished, message));
            }
            request
        };
        // Chromium does not report a preload that the page does not take.
        let all = self.load.page.resources.len();
        let taken = |id: &ResourceId| *id < all || self.preloads.taken(*id - all);
        let requests = self.requests.into_iter().filter(|(id, _)| taken(id));
        let requests = requests.map(|(_, request)| unfinished(request)).collect();
        (requests, self.load_event)
    }

    fn ended(&self, now: Duration, budget: &Budget) -> Option<Ended> {
        let quiet = Duration::from_millis(self.load.limits.quiet_ms);
        if budget.exceeded() {
            Some(Ended::Bytes)
        } else if self.document_failed {
            Some(Ended::Document)
        } else if self.load_event.is_some() && self.under_way == 0 && self.graph.next().is_none() {
            Some(Ended::Complete)
        } else if self.load_event.is_some_and(|at| now >= at + quiet) {
            Some(Ended::Quiet)
        } else {
            None
        }
    }

    fn next(&self) -> Option<Duration> {
        let timer = self.timers.keys().next().map(|(due, _)| *due);
        let quiet = Duration::from_millis(self.load.limits.quiet_ms);
        let quiet = self.load_event.map(|at| at + quiet);
        [self.graph.next(), timer, quiet]
            .into_iter()
            .flatten()
            .min()
    }

    /// Does everything that is due at `now`.
    fn advance(&mut self, now: Duration, transport: &mut impl Transport) {
        while let Some(act) = self.graph.act(now) {
            match act {
                Act::Request(id) => match self.preloads.ask(id) {
                    None => self.discover(id, now),
                    Some(so_far) => self.take_preload(id, so_far, now),
                },
                Act::LoadEvent => self.load_event = Some(now),
            }
        }
        while let Some((due, set)) = self
            .timers
            .keys()
            .next()
            .copied()
            .filter(|(due, _)| *due <= now)
        {
            if let Some(timer) = self.timers.remove(&(due, set)) {
                self.expire(timer, transport);
            }
        }
        for connection in std::mem::take(&mut self.abandoned) {
            transport.abandon(connection);
        }
        let done = |id| self.graph.done(id);
        let heeds = |host: &str| self.memory.prioritise.contains(host);
        let mut admitted = Vec::new();
        while let Some(candidate) = self.admission.next(done, heeds) {
            admitted.push(candidate);
        }
        for Candidate { id, priority, .. } in admitted {
            if let Some(request) = self.requests.get_mut(&id) {
                request.queued_us = request.queued_us.or(Some(micros(now)));
            }
            let host = Host::of(self.outgoing(id));
            self.pool(&host).request(id, priority);
            self.serve(&host, transport); // Sockets are asked for in the order of the requests.
        }
        let hosts: Vec<Host> = self.pools.keys().cloned().collect();
        for host in hosts {
            self.serve(&host, transport);
        }
    }

    /// Does what the pool of a host wants done.
    fn serve(&mut self, host: &Host, transport: &mut impl Transport) {
        loop {
            let room = self.open_tcp < self.load.sockets.total;
            let Some(order) = self.pool(host).next(room) else {
                break;
            };
            self.obey(order, host, transport);
        }
    }

    fn discover(&mut self, id: ResourceId, now: Duration) {
        let place = self.place(id);
        let resource = &self.load.page.resources[place];
        let mut request = Request::discovered(place, &resource.url, micros(now));
        request.hinted = self.preloads.named(place);
        self.requests.insert(id, request);
        self.under_way += 1;
        self.admission.add(Candidate {
            id,
            priority: resource.priority,
            host: Host::of(self.outgoing(id)).name,
        });
    }

    /// Returns the resource that a request is for.
    fn place(&self, id: ResourceId) -> ResourceId {
        id % self.load.page.resources.len()
    }

    fn outgoing(&self, id: ResourceId) -> &Outgoing {
        &self.outgoing[self.place(id)]
    }

    /// Requests what an answer with status 103 names, which came before the document's answer.
    fn hinted(&mut self, id: ResourceId, headers: &http::HeaderMap, now: Duration) {
        let resources = &self.load.page.resources;
        if resources[self.place(id)].kind != Kind::Document {
            return;
        }
        for url in hints::preloads(&self.outgoing(id).uri, headers) {
            let mut found = (0..resources.len()).filter(|other| resources[*other].url == url);
            let Some(other) = found.find(|other| !self.requests.contains_key(other)) else {
                continue;
            };
            if self.preloads.begin(other) {
                self.discover(resources.len() + other, now);
            }
        }
    }

    /// Gives the page what came of a preload so far, or requests the resource again.
    fn take_preload(&mut self, id: ResourceId, so_far: Use, now: Duration) {
        match so_far {
            Use::Wait => {}
            Use::Again => self.discover(id, now),
            Use::Take(news) => {
                for news in news {
                    self.graph.learn(id, news, now);
                }
            }
        }
    }

    fn learn(&mut self, id: ResourceId, news: News, good: bool, now: Duration) {
        let all = self.load.page.resources.len();
        match id.checked_sub(all) {
            None => self.graph.learn(id, news, now),
            Some(ahead) => {
                let so_far = self.preloads.learn(ahead, news, good);
                self.take_preload(ahead, so_far, now);
            }
        }
    }

    fn pool(&mut self, host: &Host) -> &mut Pool {
        let (load, memory) = (self.load, &*self.memory);
        self.pools.entry(host.clone()).or_insert_with(|| {
            let key = host.key();
            let reach = match load.protocol.of(&host.name) {
                Protocol::H3 if host.secure => Reach::Quic,
                _ if host.secure && load.alt_svc && memory.alternatives.contains(&key) => {
                    Reach::QuicFirst
                }
                Protocol::H2 => Reach::Tcp {
                    multiplexed: host.secure && memory.spoke.get(&key) == Some(&Protocol::H2),
                },
                _ => Reach::Tcp { multiplexed: false },
            };
            Pool::new(reach, load.sockets.per_host)
        })
    }

    fn obey(&mut self, order: Order, host: &Host, transport: &mut impl Transport) {
        if let Order::Send(connection, id) = order {
            if let Some(request) = self.requests.get_mut(&id) {
                request.connection = Some(connection);
            }
            return transport.send(connection, id, self.outgoing(id));
        }
        let protocol = match order {
            Order::OpenTcp => Protocol::H2,
            _ => Protocol::H3,
        };
        if let Some(session) = self.shared(host, protocol, transport) {
            return self.join(session, host, None);
        }
        let first = self.pool(host).no_tcp();
        let connection = self.open(order, host, transport);
        let sockets = self.load.sockets;
        if order == Order::OpenTcp && first && sockets.backup_ms > 0 {
            let after = Duration::from_millis(sockets.backup_ms);
            self.set(after, Timer::Backup(connection));
        }
        if order == Order::OpenQuic {
            self.set(QUIC_HEAD_START, Timer::ReleaseTcp(connection));
        }
    }

    fn open(&mut self, order: Order, host: &Host, transport: &mut impl Transport) -> ConnectionId {
        let tcp = order == Order::OpenTcp;
        self.connections.push((host.clone(), tcp));
        let connection = self.connections.len() as ConnectionId;
        let early = self
            .pool(host)
            .first()
            .is_some_and(|id| self.outgoing(id).safe);
        let known = self.memory.spoke.get(&host.key()).copied();
        let h2 = self.load.protocol.of(&host.name) != Protocol::H1;
        let target = Target {
            host: host.name.clone(),
            port: host.port,
            secure: host.secure,
            quic: !tcp,
            h2,
            known: known.filter(|known| h2 || *known == Protocol::H1),
            early,
        };
        self.pool(host).opening(connection, order);
        self.open_tcp += usize::from(tcp);
        transport.open(connection, &target);
        connection
    }

    /// An open connection to another host that may carry requests for this one, as Chromium finds it
    /// once a name is resolved (net/spdy/spdy_session_pool.cc, net/quic/quic_session_pool.cc): to the
    /// same address, with a certificate for both.
    fn shared(
        &self,
        host: &Host,
        protocol: Protocol,
        transport: &impl Transport,
    ) -> Option<ConnectionId> {
        if !host.secure || self.load.protocol.of(&host.name) == Protocol::H1 {
            return None;
        }
        let here = self.load.hosts.get(&host.name)?;
        let fits = |connection: ConnectionId| {
            let owner = &self.connections[connection as usize - 1].0;
            owner.name != host.name
                && (owner.port, owner.credentials) == (host.port, host.credentials)
                && self.load.hosts.get(&owner.name) == Some(here)
                && transport.covers(connection, &host.name)
        };
        let open = self.sessions.iter();
        let mut open = open.filter(|(_, (spoken, _))| *spoken == protocol);
        open.find_map(|(connection, _)| fits(*connection).then_some(*connection))
    }

    /// Sends a host's requests over a connection to another host, instead of over `own`.
    fn join(&mut self, session: ConnectionId, host: &Host, own: Option<ConnectionId>) {
        let Some((protocol, guests)) = self.sessions.get_mut(&session) else {
            return;
        };
        guests.push(host.clone());
        let protocol = *protocol;
        let surplus = self.pool(host).join(session, protocol, own);
        self.break_off(surplus);
    }

    fn set(&mut self, after: Duration, timer: Timer) {
        self.timers_set += 1;
        let due = self.clock.now() + after;
        self.timers.insert((due, self.timers_set), timer);
    }

    fn expire(&mut self, timer: Timer, transport: &mut impl Transport) {
        match timer {
            Timer::Backup(connection) => {
                let host = self.host(connection);
                if self.pool(&host).wants_backup(connection) {
                    self.open(Order::OpenTcp, &host, transport);
                }
            }
            Timer::ReleaseTcp(connection) => {
                let host = self.host(connection);
                self.pool(&host).release_tcp();
            }
        }
    }

    fn host(&self, connection: ConnectionId) -> Host {
        self.connections[connection as usize - 1].0.clone()
    }

    fn take(&mut self, event: Event, transport: &impl Transport) {
        let now = self.clock.since(event.at);
        match event.what {
            What::Connected(connection) => {
                self.timers
                    .retain(|_, timer| *timer != Timer::Backup(connection));
            }
            What::Opened(connection, protocol) => self.opened(connection, protocol, transport),
            What::Free(connection) => {
                let host = self.host(connection);
                self.pool(&host).free(connection);
            }
            What::Lost(connection, failure) => self.lost(connection, failure, now),
            What::Sent(id) => self.note(id, |request| request.sent_us = Some(micros(now))),
            What::Ahead(id, headers) => {
                self.note(id, |request| {
                    request.first_byte_us = request.first_byte_us.or(Some(micros(now)));
                });
                self.hinted(id, &headers, now);
            }
            What::Headers(id, head) => {
                let fresh = hints::fresh(head.status, &head.headers);
                self.note(id, |request| {
                    request.first_byte_us = request.first_byte_us.or(Some(micros(now)));
                    request.status = Some(head.status);
                    request.headers = outgoing::readable(&head.headers);
                });
                self.learn_alternative(id, &head.headers);
                self.learn_priorities(id);
                self.learn(id, News::Headers, fresh, now);
            }
            What::Bytes(id, received) => {
                self.note(id, |request| {
                    request.wire_bytes = received.wire;
                    request.decoded_bytes = received.decoded;
                });
                let (wire, decoded) = (received.wire, received.decoded);
                self.learn(id, News::Bytes { wire, decoded }, true, now);
            }
            What::Ended(id, Err(failure)) if failure.retry && self.again(id) => {}
            What::Ended(id, ended) => {
                let failure = ended.as_ref().err().cloned();
                self.note(id, |request| {
                    request.digest = ended.ok().map(|finish| finish.digest);
                });
                self.over(id, failure, now);
            }
        }
    }

    fn note(&mut self, id: ResourceId, note: impl FnOnce(&mut Request)) {
        if let Some(request) = self.requests.get_mut(&id) {
            note(request);
        }
    }

    fn opened(&mut self, connection: ConnectionId, protocol: Protocol, transport: &impl Transport) {
        let host = self.host(connection);
        // Of two that were opened at the same time, Chromium keeps one over QUIC, and both over TCP.
        if protocol == Protocol::H3
            && let Some(session) = self.shared(&host, protocol, transport)
        {
            return self.join(session, &host, Some(connection));
        }
        let surplus = self.pool(&host).opened(connection, protocol);
        self.break_off(surplus);
        if protocol != Protocol::H1 {
            self.sessions.insert(connection, (protocol, Vec::new()));
        }
        if protocol == Protocol::H2 {
            self.memory.prioritise.insert(host.name.clone());
        }
        if host.secure && protocol != Protocol::H3 {
            self.memory.spoke.insert(host.key(), protocol);
        }
    }

    fn break_off(&mut self, surplus: Vec<ConnectionId>) {
        for other in &surplus {
            self.timers
                .retain(|_, timer| *timer != Timer::Backup(*other));
            let socket = std::mem::take(&mut self.connections[*other as usize - 1].1);
            self.open_tcp -= usize::from(socket);
        }
        self.abandoned.extend(surplus);
    }

    fn lost(&mut self, connection: ConnectionId, failure: Option<Failure>, now: Duration) {
        let host = self.host(connection);
        let failed = self.pool(&host).lost(connection);
        let (_, guests) = self.sessions.remove(&connection).unzip();
        for guest in guests.unwrap_or_default() {
            self.pool(&guest).lost(connection); // It waited for nothing there.
        }
        let socket = std::mem::take(&mut self.connections[connection as usize - 1].1);
        self.open_tcp -= usize::from(socket);
        let failure = failure
            .unwrap_or_else(|| Failure::new(FailureKind::Reset, "the connection was closed"));
        for id in failed {
            self.over(id, Some(failure.clone()), now);
        }
    }

    /// Sends a request once more, unless it was sent too often already; returns whether it goes
    /// again.
    fn again(&mut self, id: ResourceId) -> bool {
        let attempts = self.attempts.entry(id).or_insert(1);
        *attempts += 1;
        if *attempts > MOST_ATTEMPTS {
            return false;
        }
        let host = Host::of(self.outgoing(id));
        let priority = self.load.page.resources[self.place(id)].priority;
        self.pool(&host).request(id, priority);
        true
    }

    fn over(&mut self, id: ResourceId, failure: Option<Failure>, now: Duration) {
        let ended_well = failure.is_none();
        let document_failed = id == 0 && !ended_well;
        self.note(id, |request| {
            request.end_us = Some(micros(now));
            request.error = failure;
        });
        self.under_way -= 1;
        self.admission.ended(id);
        if document_failed {
            self.document_failed = true; // Nothing follows from it, and no load event.
        } else {
            self.learn(id, News::End, ended_well, now);
        }
    }

    /// Notes that a host heeds priorities once it has answered over h2, also when the connection is
    /// to another host.
    fn learn_priorities(&mut self, id: ResourceId) {
        let connection = self
            .requests
            .get(&id)
            .and_then(|request| request.connection);
        let spoken = connection.and_then(|connection| self.sessions.get(&connection));
        if spoken.is_some_and(|(protocol, _)| *protocol == Protocol::H2) {
            let host = Host::of(self.outgoing(id));
            self.memory.prioritise.insert(host.name);
        }
    }

    fn learn_alternative(&mut self, id: ResourceId, headers: &http::HeaderMap) {
        if !outgoing::offers_h3(headers) {
            return;
        }
        let host = Host::of(self.outgoing(id));
        if self.load.protocol.of(&host.name) == Protocol::H3 {
            self.memory.prioritise.insert(host.name);
        } else if host.secure && self.load.alt_svc {
            self.memory.alternatives.insert(host.key());
            self.pool(&host).alternative();
        }
    }
}

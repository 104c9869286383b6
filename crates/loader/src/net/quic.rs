//! Opening a QUIC connection with Chromium's transport parameters.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use dragstrip_http3::LastOffer;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{
    ClientConfig, Endpoint, EndpointConfig, Runtime, TokenMemoryCache, TokenStore, TokioRuntime,
    TransportConfig, VarInt,
};
use quinn_proto::RandomConnectionIdGenerator;
use tokio::time::timeout;

use crate::event::{Failure, FailureKind, Target, What};
use crate::input::Protocol;
use crate::net::clock::epoch_and_monotonic_us;
use crate::net::probes::{Handshake, HandshakeSocket, PROBE_PAYLOAD};
use crate::net::{Handle, Line, Probe, Shared, Verifier, http3, note_shown, session, spawn};
use crate::pool::ConnectionId;
use crate::report::EarlyData;

pub(super) const NO_ERROR: VarInt = VarInt::from_u32(0x100); // H3_NO_ERROR, RFC 9114 section 8.1

/// Chromium's values (net/quic/quic_context.h, quic_session_pool.cc; quiche's quic_constants.h).
const CONNECTION_WINDOW: u32 = 15 * 1024 * 1024;
const STREAM_WINDOW: u32 = 6 * 1024 * 1024;
const IDLE: Duration = Duration::from_secs(30);
const INITIAL_RTT: Duration = Duration::from_millis(100);
const STREAMS: u32 = 100;
/// Twice the longest chain, of 100 KiB (BoringSSL, `SSL_quic_max_handshake_flight_len`): a lost packet
/// holds the rest of it back.
const CRYPTO_BUFFER: usize = 200 * 1024;
/// Chromium's first request leaves about 0.25 ms after its Finished, even where computing takes no
/// time. By then the server's settings have come, which travel behind its Finished: with them
/// requests refer to QPACK's table.
const SETTINGS: Duration = Duration::from_millis(1);

/// What QUIC keeps between loads in addition to its tickets.
pub struct QuicMemory {
    tokens: Arc<dyn TokenStore>,
    /// Number of endpoints made so far: each endpoint gets its own seed.
    endpoints: Rc<Cell<u64>>,
    last_offers: LastOffers,
}

/// The last offer of a QPACK table, by host.
type LastOffers = Rc<RefCell<BTreeMap<String, LastOffer>>>;

impl Default for QuicMemory {
    fn default() -> Self {
        Self {
            tokens: Arc::new(TokenMemoryCache::default()),
            endpoints: Rc::default(),
            last_offers: Rc::default(),
        }
    }
}

/// What is needed to make a load's QUIC connections.
#[derive(Clone)]
pub struct Client {
    config: ClientConfig,
    verifier: Arc<Verifier>,
    early_data: bool,
    /// Hosts that rejected 0-RTT in this load; no more of it is sent to them.
    rejected: Rc<RefCell<BTreeSet<String>>>,
    seed: u64,
    endpoints: Rc<Cell<u64>>,
    last_offers: LastOffers,
}

impl QuicMemory {
    pub fn client(
        &self,
        tls: rustls::ClientConfig,
        verifier: Arc<Verifier>,
        early_data: bool,
        seed: u64,
    ) -> Result<Client> {
        let mut transport = TransportConfig::default();
        transport
            .receive_window(VarInt::from_u32(CONNECTION_WINDOW))
            .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
            .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS))
            .max_idle_timeout(Some(IDLE.try_into()?))
            .initial_rtt(INITIAL_RTT)
            .crypto_buffer_size(CRYPTO_BUFFER)
            .initial_mtu(PROBE_PAYLOAD)
            .mtu_discovery_config(None)
            .enable_segmentation_offload(false)
            .allow_spin(false);
        let mut config = ClientConfig::new(Arc::new(session::Config(Arc::new(
            QuicClientConfig::try_from(tls)?,
        ))));
        config
            .transport_config(Arc::new(transport))
            .token_store(self.tokens.clone());
        Ok(Client {
            config,
            verifier,
            early_data,
            rejected: Rc::default(),
            seed,
            endpoints: self.endpoints.clone(),
            last_offers: self.last_offers.clone(),
        })
    }
}

impl Client {
    pub fn verifier(&self) -> &Verifier {
        &self.verifier
    }

    fn last_offer(&self, host: &str) -> LastOffer {
        let mut known = self.last_offers.borrow_mut();
        known.entry(host.to_owned()).or_default().clone()
    }

    /// Makes a new socket with its endpoint, as Chromium has one for each session.
    fn endpoint(
        &self,
        address: SocketAddr,
        handshake: Arc<Handshake>,
    ) -> std::io::Result<Endpoint> {
        let any = match address {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        self.endpoints.set(self.endpoints.get() + 1);
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&self.endpoints.get().to_le_bytes());
        // An origin that outlives us must never meet the same connection ids again. In virtual time the
        // clock is part of what repeats.
        seed[16..24].copy_from_slice(&epoch_and_monotonic_us().0.to_le_bytes());
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(seed));
        // This end has no connection id of its own, like Chromium: every packet to it is 8 bytes
        // shorter than with quinn's default.
        config.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(0)));
        let socket = TokioRuntime.wrap_udp_socket(UdpSocket::bind(any)?)?;
        let socket = Arc::new(HandshakeSocket::new(socket, handshake));
        Endpoint::new_with_abstract_socket(config, None, socket, Arc::new(TokioRuntime))
    }
}

/// Opens a connection to `target`, and tells that it is open or why it is not.
pub(super) async fn open(
    id: ConnectionId,
    target: Target,
    address: SocketAddr,
    client: Client,
    line: Line,
    shared: Shared,
) {
    if let Err(failure) = connect(id, &target, address, client, &line, &shared).await {
        shared.lost(id, &line, Some(failure));
    }
}

async fn connect(
    id: ConnectionId,
    target: &Target,
    address: SocketAddr,
    client: Client,
    line: &Line,
    shared: &Shared,
) -> Result<(), Failure> {
    let failed = |error: &dyn ToString| Failure::new(FailureKind::Connect, error.to_string());
    let handshake = Handshake::new();
    let endpoint = client
        .endpoint(address, handshake.clone())
        .map_err(|error| failed(&error))?;
    line.borrow_mut().local_port = endpoint.local_addr().ok().map(|local| local.port());
    line.borrow_mut().tls_start_us = Some(shared.clock.now_us());
    let shown = client.verifier.count(&target.host);
    let connecting = endpoint
        .connect_with(client.config.clone(), address, &target.host)
        .map_err(|error| failed(&error))?;
    let rejected = client.rejected.borrow().contains(&target.host);
    let early = client.early_data && target.early && !rejected;
    let zero_rtt = if early {
        connecting.into_0rtt()
    } else {
        Err(connecting)
    };
    let through = through(
        line.clone(),
        client.verifier.clone(),
        shown,
        target.host.clone(),
    );
    let (quinn, offered) = match zero_rtt {
        Ok((quinn, accepted)) => {
            line.borrow_mut().early_data = EarlyData::Offered;
            (quinn, Some((accepted, through)))
        }
        Err(connecting) => {
            let quinn = tokio::select! {
                made = connecting => made.map_err(|error| handshake_failed(&error))?,
                why = handshake.given_up() => return Err(Failure::new(FailureKind::Timeout, why)),
            };
            through(shared.clock.now_us(), None);
            (quinn, None)
        }
    };
    let probe = Probe::Quic(quinn.clone(), endpoint);
    shared.probes.borrow_mut().insert(id, probe);
    let last_offer = client.last_offer(&target.host);
    let (handle, driver, qpack) =
        http3::begin(quinn.clone(), last_offer, offered.is_some()).await?;
    {
        let (line, shared) = (line.clone(), shared.clone());
        spawn(async move {
            let failure = driver.await;
            shared.lost(id, &line, failure);
        });
    }
    if offered.is_none() {
        let _ = timeout(SETTINGS, qpack.heard()).await;
        if quinn.close_reason().is_some() {
            return Ok(()); // the driver tells
        }
    }
    let handle = Rc::new(Handle::H3(handle));
    shared.handles.borrow_mut().insert(id, handle.clone());
    {
        let mut line = line.borrow_mut();
        line.protocol = Some(Protocol::H3);
        line.ready_us = Some(shared.clock.now_us());
    }
    if let Some((accepted, through)) = offered {
        let clock = shared.clock;
        let (host, rejected) = (target.host.clone(), client.rejected.clone());
        spawn(async move {
            let taken = tokio::select! {
                taken = accepted => taken,
                why = handshake.given_up() => {
                    if let Handle::H3(handle) = &*handle {
                        handle.given_up(why);
                    }
                    quinn.close(NO_ERROR, why.as_bytes());
                    return;
                }
            };
            if quinn.close_reason().is_none() {
                through(clock.now_us(), Some(taken));
            }
            if !taken {
                rejected.borrow_mut().insert(host);
                // What HTTP/3 had sent is gone, its control streams too: it begins anew on
                // another connection.
                quinn.close(NO_ERROR, b"");
            }
            if let Handle::H3(handle) = &*handle {
                handle.through(taken);
            }
        });
    }
    shared.events.tell(What::Opened(id, Protocol::H3));
    Ok(())
}

/// Notes the end of the handshake: when, and whether 0-RTT was taken.
fn through(
    line: Line,
    verifier: Arc<Verifier>,
    shown: u64,
    host: String,
) -> impl FnOnce(u64, Option<bool>) + 'static {
    move |now_us, taken| {
        let mut line = line.borrow_mut();
        line.tls_end_us = Some(now_us);
        line.tls_version = Some("1.3");
        line.resumed = Some(verifier.count(&host) == shown);
        note_shown(&mut line, &verifier);
        line.early_data = match taken {
            None => EarlyData::NotOffered,
            Some(true) => EarlyData::Accepted,
            Some(false) => EarlyData::Rejected,
        };
    }
}

fn handshake_failed(error: &quinn::ConnectionError) -> Failure {
    use quinn::ConnectionError::{ConnectionClosed, TransportError};
    let kind = match error {
        TransportError(_) | ConnectionClosed(_) => FailureKind::Tls,
        quinn::ConnectionError::TimedOut => FailureKind::Timeout,
        _ => FailureKind::Connect,
    };
    Failure::new(kind, error)
}

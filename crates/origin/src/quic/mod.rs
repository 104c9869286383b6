//! HTTP/3 over QUIC.

pub(crate) mod bbr;
pub(crate) mod congestion;
pub(crate) mod delivery;
mod ids;
pub(crate) mod paced_socket;
pub(crate) mod qlog;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use dragstrip_http3::{Connection as Transport, Offer, Qpack, Streams};
use h3::server::RequestResolver;
use http::Response;
use quinn::crypto::rustls::{HandshakeData, QuicServerConfig};
use quinn::{
    Endpoint, EndpointConfig, Incoming, Runtime, ServerConfig, TokenLog, TokenReuseError,
    TokioRuntime, TransportConfig, ValidationTokenConfig, VarInt, ZeroRttAccepted,
};
use socket2::{Domain, Socket, Type};

use crate::connections::Generation;
use crate::log::{Connection, Log, Protocol};
use crate::origin::{MAX_STREAMS, Shared};
use crate::priority::Priority;
use crate::quic::congestion::{Flow, Steering};
use crate::quic::paced_socket::PacedSocket;
use crate::tcp::no_ipv6;
use crate::telemetry::{self, Ending};
use crate::tls::{self, Witness};
use crate::tuning::{Quic, Tls};

/// What quinn may hold unacknowledged per connection. A whole page, so that priorities decide what
/// is sent next and not which answer came first into the buffer.
const SEND_WINDOW: u64 = 256 << 20;

/// As Chromium allows, in streams.
const BLOCKED_STREAMS: u64 = 100;

const IDLE: Duration = Duration::from_secs(180);
/// RFC 9000 section 18.2.
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
const NO_ERROR: VarInt = VarInt::from_u32(0x100); // H3_NO_ERROR, RFC 9114 section 8.1

/// Serves from now on, unless the machine lacks the address family.
pub(crate) fn listen(address: SocketAddr, shared: &Arc<Shared>) -> Result<()> {
    let place = || format!("UDP {address}");
    let socket = match bind(address) {
        Err(error) if no_ipv6(address, &error) => return Ok(()),
        bound => bound.with_context(place)?,
    };
    let tls = tls::Server::new(&shared.authority, &["h3"], u32::MAX)?;
    let crypto = QuicServerConfig::try_from(tls.tuned(Tls::default()))?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.validation_token_config(tokens()).migration(false);
    let socket = PacedSocket::new(TokioRuntime.wrap_udp_socket(socket).with_context(place)?);
    let endpoint = Endpoint::new_with_abstract_socket(
        EndpointConfig::default(),
        Some(config.clone()),
        socket.clone(),
        Arc::new(TokioRuntime),
    )
    .with_context(place)?;
    let listener = Arc::new(Listener {
        socket,
        tls,
        config,
    });
    let shared = shared.clone();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let generation = shared.connections.current();
            let tasks = generation.quic.clone();
            tasks.spawn(serve(
                incoming,
                listener.clone(),
                shared.clone(),
                generation,
            ));
        }
    });
    Ok(())
}

/// What every connection of an address is made from.
struct Listener {
    socket: Arc<PacedSocket>,
    tls: tls::Server,
    config: ServerConfig,
}

fn bind(address: SocketAddr) -> std::io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Address tokens, without which a 0-RTT answer stops at three times what came in.
fn tokens() -> ValidationTokenConfig {
    struct AcceptAll;
    impl TokenLog for AcceptAll {
        fn check_and_insert(
            &self,
            _: u128,
            _: SystemTime,
            _: Duration,
        ) -> Result<(), TokenReuseError> {
            Ok(())
        }
    }
    let mut config = ValidationTokenConfig::default();
    config.sent(2).log(Arc::new(AcceptAll));
    config
}

fn transport(tuning: &Quic, steering: &Arc<Steering>) -> Result<TransportConfig> {
    let mut config = tuning.transport()?;
    config
        .congestion_controller_factory(steering.clone())
        .initial_rtt(steering.initial_rtt)
        .send_window(SEND_WINDOW)
        .max_concurrent_bidi_streams(VarInt::from_u32(MAX_STREAMS))
        .max_idle_timeout(Some(IDLE.try_into()?))
        .allow_spin(false);
    Ok(config)
}

async fn serve(
    incoming: Incoming,
    listener: Arc<Listener>,
    shared: Arc<Shared>,
    generation: Generation,
) {
    let mut connection =
        Connection::accepted(shared.next_connection(), incoming.remote_address().port());
    let client = incoming.remote_address().ip();
    let _ending = Ending(connection.gauge.clone());
    let opened = tokio::select! {
        opened = handshake(incoming, &listener, &shared, &mut connection) => opened,
        () = generation.ended.cancelled() => Err(anyhow!("closed during the handshake")),
    };
    match opened {
        Ok(Opened {
            quinn,
            completed,
            qpack,
            flow,
        }) => {
            let rest = after_handshake(
                completed,
                flow,
                quinn.clone(),
                connection.clone(),
                shared.log.clone(),
            );
            generation.streams.spawn(rest);
            tokio::select! {
                () = http(quinn.clone(), qpack, connection, shared.clone(), &generation) => {}
                () = generation.ended.cancelled() => {}
            }
            if quinn.stats().frame_rx.acks > 0 {
                shared.keep_round_trip(client, quinn.rtt());
            }
            quinn.close(NO_ERROR, b"");
        }
        Err(error) => {
            connection.error = Some(format!("{error:#}"));
            shared.log.connection(connection);
        }
    }
}

/// Requests may come before the handshake is through; only then is it known whether it succeeded.
async fn after_handshake(
    completed: ZeroRttAccepted,
    flow: Arc<Flow>,
    quinn: quinn::Connection,
    connection: Connection,
    log: Arc<Log>,
) {
    completed.await;
    let error = quinn.close_reason().map(|reason| reason.to_string());
    log.connection(Connection {
        error,
        ..connection
    });
    probe_if_still(&quinn, &flow).await;
}

/// quinn-proto 0.11.19 arms the timer for 0.5-RTT data with the first packet after the handshake. If
/// the window is full by then and none of that data arrived, there is no such packet: the connection
/// would stand still. It gets one at the timeout that quinn misses.
async fn probe_if_still(quinn: &quinn::Connection, flow: &Flow) {
    let sent = flow.sent();
    tokio::time::sleep(3 * quinn.rtt() + MAX_ACK_DELAY).await;
    if flow.sent() == sent {
        flow.grant();
        quinn.set_max_concurrent_bi_streams(VarInt::from_u32(MAX_STREAMS)); // as before; wakes quinn
    }
}

struct Opened {
    quinn: quinn::Connection,
    completed: ZeroRttAccepted,
    qpack: Qpack,
    flow: Arc<Flow>,
}

/// Returns as soon as the client's keys are known: 0-RTT requests are served before it answers.
async fn handshake(
    incoming: Incoming,
    listener: &Listener,
    shared: &Shared,
    connection: &mut Connection,
) -> Result<Opened> {
    let tuning = shared.tuning();
    let mut tls = listener.tls.tuned(tuning.tls);
    let witness = Witness::new(tls.session_storage.clone());
    tls.session_storage = witness.clone();
    let mut config = listener.config.clone();
    config.crypto = Arc::new(ids::Config(Arc::new(QuicServerConfig::try_from(tls)?)));
    // Only a client that was here before has a token. RFC 9002 section 6.2.2 lets it start with
    // the round trip it had then.
    let address = incoming.remote_address().ip();
    let known = incoming.remote_address_validated();
    let known_rtt = known.then(|| shared.round_trip(address)).flatten();
    let steering = Arc::new(tuning.quic.steering(known_rtt)?);
    let mut transport = transport(&tuning.quic, &steering)?;
    if let Some(folder) = shared.qlog() {
        transport.qlog_stream(Some(qlog::stream(&folder, connection)?));
    }
    config.transport = Arc::new(transport);
    let flow = steering.flow.clone();
    let mut connecting = listener.socket.accept(incoming, config, flow.clone())?;
    // A ClientHello of today spans two datagrams. Until all of it is here the client's stream limits
    // are unknown, and h3 would wait for ever for leave to open its control stream.
    let data = connecting.handshake_data().await?;
    let data = data
        .downcast::<HandshakeData>()
        .map_err(|_| anyhow!("no handshake data"))?;
    connection.host = data.server_name.unwrap_or_default();
    connection.resumed = witness.resumed();
    connection.protocol = Some(Protocol::H3);
    let (quinn, completed) = connecting
        .into_0rtt()
        .map_err(|_| anyhow!("no 0.5-RTT keys"))?;
    let watched = quinn.clone();
    let watched_flow = flow.clone();
    let qpack = tables(tuning.http.qpack_table_bytes);
    let watched_qpack = qpack.clone();
    let read = move || Some(telemetry::of_quic(&watched, &watched_flow, &watched_qpack));
    connection.gauge.watch(read);
    Ok(Opened {
        quinn,
        completed,
        qpack,
        flow,
    })
}

/// Of that size each way.
fn tables(table_bytes: u64) -> Qpack {
    let offer = match table_bytes {
        0 => Offer::default(),
        table_bytes => Offer {
            table_bytes,
            blocked_streams: BLOCKED_STREAMS,
        },
    };
    Qpack::new(offer, table_bytes)
}

async fn http(
    quinn: quinn::Connection,
    qpack: Qpack,
    connection: Connection,
    shared: Arc<Shared>,
    generation: &Generation,
) {
    let streams = Streams::default();
    let transport = Transport::new(quinn, qpack, streams.clone());
    let Ok(mut h3) = h3::server::builder()
        .send_grease(false)
        .build(transport)
        .await
    else {
        return;
    };
    // An error here is the end of the connection; requests it cut off stand in the log without end.
    while let Ok(Some(resolver)) = h3.accept().await {
        let (streams, connection, shared) = (streams.clone(), connection.clone(), shared.clone());
        generation.streams.spawn(async move {
            let _ = respond(resolver, streams, connection, shared).await;
        });
    }
}

async fn respond(
    resolver: RequestResolver<Transport, Bytes>,
    streams: Streams,
    connection: Connection,
    shared: Arc<Shared>,
) -> Result<()> {
    let (request, mut stream) = resolver.resolve_request().await?;
    let (request, ()) = request.into_parts();
    let arrival = streams.take(stream.id());
    let (answer, mut in_flight) = shared.answer(&request, &connection, arrival.early);
    if shared.tuning().http.priorities {
        let rank = Priority::of(&request.headers).rank(stream.id().index());
        arrival.priority.store(rank.quinn(), Ordering::Relaxed);
    }
    // To the end, or the client's stream credit is never given back.
    while stream.recv_data().await?.is_some() {}
    if !answer.think.is_zero() {
        tokio::time::sleep(answer.think).await;
    }
    let mut response = Response::new(());
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    stream.send_response(response).await?;
    if !answer.body.is_empty() {
        stream.send_data(answer.body).await?;
    }
    stream.finish().await?;
    in_flight.finish();
    Ok(())
}

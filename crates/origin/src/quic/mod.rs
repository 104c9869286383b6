//! HTTP/3 over QUIC.

mod alarm;
pub(crate) mod bbr;
mod bbr3;
mod bbr3_bounds;
pub(crate) mod congestion;
mod cubic;
pub(crate) mod delivery;
mod departures;
pub(crate) mod ecn;
pub(crate) mod flow;
mod hystart;
mod ids;
mod law;
mod order;
pub(crate) mod paced_socket;
mod parameters;
mod prague;
#[cfg(test)]
mod simulation;
mod train;
mod usage;
mod window;

use std::future::pending;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow};
use bytes::{Buf, Bytes};
use dragstrip_http3::{Connection as Transport, Offer, Qpack, Streams};
use h3::error::Code;
use h3::server::RequestResolver;
use http::Response;
use quinn::crypto::rustls::{HandshakeData, QuicServerConfig};
use quinn::{
    Endpoint, EndpointConfig, Incoming, Runtime, ServerConfig, TokenLog, TokenReuseError,
    TokioRuntime, TransportConfig, ValidationTokenConfig, VarInt, ZeroRttAccepted,
};
use socket2::{Domain, Socket, Type};

use crate::certs::{Showing, group_name};
use crate::connections::Generation;
use crate::families::no_ipv6;
use crate::log::{Connection, Log};
use crate::offers::Heard;
use crate::priority::Priority;
use crate::protocol::Protocol;
use crate::qlog;
use crate::quic::congestion::Steering;
use crate::quic::flow::Flow;
use crate::quic::order::{Order, Place};
use crate::quic::paced_socket::PacedSocket;
use crate::shared::{MAX_HEADER_BYTES, Path, Shared, think};
use crate::telemetry::{self, Ending};
use crate::tls::{self, Witness};
use crate::tuning::{Tls, Tuning};

/// Bytes that quinn may hold unacknowledged per connection: a whole page, so that priorities decide
/// what is sent next and not which answer came first into the buffer.
const SEND_WINDOW: u64 = 256 << 20;

/// Streams that may wait for QPACK's table at once, as Chromium allows.
const BLOCKED_STREAMS: u64 = 100;

const IDLE: Duration = Duration::from_mins(3);
/// The peer's default of max_ack_delay (RFC 9000 section 18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
const NO_ERROR: VarInt = VarInt::from_u32(0x100); // H3_NO_ERROR, RFC 9114 section 8.1

/// Serves from now on, as the port `announced` of URLs, unless the machine lacks the address family.
pub(crate) fn listen(address: SocketAddr, shared: &Arc<Shared>, announced: u16) -> Result<()> {
    let place = || format!("UDP {address}");
    let socket = match bind(address) {
        Err(error) if no_ipv6(address, &error) => return Ok(()),
        bound => bound.with_context(place)?,
    };
    let tls = tls::Server::new(&shared.authority, &["h3"], u32::MAX)?;
    let crypto = QuicServerConfig::try_from(tls.tuned(Tls::default(), &Showing::default()))?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.validation_token_config(tokens());
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
        announced,
    });
    let shared = shared.clone();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            if shared.tuning().quic.retry && !incoming.remote_address_validated() {
                // It comes again with a token, as another connection.
                let _ = incoming.retry();
                continue;
            }
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

/// What is needed to make the connections of one address.
struct Listener {
    socket: Arc<PacedSocket>,
    tls: tls::Server,
    config: ServerConfig,
    announced: u16,
}

fn bind(address: SocketAddr) -> std::io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Configures address tokens, without which a 0-RTT answer stops at three times the bytes that came
/// in.
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

fn transport(tuning: &Tuning, steering: &Arc<Steering>) -> Result<TransportConfig> {
    let mut config = tuning.transport()?;
    config
        .congestion_controller_factory(steering.clone())
        .initial_rtt(steering.sending.initial_rtt)
        .send_window(SEND_WINDOW)
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
    connection.announced = listener.announced;
    connection.address = incoming.local_ip();
    // `may_retry` is false for a token of a Retry, and true for one of an earlier connection.
    connection.retried = !incoming.may_retry();
    let path = path(&incoming);
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
            streams,
        }) => {
            let rest = after_handshake(
                completed,
                flow.clone(),
                quinn.clone(),
                connection.clone(),
                shared.log.clone(),
                streams,
            );
            generation.streams.spawn(rest);
            tokio::select! {
                () = http(quinn.clone(), qpack, connection, shared.clone(), &generation) => {}
                () = generation.ended.cancelled() => {}
            }
            if let Some(rtt) = flow.view().rtt {
                shared.keep_round_trip(path, rtt);
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
    streams: VarInt,
) {
    completed.await;
    let error = quinn.close_reason().map(|reason| reason.to_string());
    log.connection(Connection {
        error,
        ..connection
    });
    probe_if_still(&quinn, &flow, streams).await;
}

/// quinn-proto 0.11.19 arms the timer for 0.5-RTT data with the first packet after the handshake. If
/// the window is full by then and none of that data arrived, there is no such packet: the connection
/// would stand still. It gets one at the timeout that quinn misses.
async fn probe_if_still(quinn: &quinn::Connection, flow: &Flow, streams: VarInt) {
    let sent = flow.sent();
    tokio::select! {
        () = tokio::time::sleep(3 * quinn.rtt() + MAX_ACK_DELAY) => {}
        _ = quinn.closed() => return,
    }
    if flow.sent() == sent {
        flow.grant();
        quinn.set_max_concurrent_bi_streams(streams); // as before; wakes quinn
    }
}

struct Opened {
    quinn: quinn::Connection,
    completed: ZeroRttAccepted,
    qpack: Qpack,
    flow: Arc<Flow>,
    /// Number of streams that the client may have open at once.
    streams: VarInt,
}

/// Does the handshake, and returns as soon as the client's keys are known: 0-RTT requests are
/// served before the client answers.
async fn handshake(
    incoming: Incoming,
    listener: &Listener,
    shared: &Shared,
    connection: &mut Connection,
) -> Result<Opened> {
    let tuning = shared.tuning();
    let showing = Showing::default();
    let mut tls = listener.tls.tuned(tuning.tls, &showing);
    let witness = Witness::new(tls.session_storage.clone());
    tls.session_storage = witness.clone();
    let mut config = listener.config.clone();
    config.migration(tuning.quic.migration);
    // Only a client that was here before has a token. RFC 9002 section 6.2.2 lets it start with
    // the round trip it had then, over the same path.
    let known = incoming.remote_address_validated();
    let known_rtt = known.then(|| shared.round_trip(path(&incoming))).flatten();
    let steering = Arc::new(tuning.quic.steering(known_rtt)?);
    let heard = Heard::default();
    config.crypto = Arc::new(ids::Config {
        rustls: Arc::new(QuicServerConfig::try_from(tls)?),
        heard: heard.clone(),
        flow: steering.flow.clone(),
        ecn: tuning.quic.marking(),
        spares: tuning.quic.migration,
    });
    let mut transport = transport(&tuning, &steering)?;
    if let Some(folder) = shared.qlog() {
        transport.qlog_stream(Some(qlog::stream(&folder, connection)?));
    }
    config.transport = Arc::new(transport);
    let flow = steering.flow.clone();
    let mut connecting =
        listener
            .socket
            .accept(incoming, config, flow.clone(), tuning.quic.marking())?;
    // A ClientHello of today spans two datagrams. Until all of it is here the client's stream
    // limits are unknown, and h3 would wait forever for leave to open its control stream.
    let data = connecting.handshake_data().await?;
    let data = data
        .downcast::<HandshakeData>()
        .map_err(|_| anyhow!("no handshake data"))?;
    connection.host = data.server_name.unwrap_or_default();
    let (quinn, completed) = connecting
        .into_0rtt()
        .map_err(|_| anyhow!("no 0.5-RTT keys"))?;
    connection.resumed = witness.resumed();
    connection.key_share = showing.group().map(group_name);
    connection.shown = showing.told(connection.resumed);
    connection.protocol = Some(Protocol::H3);
    let watched = quinn.clone();
    let watched_flow = flow.clone();
    let qpack = tables(tuning.http.qpack_table_bytes);
    let watched_qpack = qpack.clone();
    let read = move || {
        let (flow, qpack) = (&watched_flow, &watched_qpack);
        Some(telemetry::of_quic(&watched, flow, qpack, heard.get()))
    };
    connection.gauge.watch(read);
    Ok(Opened {
        quinn,
        completed,
        qpack,
        flow,
        streams: VarInt::from_u32(tuning.http.streams_at_once),
    })
}

/// Returns the path between the client and one of our hosts: two hosts may be differently far.
fn path(incoming: &Incoming) -> Path {
    Path {
        client: incoming.remote_address().ip(),
        host: incoming.local_ip(),
    }
}

/// Makes QPACK tables of that size for each direction.
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
    let tuning = shared.tuning().http;
    let order = tuning
        .priorities
        .then(|| Order::new(tuning.streams_at_once));
    let streams = order.clone().map_or_else(Streams::default, |order| {
        Streams::hearing(move |id, value| {
            let heard = order.update(id.index(), Priority::of_value(value));
            heard.map_err(|_| Code::H3_ID_ERROR)
        })
    });
    let transport = Transport::new(quinn, qpack, streams.clone());
    let Ok(mut h3) = h3::server::builder()
        .send_grease(false)
        .max_field_section_size(MAX_HEADER_BYTES.into())
        .build(transport)
        .await
    else {
        return;
    };
    // An error here is the end of the connection; requests it cut off stand in the log without end.
    while let Ok(Some(resolver)) = h3.accept().await {
        let (streams, connection, shared) = (streams.clone(), connection.clone(), shared.clone());
        let order = order.clone();
        generation.answer(async move {
            let answered = respond(resolver, streams, connection, shared, order).await;
            if let Ok(Some(place)) = answered {
                place.left().await;
            }
        });
    }
}

async fn respond(
    resolver: RequestResolver<Transport, Bytes>,
    streams: Streams,
    connection: Connection,
    shared: Arc<Shared>,
    order: Option<Order>,
) -> Result<Option<Place>> {
    let (request, mut stream) = resolver.resolve_request().await?;
    let (request, ()) = request.into_parts();
    let arrival = streams.take(stream.id());
    let (answer, mut in_flight) = shared.answer(&request, &connection, arrival.early);
    let place = order.zip(arrival.sender).map(|(order, sender)| {
        let (asked, own) = (
            Priority::of(&request.headers),
            Priority::of(&answer.headers),
        );
        order.begin(stream.id().index(), asked, own, sender)
    });
    // To the end, or the client's stream credit is never given back.
    let mut bytes = 0;
    while let Some(data) = stream.recv_data().await? {
        bytes += data.remaining() as u64;
    }
    in_flight.received(bytes);
    think(answer.hold).await;
    if let Some(ahead) = answer.ahead() {
        stream.send_response(ahead).await?;
        in_flight.hinted(&answer.hints);
    }
    think(answer.think).await;
    in_flight.ready();
    let mut response = Response::new(());
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    stream.send_response(response).await?;
    if !answer.body.is_empty() {
        stream.send_data(answer.body).await?;
    }
    if answer.open {
        in_flight.finish();
        if let Some(place) = place {
            place.left().await;
        }
        return pending().await;
    }
    stream.finish().await?;
    in_flight.finish();
    Ok(place)
}

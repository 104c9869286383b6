//! HTTP/1.1 and HTTP/2 over TLS over TCP, and HTTP/1.1 over TCP alone.

pub(crate) mod body;
pub(crate) mod fast_open;
pub(crate) mod plain;
pub(crate) mod records;
pub(crate) mod tls_stream;

use std::convert::Infallible;
use std::future::pending;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::{HandshakeKind, ServerConnection};
use socket2::{Domain, SockRef, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

use crate::connections::Generation;
use crate::log::{Connection, Protocol};
use crate::origin::{MAX_STREAMS, Shared};
use crate::priority::{Priority, Turn, Turns};
use crate::quic::qlog;
use crate::tcp::body::{Body, FRAME_BYTES};
use crate::tcp::records::Meter;
use crate::tcp::tls_stream::{Early, TlsStream};
use crate::telemetry::{self, Ending};
use crate::tls;
use crate::tuning::Tuning;

const BACKLOG: i32 = 1024;

/// What may wait unsent in the kernel: enough to keep it busy until we are woken, little enough
/// that an urgent answer is not queued behind megabytes of another.
const NOTSENT_LOWAT: u32 = 16 * 1024;

/// A client's first requests; Chromium never sends more than its ticket allows.
const EARLY_DATA: u32 = 64 * 1024;

/// Serves https, or http if not `secure`, from now on; returns the port, or None if the machine lacks
/// the address family.
pub(crate) fn listen(
    address: SocketAddr,
    shared: &Arc<Shared>,
    secure: bool,
) -> Result<Option<u16>> {
    let place = || format!("TCP {address}");
    let listener = match bind(address) {
        Err(error) if no_ipv6(address, &error) => return Ok(None),
        bound => bound.with_context(place)?,
    };
    let port = listener.local_addr()?.port();
    shared.keep_listener(SockRef::from(&listener).try_clone()?);
    let tls = secure
        .then(|| tls::Server::new(&shared.authority, &["h2", "http/1.1"], EARLY_DATA))
        .transpose()?;
    let shared = shared.clone();
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((socket, client)) => {
                    let generation = shared.connections.current();
                    let tasks = generation.tcp.clone();
                    tasks.spawn(serve(
                        socket,
                        client,
                        tls.clone(),
                        shared.clone(),
                        generation,
                    ));
                }
                Err(error) => {
                    eprintln!("dragstrip-origin: a TCP connection could not be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
    });
    Ok(Some(port))
}

pub(crate) fn no_ipv6(address: SocketAddr, error: &io::Error) -> bool {
    let missing = error.raw_os_error() == Some(97) || error.kind() == ErrorKind::AddrNotAvailable;
    address.is_ipv6() && missing
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?; // another server may have an address of its own, with this port
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

async fn serve(
    socket: TcpStream,
    client: SocketAddr,
    tls: Option<tls::Server>,
    shared: Arc<Shared>,
    generation: Generation,
) {
    // A second handle, because the socket itself disappears into TLS and hyper.
    let Ok(twin) = SockRef::from(&socket).try_clone() else {
        return;
    };
    let mut connection = Connection::accepted(shared.next_connection(), client.port());
    let meter = Arc::<Meter>::default();
    let _ending = watch(&twin, &connection, meter.clone());
    let folder = shared.qlog();
    let accepted = connection.clone();
    tokio::select! {
        () = qlog::windows(folder.as_deref(), &accepted, &twin) => {}
        () = talk(socket, &mut connection, tls, meter, shared, generation.clone()) => {}
        () = generation.ended.cancelled() => {
            // Close with a reset: it goes out at once and discards what is unsent or unacknowledged,
            // so nothing of this connection is retransmitted into the next visit.
            let _ = twin.set_linger(Some(Duration::ZERO));
        }
    }
}

/// The connection's transport can be read from now on, until what this returns is dropped.
fn watch(socket: &Socket, connection: &Connection, meter: Arc<Meter>) -> Ending {
    let window = telemetry::window_packets(socket).unwrap_or_default();
    if let Ok(socket) = socket.try_clone() {
        let read = move || telemetry::of_tcp(&socket, window, meter.sent());
        connection.gauge.watch(read);
    }
    Ending(connection.gauge.clone())
}

async fn talk(
    socket: TcpStream,
    connection: &mut Connection,
    tls: Option<tls::Server>,
    meter: Arc<Meter>,
    shared: Arc<Shared>,
    generation: Generation,
) {
    let opened = match &tls {
        Some(tls) => handshake(socket, tls, meter, &shared, connection).await,
        None => cleartext(socket, &shared, connection),
    };
    if let Err(error) = &opened {
        connection.error = Some(format!("{error:#}"));
    }
    let connection = connection.clone();
    shared.log.connection(connection.clone());
    // A broken connection shows in the log as requests without an end.
    let _ = match opened {
        Ok(Opened::Cleartext(stream)) => {
            http(stream, Early::default(), connection, shared, generation).await
        }
        Ok(Opened::Secure(stream, early)) => {
            http(*stream, early, connection, shared, generation).await
        }
        Err(_) => return,
    };
}

enum Opened {
    Cleartext(TcpStream),
    Secure(Box<TlsStream>, Early),
}

fn tune(socket: &TcpStream, shared: &Shared) -> Result<Tuning> {
    let tuning = shared.tuning();
    let options = SockRef::from(socket);
    options.set_tcp_nodelay(true)?;
    options.set_tcp_notsent_lowat(NOTSENT_LOWAT)?;
    tuning.tcp.apply(&options)?;
    Ok(tuning)
}

fn cleartext(socket: TcpStream, shared: &Shared, connection: &mut Connection) -> Result<Opened> {
    tune(&socket, shared)?;
    connection.secure = false;
    connection.protocol = Some(Protocol::H1);
    Ok(Opened::Cleartext(socket))
}

async fn handshake(
    socket: TcpStream,
    tls: &tls::Server,
    meter: Arc<Meter>,
    shared: &Shared,
    connection: &mut Connection,
) -> Result<Opened> {
    let tuning = tune(&socket, shared)?;
    let h1_only = tuning.http.h1_only.contains(&socket.local_addr()?.ip());
    let config = if h1_only {
        tls.tuned_for_h1(tuning.tls)
    } else {
        tls.tuned(tuning.tls)
    };
    let mut tls = ServerConnection::new(Arc::new(config))?;
    tls.set_buffer_limit(Some(FRAME_BYTES));
    let early = Early::default();
    let stream = TlsStream::accept(socket, tls, early.clone(), tuning.tls.records, meter)
        .await
        .context("TLS handshake")?;
    note(&stream.tls, connection);
    Ok(Opened::Secure(Box::new(stream), early))
}

fn note(tls: &ServerConnection, connection: &mut Connection) {
    connection.host = tls.server_name().unwrap_or_default().to_owned();
    connection.resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
    let h2 = tls.alpn_protocol() == Some(b"h2");
    connection.protocol = Some(if h2 { Protocol::H2 } else { Protocol::H1 });
}

/// Serves one connection, until its end.
pub(crate) async fn http(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    early: Early,
    connection: Connection,
    shared: Arc<Shared>,
    generation: Generation,
) -> hyper::Result<()> {
    let h2 = connection.protocol == Some(Protocol::H2);
    let turns = (h2 && shared.tuning().http.priorities).then(Arc::<Turns>::default);
    let service = service_fn(|request: Request<Incoming>| {
        let (shared, connection, turns) = (shared.clone(), connection.clone(), turns.clone());
        let early = early.now();
        async move {
            let (request, upload) = request.into_parts();
            let (answer, in_flight) = shared.answer(&request, &connection, early);
            let turn = turns.map(|turns| Turn::new(&turns, Priority::of(&request.headers)));
            if upload.collect().await.is_err() {
                // The client gave up in the middle of its request: there is no one to answer.
                pending::<()>().await;
            }
            if !answer.think.is_zero() {
                tokio::time::sleep(answer.think).await;
            }
            let mut response = Response::new(Body::new(answer.body, turn, in_flight));
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok::<_, Infallible>(response)
        }
    });
    let io = TokioIo::new(stream);
    if h2 {
        http2::Builder::new(generation)
            .auto_date_header(false)
            .max_concurrent_streams(MAX_STREAMS)
            .max_send_buf_size(FRAME_BYTES)
            .serve_connection(io, service)
            .await
    } else {
        http1::Builder::new()
            .auto_date_header(false)
            .serve_connection(io, service)
            .await
    }
}

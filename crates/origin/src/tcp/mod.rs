//! HTTP/1.1 and HTTP/2 over TLS over TCP, and HTTP/1.1 over TCP alone.

pub(crate) mod body;
mod corked;
pub(crate) mod fast_open;
mod frame;
mod hello;
pub(crate) mod http1;
mod http2;
pub(crate) mod plain;
pub(crate) mod records;
mod socket_stream;
pub(crate) mod tls_stream;
mod updates;
mod watched;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use rustls::{HandshakeKind, ServerConnection};
use socket2::{Domain, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};

use crate::certs::{Showing, group_name};
use crate::connections::Generation;
use crate::families::no_ipv6;
use crate::log::Connection;
use crate::offers::Heard;
use crate::protocol::Protocol;
use crate::qlog;
use crate::shared::Shared;
use crate::tcp::records::{LARGEST, Meter};
use crate::tcp::tls_stream::{Early, TlsStream};
use crate::telemetry::{self, Ending};
use crate::tls;
use crate::tuning::Tuning;

const BACKLOG: i32 = 1024;

/// Most bytes of early data: a client's first requests; Chromium never sends more than its ticket
/// allows.
const EARLY_DATA: u32 = 64 * 1024;

/// Serves https, or http if not `secure`, from now on, as the port `announced` of URLs; returns the port, or None if the machine lacks
/// the address family.
pub(crate) fn listen(
    address: SocketAddr,
    shared: &Arc<Shared>,
    secure: bool,
    announced: u16,
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
                        (client, announced),
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

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?; // another server may have its own address, with this port
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

async fn serve(
    socket: TcpStream,
    (client, announced): (SocketAddr, u16),
    tls: Option<tls::Server>,
    shared: Arc<Shared>,
    generation: Generation,
) {
    // A second handle, because the socket itself disappears into TLS and hyper.
    let Ok(twin) = SockRef::from(&socket).try_clone() else {
        return;
    };
    let mut connection = Connection::accepted(shared.next_connection(), client.port());
    connection.announced = announced;
    connection.address = socket.local_addr().ok().map(|local| local.ip());
    let (meter, heard) = (Arc::<Meter>::default(), Heard::default());
    let _ending = watch(&twin, &connection, meter.clone(), heard.clone());
    let folder = shared.qlog();
    let accepted = connection.clone();
    tokio::select! {
        () = qlog::windows(folder.as_deref(), &accepted, &twin) => {}
        () = talk(socket, &mut connection, tls, meter, heard, shared, generation.clone()) => {}
        () = generation.ended.cancelled() => {
            // Close with a reset: it goes out at once and discards what is unsent or unacknowledged,
            // so nothing of this connection is retransmitted into the next visit.
            let _ = twin.set_linger(Some(Duration::ZERO));
        }
    }
}

/// The connection's transport can be read from now on, until what this returns is dropped.
fn watch(socket: &Socket, connection: &Connection, meter: Arc<Meter>, heard: Heard) -> Ending {
    let window = telemetry::window_packets(socket).unwrap_or_default();
    if let Ok(socket) = socket.try_clone() {
        let read = move || telemetry::of_tcp(&socket, window, meter.sent(), heard.get());
        connection.gauge.watch(read);
    }
    Ending(connection.gauge.clone())
}

async fn talk(
    socket: TcpStream,
    connection: &mut Connection,
    tls: Option<tls::Server>,
    meter: Arc<Meter>,
    heard: Heard,
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
    match opened {
        Ok(Opened::Cleartext(stream)) => {
            let _ = http1::serve(stream, Early::default(), connection, shared).await;
        }
        Ok(Opened::Secure(stream, early)) if connection.protocol == Some(Protocol::H2) => {
            let _ = http2::serve(*stream, early, heard, connection, shared, generation).await;
        }
        Ok(Opened::Secure(stream, early)) => {
            let _ = http1::serve(*stream, early, connection, shared).await;
        }
        Err(_) => {}
    }
}

enum Opened {
    Cleartext(TcpStream),
    Secure(Box<TlsStream>, Early),
}

fn tune(socket: &TcpStream, shared: &Shared) -> Result<Tuning> {
    let tuning = shared.tuning();
    let options = SockRef::from(socket);
    options.set_tcp_nodelay(true)?;
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
    let h1_only = &tuning.http.h1_only;
    let showing = Showing::default();
    let mut tls = if h1_only.is_empty() {
        ServerConnection::new(Arc::new(tls.tuned(tuning.tls, &showing)))?
    } else {
        let configured = |host: &str| {
            if h1_only.iter().any(|only| only == host) {
                tls.tuned_for_h1(tuning.tls, &showing)
            } else {
                tls.tuned(tuning.tls, &showing)
            }
        };
        let opened = hello::accept(&socket, configured).await;
        opened.context("TLS handshake")?
    };
    tls.set_buffer_limit(Some(LARGEST.into()));
    let early = Early::default();
    let stream = TlsStream::accept(socket, tls, early.clone(), tuning.tls.records, meter)
        .await
        .context("TLS handshake")?;
    note(&stream.tls, &showing, connection);
    Ok(Opened::Secure(Box::new(stream), early))
}

fn note(secure: &ServerConnection, showing: &Showing, connection: &mut Connection) {
    connection.host = secure.server_name().unwrap_or_default().to_owned();
    connection.resumed = secure.handshake_kind() == Some(HandshakeKind::Resumed);
    connection.key_share = showing.group().map(group_name);
    connection.shown = showing.told(connection.resumed);
    let h2 = secure.alpn_protocol() == Some(b"h2");
    connection.protocol = Some(if h2 { Protocol::H2 } else { Protocol::H1 });
}

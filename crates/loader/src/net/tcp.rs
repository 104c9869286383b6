//! Opening a connection over TCP: SYN, TLS, and whatever HTTP was agreed on.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::event::{Failure, FailureKind, Target, What};
use crate::input::Protocol;
use crate::net::early::{Stream, Watched};
use crate::net::{Handle, Line, Probe, Shared, Verifier, http1, http2, socket, spawn};
use crate::pool::ConnectionId;
use crate::report::{EarlyData, FastOpen};

/// Opens a connection to `target`, and tells that it is open or why it is not.
pub(super) async fn open(
    id: ConnectionId,
    target: Target,
    address: SocketAddr,
    tls: Option<(ClientConfig, Arc<Verifier>)>,
    fast_open: bool,
    line: Line,
    shared: Shared,
) {
    line.borrow_mut().connect_start_us = Some(shared.clock.now_us());
    let socket = match socket::connect(address, fast_open).await {
        Ok(socket) => socket,
        Err(error) => {
            let failure = Failure::new(FailureKind::Connect, format!("{address}: {error}"));
            return shared.lost(id, &line, Some(failure));
        }
    };
    {
        let mut line = line.borrow_mut();
        line.connect_end_us = Some(shared.clock.now_us());
        line.local_port = socket.local_addr().ok().map(|local| local.port());
        if fast_open {
            line.tcp_fast_open = Some(FastOpen::NoCookie);
        }
    }
    if let Ok(twin) = SockRef::from(&socket).try_clone() {
        shared.probes.borrow_mut().insert(id, Probe::Tcp(twin));
    }
    shared.events.tell(What::Connected(id));
    let opened = match tls {
        None => speak(id, socket, Protocol::H1, &line, &shared).await,
        Some((config, verifier)) => {
            match handshake(socket, config, verifier, &target, &line, &shared).await {
                Ok((stream, protocol)) => speak(id, stream, protocol, &line, &shared).await,
                Err(failure) => Err(failure),
            }
        }
    };
    if let Err(failure) = opened {
        shared.lost(id, &line, Some(failure));
    }
}

async fn handshake(
    socket: TcpStream,
    config: ClientConfig,
    verifier: Arc<Verifier>,
    target: &Target,
    line: &Line,
    shared: &Shared,
) -> Result<(Stream, Protocol), Failure> {
    let failed = |error: &dyn ToString| Failure::new(FailureKind::Tls, error.to_string());
    let name = ServerName::try_from(target.host.clone()).map_err(|error| failed(&error))?;
    line.borrow_mut().tls_start_us = Some(shared.clock.now_us());
    // Early data needs to know what the server is going to speak before it says so.
    let early = target
        .known
        .filter(|_| target.early && config.enable_early_data);
    let connector = TlsConnector::from(Arc::new(config)).early_data(early.is_some());
    let tls = connector
        .connect(name, socket)
        .await
        .map_err(|error| failed(&error))?;
    let session = tls.get_ref().1;
    let protocol = match early {
        Some(known) if session.is_handshaking() => {
            line.borrow_mut().early_data = EarlyData::Offered;
            known
        }
        _ => match session.alpn_protocol() {
            Some(b"h2") => Protocol::H2,
            _ => Protocol::H1,
        },
    };
    let stream = Watched::stream(tls, line, verifier, shared.clock);
    Ok((stream, protocol))
}

async fn speak(
    id: ConnectionId,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    protocol: Protocol,
    line: &Line,
    shared: &Shared,
) -> Result<(), Failure> {
    let (handle, driver) = if protocol == Protocol::H2 {
        let (handle, driver) = http2::begin(stream).await?;
        (Handle::H2(handle), driver)
    } else {
        let (handle, driver) = http1::begin(stream).await?;
        (Handle::H1(handle), driver)
    };
    shared.handles.borrow_mut().insert(id, Rc::new(handle));
    {
        let mut line = line.borrow_mut();
        line.protocol = Some(protocol);
        line.ready_us = Some(shared.clock.now_us());
    }
    shared.events.tell(What::Opened(id, protocol));
    let (line, shared) = (line.clone(), shared.clone());
    spawn(async move {
        let failure = driver.await;
        let unfinished = line.borrow().secure && line.borrow().tls_end_us.is_none();
        let failure = failure.map(|failure| Failure {
            kind: if unfinished {
                FailureKind::Tls
            } else {
                failure.kind
            },
            ..failure
        });
        shared.lost(id, &line, failure);
    });
    Ok(())
}

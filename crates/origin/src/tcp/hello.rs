//! TLS whose configuration depends on the host that the client asks for.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use anyhow::Result;
use rustls::server::{Accepted, AcceptedAlert, Acceptor};
use rustls::{ServerConfig, ServerConnection};
use tokio::net::TcpStream;

/// Reads the ClientHello; `configured` gives the configuration by its server name.
pub(super) async fn accept(
    socket: &TcpStream,
    configured: impl FnOnce(&str) -> ServerConfig,
) -> Result<ServerConnection> {
    let hello = read(socket).await?;
    let host = hello
        .client_hello()
        .server_name()
        .map(str::to_ascii_lowercase);
    let config = configured(&host.unwrap_or_default());
    let opened = hello.into_connection(Arc::new(config));
    Ok(opened.map_err(|refused| told(socket, refused))?)
}

async fn read(socket: &TcpStream) -> Result<Accepted> {
    let mut acceptor = Acceptor::default();
    loop {
        socket.readable().await?;
        match acceptor.read_tls(&mut Now(socket)) {
            Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error.into()),
        }
        let hello = acceptor.accept().map_err(|refused| told(socket, refused))?;
        if let Some(hello) = hello {
            return Ok(hello);
        }
    }
}

/// Sends the client the alert, and returns the error. What the socket does not take at once is
/// lost.
fn told(socket: &TcpStream, (error, mut alert): (rustls::Error, AcceptedAlert)) -> rustls::Error {
    let mut said = Vec::new();
    if alert.write(&mut said).is_ok() {
        let _ = socket.try_write(&said);
    }
    error
}

/// The socket as blocking code sees one that would block.
struct Now<'a>(&'a TcpStream);

impl io::Read for Now<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

//! HTTP/1.1 without TLS on a Unix socket, for another server that stands before this origin.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::net::UnixListener;

use crate::log::Connection;
use crate::protocol::Protocol;
use crate::shared::Shared;
use crate::tcp::http1;
use crate::tcp::tls_stream::Early;

/// Serves from now on. These connections belong to the server in front and to no visit: they are
/// not logged, and `close` leaves them open.
pub(crate) fn listen(path: &Path, shared: &Arc<Shared>) -> Result<()> {
    let listener = UnixListener::bind(path).with_context(|| path.display().to_string())?;
    let shared = shared.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let mut connection = Connection::accepted(shared.next_connection(), 0);
            connection.protocol = Some(Protocol::H1);
            let shared = shared.clone();
            tokio::spawn(http1::serve(socket, Early::default(), connection, shared));
        }
    });
    Ok(())
}

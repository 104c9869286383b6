// Serves a recording over h3 by s2n-quic. The origin behind a Unix socket has every answer.
mod http3;
mod pages;
mod security;

use std::net::SocketAddr;
use std::sync::Arc;

use s2n_quic::provider::tls;

use crate::pages::{Failure, Pages, Settings};

async fn serve(settings: Arc<Settings>, server: usize, pages: Arc<Pages>) -> Result<(), Failure> {
    let server = &settings.servers[server];
    let by = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let secure = security::config(server, &settings, by)?;
    let mut quic = s2n_quic::Server::builder()
        .with_tls(tls::rustls::Server::from(secure))?
        .with_io(SocketAddr::new(server.address, settings.port))?
        .start()?;
    while let Some(connection) = quic.accept().await {
        let Ok(from) = connection.remote_addr() else {
            continue;
        };
        let connection = tachyon_quic::Connection::new(connection);
        tokio::spawn(http3::serve(connection, from.port(), Arc::clone(&pages)));
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let settings = pages::settings()?;
    let pages = Pages::new(&settings)?;
    let mut places = tokio::task::JoinSet::new();
    for server in 0..settings.servers.len() {
        places.spawn(serve(Arc::clone(&settings), server, Arc::clone(&pages)));
    }
    while let Some(ended) = places.join_next().await {
        ended??;
    }
    Ok(())
}

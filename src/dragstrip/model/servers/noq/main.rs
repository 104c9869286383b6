// Serves a recording over h3 by noq. The origin behind a Unix socket has every answer.
mod adapter;
mod http3;
mod pages;
mod security;

use std::net::SocketAddr;
use std::sync::Arc;

use noq::crypto::rustls::QuicServerConfig;
use noq::{Endpoint, Incoming, ServerConfig};

use crate::pages::{Failure, Pages, Settings};

async fn serve(settings: Arc<Settings>, server: usize, pages: Arc<Pages>) -> Result<(), Failure> {
    let server = &settings.servers[server];
    let by = Arc::new(rustls::crypto::ring::default_provider());
    let secure = security::config(server, &settings, by)?;
    let quic = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(secure)?));
    let endpoint = Endpoint::server(quic, SocketAddr::new(server.address, settings.port))?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(connection(incoming, Arc::clone(&pages)));
    }
    Ok(())
}

async fn connection(incoming: Incoming, pages: Arc<Pages>) -> Result<(), Failure> {
    let port = incoming.remote_address().port();
    http3::serve(adapter::Connection::new(incoming.await?), port, pages).await;
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

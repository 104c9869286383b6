//! The resolver's servers: DNS over UDP, over TCP and over HTTPS.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hickory_net::runtime::Time;
use hickory_net::xfer::Protocol;
use hickory_proto::op::{Header, HeaderCounts, Metadata, ResponseCode};
use hickory_proto::rr::Record;
use hickory_server::Server;
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponseBuilder;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpSocket, UdpSocket};

use crate::names::{Lookup, Resolver, now_us};

/// Path of DNS over HTTPS that RFC 8484 uses.
const PATH: &str = "/dns-query";
/// How long an idle connection stays open: longer than any visit.
const IDLE: Duration = Duration::from_hours(1);
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 128;
/// Answers that a TCP connection may have waiting.
const WAITING: usize = 32;

pub struct Place {
    pub address: IpAddr,
    pub port: u16,
    pub https: u16,
    pub secrets: Option<Secrets>,
}

/// Files with the certificate of DNS over HTTPS and its key.
pub struct Secrets {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The running servers.
pub struct Servers {
    server: Server<Answering>,
}

impl Servers {
    /// Begins to answer.
    pub async fn start(place: &Place, resolver: Arc<Resolver>) -> Result<Self> {
        let mut server = Server::new(Answering(resolver));
        let dns = SocketAddr::new(place.address, place.port);
        let socket = UdpSocket::bind(dns).await;
        server.register_socket(socket.with_context(|| format!("udp {dns}"))?);
        server.register_listener(listen(dns)?, IDLE, WAITING);
        if let Some(secrets) = &place.secrets {
            let https = SocketAddr::new(place.address, place.https);
            let config = Arc::new(secrets.config()?);
            server.register_https_listener_with_tls_config(
                listen(https)?,
                IDLE,
                config,
                None,
                PATH.to_owned(),
            )?;
        }
        Ok(Self { server })
    }

    /// Closes every socket and connection.
    pub async fn stop(mut self) -> Result<()> {
        Ok(self.server.shutdown_gracefully().await?)
    }
}

impl Secrets {
    fn config(&self) -> Result<ServerConfig> {
        let file = &self.certificate;
        let chain = CertificateDer::pem_file_iter(file).with_context(|| shown(file))?;
        let chain = chain.collect::<Result<Vec<_>, _>>();
        let key = PrivateKeyDer::from_pem_file(&self.key).with_context(|| shown(&self.key))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain.with_context(|| shown(file))?, key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }
}

/// Listens, and sends what is written at once, as servers of DNS over HTTPS do. Connections inherit
/// the option. Without it an answer's body would wait for the client's delayed acknowledgement.
fn listen(at: SocketAddr) -> Result<TcpListener> {
    let made = || {
        let socket = match at {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
        socket.set_reuseaddr(true)?;
        socket.set_nodelay(true)?;
        socket.bind(at)?;
        socket.listen(BACKLOG)
    };
    made().with_context(|| format!("tcp {at}"))
}

fn shown(file: &std::path::Path) -> String {
    file.display().to_string()
}

struct Answering(Arc<Resolver>);

#[async_trait::async_trait]
impl RequestHandler for Answering {
    async fn handle_request<R: ResponseHandler, T: Time>(
        &self,
        request: &Request,
        mut response: R,
    ) -> ResponseInfo {
        let t_us = now_us();
        let Ok(info) = request.request_info() else {
            return failed(&request.metadata);
        };
        let (question, kind) = (
            info.query.original().name().clone(),
            info.query.query_type(),
        );
        let name = info.query.name().to_string();
        let name = name.trim_end_matches('.');
        let ready = self.0.ready(name, kind);
        if let Some(ready) = ready {
            wait(ready.into_std()).await;
        }
        let (code, records) = self.0.answer(&question, name, kind);
        self.0.wrote(Lookup {
            t_us,
            answered_us: now_us(),
            name: name.to_owned(),
            kind: kind.to_string(),
            transport: transport(request.protocol()),
            missed: ready.is_some(),
            answers: records.len(),
        });
        let mut metadata = Metadata::response_from_request(&request.metadata);
        metadata.recursion_available = true;
        metadata.response_code = code;
        let none: &[Record] = &[];
        let message = MessageResponseBuilder::from_message_request(request).build(
            metadata,
            records.iter(),
            none,
            none,
            none,
        );
        let sent = response.send_response(message).await;
        sent.unwrap_or_else(|_| failed(&request.metadata))
    }
}

/// Waits in a thread, because tokio's timers have steps of a millisecond.
async fn wait(until: Instant) {
    let sleep = move || thread::sleep(until.saturating_duration_since(Instant::now()));
    let _ = tokio::task::spawn_blocking(sleep).await;
}

fn failed(asked: &Metadata) -> ResponseInfo {
    let mut metadata = Metadata::response_from_request(asked);
    metadata.response_code = ResponseCode::ServFail;
    Header {
        metadata,
        counts: HeaderCounts::default(),
    }
    .into()
}

fn transport(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Udp => "udp",
        Protocol::Https => "doh",
        _ => "tcp",
    }
}

//! A page file made in the test, and one real client per protocol.

use std::fs::File;
use std::future::poll_fn;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use bytes::{Buf, Bytes, BytesMut};
use dragstrip_http3::{Offer, Opener, Qpack, Streams};
use dragstrip_origin::{Origin, Protocol};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{Connecting, TokenMemoryCache, TransportConfig};
use rustls::crypto::SupportedKxGroup;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, NamedGroup, RootCertStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

pub const PROTOCOLS: [Protocol; 3] = [Protocol::H1, Protocol::H2, Protocol::H3];

/// Writes `har` and `bodies` as a page file.
pub fn write_page(dir: &Path, har: &[u8], bodies: &[(&str, &[u8])]) -> PathBuf {
    let path = dir.join("test.har.zip");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    for (name, bytes) in [("har.har", har)].iter().chain(bodies) {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
    path
}

/// A recorded answer; `file` names a zip member.
pub fn entry(
    method: &str,
    url: &str,
    status: u16,
    headers: &[(&str, &str)],
    file: Option<&str>,
) -> Value {
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    json!({
        "request": { "method": method, "url": url, "headers": [] },
        "response": { "status": status, "headers": headers, "content": { "_file": file } },
    })
}

pub fn har(entries: &[Value]) -> Vec<u8> {
    let page = json!({ "format": 1, "name": "test", "url": "https://a.test/", "source": "", "changes": [] });
    json!({ "log": { "_dragstrip": page, "entries": entries } })
        .to_string()
        .into_bytes()
}

/// An origin on a free port that serves `entries`.
pub fn serve(entries: &[Value], bodies: &[(&str, &[u8])]) -> (Origin, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let origin = Origin::bind(0, None).unwrap();
    origin
        .page(&write_page(dir.path(), &har(entries), bodies), true)
        .unwrap();
    (origin, dir)
}

pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A client with one protocol. It keeps tickets and address tokens between connections.
pub struct Client {
    protocol: Protocol,
    address: SocketAddr,
    tls: Arc<ClientConfig>,
    quic: quinn::Endpoint,
    tokens: Arc<TokenMemoryCache>,
}

pub enum Connection {
    H1(http1::SendRequest<Full<Bytes>>),
    H2(http2::SendRequest<Full<Bytes>>),
    H3 {
        send: h3::client::SendRequest<Opener, Bytes>,
        ended: Arc<AtomicBool>,
        /// Whether the handshake used 0-RTT keys.
        early: bool,
        quinn: quinn::Connection,
    },
}

impl Client {
    pub fn new(protocol: Protocol, origin: &Origin) -> Self {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(origin.roots_pem().unwrap().as_bytes()) {
            roots.add(root.unwrap()).unwrap();
        }
        Self::trusting(protocol, origin, roots)
    }

    pub fn trusting(protocol: Protocol, origin: &Origin, roots: RootCertStore) -> Self {
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        // As in browsers, the first ClientHello has a share of the hybrid and one of X25519.
        let hybrid = |group: &&dyn SupportedKxGroup| group.name() != NamedGroup::X25519MLKEM768;
        provider.kx_groups.sort_by_key(hybrid);
        let mut tls = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let alpn: &[u8] = match protocol {
            Protocol::H1 => b"http/1.1",
            Protocol::H2 => b"h2",
            Protocol::H3 => b"h3",
        };
        tls.alpn_protocols = vec![alpn.to_vec()];
        tls.enable_early_data = true;
        Self {
            protocol,
            address: (Ipv4Addr::LOCALHOST, origin.port()).into(),
            tls: Arc::new(tls),
            quic: quinn::Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap(),
            tokens: Arc::default(),
        }
    }

    /// Uses this socket for QUIC.
    pub fn over(mut self, quic: quinn::Endpoint) -> Self {
        self.quic = quic;
        self
    }

    /// Connects to this address of the origin from now on.
    pub fn to(mut self, address: Ipv4Addr) -> Self {
        self.address.set_ip(address.into());
        self
    }

    /// Connects to this port of the origin from now on.
    pub fn at(mut self, port: u16) -> Self {
        self.address.set_port(port);
        self
    }

    pub async fn connect(&self, host: &'static str) -> Result<Connection> {
        Ok(self.connect_and_see(host).await?.0)
    }

    /// Connects, and returns the certificates that the origin showed.
    pub async fn connect_and_see(
        &self,
        host: &'static str,
    ) -> Result<(Connection, Vec<CertificateDer<'static>>)> {
        if self.protocol == Protocol::H3 {
            return self.connect_quic(host).await;
        }
        let tls = self.connect_tls(host).await?;
        let shown = tls.get_ref().1.peer_certificates().unwrap_or_default();
        let shown = shown.to_vec();
        let io = TokioIo::new(tls);
        let opened = if self.protocol == Protocol::H1 {
            let (send, connection) = http1::handshake(io).await?;
            tokio::spawn(connection);
            Connection::H1(send)
        } else {
            let (send, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            Connection::H2(send)
        };
        Ok((opened, shown))
    }

    pub async fn connect_tls(&self, host: &'static str) -> Result<TlsStream<TcpStream>> {
        let socket = TcpStream::connect(self.address).await?;
        let tls = TlsConnector::from(self.tls.clone()).early_data(true);
        Ok(tls.connect(ServerName::try_from(host)?, socket).await?)
    }

    /// A connection of QUIC on which nothing of HTTP/3 was sent yet.
    pub fn connecting(&self, host: &str, transport: TransportConfig) -> Result<Connecting> {
        let crypto = QuicClientConfig::try_from(self.tls.clone())?;
        let mut config = quinn::ClientConfig::new(Arc::new(crypto));
        config.token_store(self.tokens.clone());
        config.transport_config(Arc::new(transport));
        Ok(self.quic.connect_with(config, self.address, host)?)
    }

    async fn connect_quic(&self, host: &str) -> Result<(Connection, Vec<CertificateDer<'static>>)> {
        let connecting = self.connecting(host, TransportConfig::default())?;
        let (quinn, early) = match connecting.into_0rtt() {
            Ok((quinn, _accepted)) => (quinn, true),
            Err(connecting) => (connecting.await?, false),
        };
        let shown = quinn.peer_identity().and_then(|any| any.downcast().ok());
        let shown = shown.map_or_else(Vec::new, |chain| *chain);
        let plain = Qpack::new(Offer::default(), 0);
        let transport = dragstrip_http3::Connection::new(quinn.clone(), plain, Streams::default());
        let (mut driver, send) = h3::client::new(transport).await?;
        let ended = Arc::<AtomicBool>::default();
        let flag = ended.clone();
        tokio::spawn(async move {
            poll_fn(|cx| driver.poll_close(cx)).await;
            flag.store(true, Ordering::Relaxed);
        });
        let opened = Connection::H3 {
            send,
            ended,
            early,
            quinn,
        };
        Ok((opened, shown))
    }
}

impl Connection {
    pub async fn get(&mut self, url: &str) -> Result<Reply> {
        self.request("GET", url, &[]).await
    }

    pub async fn request(
        &mut self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<Reply> {
        self.upload(method, url, headers, Bytes::new()).await
    }

    /// A request with a body.
    pub async fn upload(
        &mut self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Reply> {
        let mut builder = Request::builder().method(method);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        match self {
            Self::H1(send) => {
                let uri: http::Uri = url.parse()?;
                let host = uri.authority().context("no host")?.as_str();
                let target = uri.path_and_query().context("no path")?.as_str();
                let request = builder
                    .uri(target)
                    .header("host", host)
                    .body(Full::new(body))?;
                collect(send.send_request(request).await?).await
            }
            Self::H2(send) => {
                collect(
                    send.send_request(builder.uri(url).body(Full::new(body))?)
                        .await?,
                )
                .await
            }
            Self::H3 { send, .. } => {
                let mut stream = send.send_request(builder.uri(url).body(())?).await?;
                if !body.is_empty() {
                    stream.send_data(body).await?;
                }
                stream.finish().await?;
                let (parts, ()) = stream.recv_response().await?.into_parts();
                let mut body = BytesMut::new();
                while let Some(mut part) = stream.recv_data().await? {
                    body.extend_from_slice(&part.copy_to_bytes(part.remaining()));
                }
                Ok(Reply {
                    status: parts.status,
                    headers: parts.headers,
                    body: body.freeze(),
                })
            }
        }
    }

    /// Another handle to an h2 connection, for requests at the same time.
    pub fn twin(&self) -> Option<Self> {
        match self {
            Self::H2(send) => Some(Self::H2(send.clone())),
            Self::H1(_) | Self::H3 { .. } => None,
        }
    }

    pub fn is_closed(&self) -> bool {
        match self {
            Self::H1(send) => send.is_closed(),
            Self::H2(send) => send.is_closed(),
            Self::H3 { ended, .. } => ended.load(Ordering::Relaxed),
        }
    }
}

async fn collect(response: http::Response<hyper::body::Incoming>) -> Result<Reply> {
    let (parts, body) = response.into_parts();
    Ok(Reply {
        status: parts.status,
        headers: parts.headers,
        body: body.collect().await?.to_bytes(),
    })
}

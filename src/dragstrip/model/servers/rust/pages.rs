//! The recording, as the origin behind a Unix socket answers it, and the log of every answer.
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::future::Future;
use std::io::Write;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::BodyExt;
use hyper::client::conn::http1::{handshake, SendRequest};
use hyper::header::{
    HeaderName, HeaderValue, ALT_SVC, CONNECTION, HOST, TRANSFER_ENCODING, UPGRADE,
};
use hyper::{Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;

pub type Failure = Box<dyn Error + Send + Sync>;
pub type RequestBody = UnsyncBoxBody<Bytes, Failure>;
type Upstream = SendRequest<RequestBody>;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const OF_CONNECTION: [HeaderName; 4] = [CONNECTION, KEEP_ALIVE, TRANSFER_ENCODING, UPGRADE];

#[derive(Deserialize)]
pub struct Settings {
    pub port: u16,
    pub servers: Vec<Server>,
    pub resumption: bool,
    pub upstream: String,
    pub log: String,
    pub folder: std::path::PathBuf,
}

#[derive(Deserialize)]
pub struct Server {
    pub address: IpAddr,
    pub certificates: Vec<Certificate>,
}

#[derive(Deserialize)]
pub struct Certificate {
    pub hosts: Vec<String>,
    pub certificate: String,
    pub key: String,
}

/// Reads the file that the command line names.
pub fn settings() -> Result<Arc<Settings>, Failure> {
    let path = std::env::args()
        .nth(1)
        .ok_or("the command line lacks the settings' file")?;
    Ok(Arc::new(serde_json::from_slice(&std::fs::read(path)?)?))
}

/// The client's end of a request: where its answer goes.
pub trait Client: Send {
    fn head(&mut self, head: Response<()>) -> impl Future<Output = Result<(), Failure>> + Send;
    fn data(&mut self, data: Bytes) -> impl Future<Output = Result<(), Failure>> + Send;
    fn end(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;
    fn abort(&mut self) -> impl Future<Output = ()> + Send;
}

#[derive(Serialize)]
struct Line<'a> {
    began: f64,
    took: f64,
    port: u16,
    protocol: &'a str,
    method: &'a str,
    host: &'a str,
    path: &'a str,
    status: u16,
    bytes: u64,
}

#[derive(Default)]
struct Sent {
    status: Option<StatusCode>,
    bytes: u64,
}

pub struct Pages {
    upstream: String,
    idle: Mutex<Vec<Upstream>>,
    log: Mutex<File>,
}

impl Pages {
    pub fn new(settings: &Settings) -> Result<Arc<Self>, Failure> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&settings.log)?;
        let upstream = settings.upstream.clone();
        Ok(Arc::new(Self {
            upstream,
            idle: Mutex::default(),
            log: Mutex::new(log),
        }))
    }

    /// Answers a request as the origin does, and logs it.
    pub async fn answer(&self, asked: Request<RequestBody>, port: u16, mut client: impl Client) {
        let (began, start) = (SystemTime::now(), Instant::now());
        let method = asked.method().to_string();
        let host = asked
            .uri()
            .authority()
            .map(ToString::to_string)
            .unwrap_or_default();
        let path = asked
            .uri()
            .path_and_query()
            .map(ToString::to_string)
            .unwrap_or_default();
        let mut sent = Sent::default();
        if let Err(error) = self
            .forward(asked, &host, &path, &mut client, &mut sent)
            .await
        {
            eprintln!("{host}{path}: {error:?}");
            if sent.status.is_none() {
                sent.status = Some(StatusCode::BAD_GATEWAY);
                let _ = refuse(&mut client).await;
            } else {
                client.abort().await;
            }
        }
        let line = Line {
            began: began
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs_f64(),
            took: start.elapsed().as_secs_f64(),
            port,
            protocol: "HTTP/3",
            method: &method,
            host: &host,
            path: &path,
            status: sent.status.map_or(0, |status| status.as_u16()),
            bytes: sent.bytes,
        };
        let text = serde_json::to_string(&line).expect("a line is JSON") + "\n";
        let _ = self.log.lock().unwrap().write_all(text.as_bytes());
    }

    async fn forward(
        &self,
        mut asked: Request<RequestBody>,
        host: &str,
        path: &str,
        client: &mut impl Client,
        sent: &mut Sent,
    ) -> Result<(), Failure> {
        *asked.uri_mut() = path.parse::<Uri>()?;
        *asked.version_mut() = Version::HTTP_11;
        asked.headers_mut().insert(HOST, host.parse()?);
        let mut origin = self.connection().await?;
        let mut answer = origin.send_request(asked).await?;
        let mut head = Response::new(());
        *head.status_mut() = answer.status();
        *head.headers_mut() = std::mem::take(answer.headers_mut());
        for name in &OF_CONNECTION {
            head.headers_mut().remove(name);
        }
        head.headers_mut()
            .insert(ALT_SVC, HeaderValue::from_static("h3=\":443\"; ma=86400"));
        sent.status = Some(head.status());
        client.head(head).await?;
        while let Some(frame) = answer.frame().await {
            if let Ok(data) = frame?.into_data() {
                sent.bytes += data.len() as u64;
                client.data(data).await?;
            }
        }
        self.idle.lock().unwrap().push(origin);
        client.end().await
    }

    async fn connection(&self) -> Result<Upstream, Failure> {
        while let Some(mut idle) = self.take() {
            if idle.ready().await.is_ok() {
                return Ok(idle);
            }
        }
        let stream = UnixStream::connect(&self.upstream).await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    fn take(&self) -> Option<Upstream> {
        self.idle.lock().unwrap().pop()
    }
}

async fn refuse(client: &mut impl Client) -> Result<(), Failure> {
    let mut head = Response::new(());
    *head.status_mut() = StatusCode::BAD_GATEWAY;
    client.head(head).await?;
    client.end().await
}

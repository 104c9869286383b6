//! Servers that answer nonsense, half an answer, or without end: a load is always over in time, with an
//! outcome for every request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{Site, run};
use dragstrip_loader::{Ended, Load, Memory, Report};
use proptest::collection::vec;
use proptest::prelude::*;
use quinn::crypto::rustls::QuicServerConfig;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const LIMIT_MS: u64 = 150;
/// A busy machine is slow; a load that hangs would never come back.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a server does once it has read something.
#[derive(Debug, Clone)]
struct Answer {
    bytes: Vec<u8>,
    /// Repeats its bytes until the client stops listening.
    endless: bool,
    /// Closes after them; else it stays silent.
    closes: bool,
}

fn answers(bytes: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Answer> {
    (bytes, any::<bool>(), any::<bool>()).prop_map(|(bytes, endless, closes)| Answer {
        endless: endless && !bytes.is_empty(),
        bytes,
        closes,
    })
}

/// Something like HTTP/1.1.
fn http1() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just("HTTP/1.1 200 OK\r\n".to_owned()),
        Just("HTTP/1.1 100 Continue\r\n\r\n".to_owned()),
        Just("content-length: 10\r\n".to_owned()),
        Just("content-encoding: gzip\r\n".to_owned()),
        Just("content-encoding: br\r\n".to_owned()),
        Just("content-encoding: zstd\r\n".to_owned()),
        Just("transfer-encoding: chunked\r\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("5\r\nhello\r\n".to_owned()),
        Just("ffffffffffff\r\n".to_owned()),
        "[ -~]{0,30}\r\n",
    ];
    let text = vec(line, 0..12).prop_map(|lines| lines.concat().into_bytes());
    (text, vec(any::<u8>(), 0..60))
        .prop_map(|(text, noise)| [b"HTTP/1.1 200 OK\r\n".to_vec(), text, noise].concat())
}

/// Frames of HTTP/2, with sense in their headers only.
fn http2() -> impl Strategy<Value = Vec<u8>> {
    let frame = (0..12_u8, any::<u8>(), 0..4_u32, vec(any::<u8>(), 0..60));
    vec(frame, 0..12).prop_map(|frames| {
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0].to_vec();
        let frames = frames.into_iter().map(|(kind, flags, stream, payload)| {
            let length = (payload.len() as u32).to_be_bytes();
            [
                &length[1..],
                &[kind, flags],
                &stream.to_be_bytes(),
                &payload,
            ]
            .concat()
        });
        std::iter::once(settings)
            .chain(frames)
            .collect::<Vec<_>>()
            .concat()
    })
}

/// Frames of HTTP/3 with lengths that fit in a byte.
fn http3() -> impl Strategy<Value = Vec<u8>> {
    let frame = (0..16_u8, vec(any::<u8>(), 0..60));
    vec(frame, 0..8).prop_map(|frames| {
        let frame =
            |(kind, payload): (u8, Vec<u8>)| [&[kind, payload.len() as u8][..], &payload].concat();
        frames.into_iter().map(frame).collect::<Vec<_>>().concat()
    })
}

fn check(report: &Report, began: Instant) -> Result<(), TestCaseError> {
    prop_assert!(began.elapsed() < PATIENCE, "it took {:?}", began.elapsed());
    prop_assert_eq!(report.requests.len(), 1);
    let document = &report.requests[0];
    let over = document.digest.is_some() || document.error.is_some();
    prop_assert!(over, "no outcome: {document:?}");
    let limit = [Ended::Time, Ended::Bytes].contains(&report.ended);
    prop_assert!(limit || document.end_us.is_some());
    Ok(())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

async fn say(stream: &mut (impl AsyncReadExt + AsyncWriteExt + Unpin), answer: &Answer) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request).await;
    while stream.write_all(&answer.bytes).await.is_ok() && stream.flush().await.is_ok() {
        if !answer.endless {
            break;
        }
    }
    if !answer.closes {
        tokio::time::sleep(PATIENCE).await;
    }
    let _ = stream.shutdown().await;
}

fn input(site: &Site, url: String, protocol: &str) -> Load {
    let page = json!({ "resources": [{ "url": url }] });
    let limits = json!({ "time_ms": LIMIT_MS, "bytes": 1_000_000 });
    site.input(page, json!({ "protocol": protocol, "limits": limits }))
}

fn server_config(site: &Site, alpn: &str) -> ServerConfig {
    let made = site
        .origin
        .certificates(&["a.test".to_owned()], &dragstrip_origin::Chain::default())
        .unwrap();
    let chain = CertificateDer::pem_slice_iter(made.shared.as_bytes());
    let chain = chain.map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(made.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    config
}

async fn over_tcp(answer: Answer, secure: Option<&str>) -> Report {
    let site = Site::new(&[("/", "", b"")]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = secure.map(|alpn| TlsAcceptor::from(Arc::new(server_config(&site, alpn))));
    let server = tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let (answer, acceptor) = (answer.clone(), acceptor.clone());
            tokio::spawn(async move {
                match acceptor {
                    None => say(&mut socket, &answer).await,
                    Some(acceptor) => {
                        if let Ok(mut stream) = acceptor.accept(socket).await {
                            say(&mut stream, &answer).await;
                        }
                    }
                }
            });
        }
    });
    let scheme = if secure.is_some() { "https" } else { "http" };
    let protocol = secure.unwrap_or("h1");
    let input = input(&site, format!("{scheme}://a.test:{port}/"), protocol);
    let report = run(&input, &mut Memory::default()).await;
    server.abort();
    report
}

async fn over_quic(answer: Answer, control: Vec<u8>) -> Report {
    let site = Site::new(&[("/", "", b"")]);
    let crypto = QuicServerConfig::try_from(server_config(&site, "h3")).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let endpoint = quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let port = endpoint.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let (answer, control) = (answer.clone(), control.clone());
            tokio::spawn(async move {
                let connection = incoming.await?;
                let mut ours = connection.open_uni().await?;
                ours.write_all(&control).await?;
                while let Ok((send, receive)) = connection.accept_bi().await {
                    let mut stream = tokio::io::join(receive, send);
                    say(&mut stream, &answer).await;
                }
                anyhow::Ok(())
            });
        }
    });
    let input = input(&site, format!("https://a.test:{port}/"), "h3");
    let report = run(&input, &mut Memory::default()).await;
    server.abort();
    report
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn http_1(answer in answers(http1())) {
        let began = Instant::now();
        check(&block_on(over_tcp(answer, None)), began)?;
    }

    #[test]
    fn http_2(answer in answers(http2())) {
        let began = Instant::now();
        check(&block_on(over_tcp(answer, Some("h2"))), began)?;
    }

    #[test]
    fn http_3(answer in answers(http3()), control in vec(any::<u8>(), 0..40)) {
        let began = Instant::now();
        check(&block_on(over_quic(answer, control)), began)?;
    }
}

#[test]
fn an_answer_without_end_is_cut_at_the_limit_of_bytes() {
    let began = Instant::now();
    let answer = Answer {
        bytes: [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 100_000]].concat(),
        endless: true,
        closes: false,
    };
    let report = block_on(async {
        let site = Site::new(&[("/", "", b"")]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            say(&mut socket, &answer).await;
        });
        let page = json!({ "resources": [{ "url": format!("http://a.test:{port}/") }] });
        let limits = json!({ "time_ms": 20_000, "bytes": 1_000_000 });
        let input = site.input(page, json!({ "limits": limits }));
        run(&input, &mut Memory::default()).await
    });
    assert_eq!(report.ended, Ended::Bytes);
    assert!(
        report.requests[0].wire_bytes <= 500_000,
        "wire and decoded bytes count both"
    );
    assert!(began.elapsed() < PATIENCE);
}

#[test]
fn a_bomb_is_cut_at_the_limit_of_bytes() {
    let zeros = vec![0; 50_000_000];
    let bomb = zstd::encode_all(&zeros[..], 3).unwrap();
    assert!(bomb.len() < 100_000);
    let report = block_on(async {
        let site = Site::new(&[("/", "zstd", &bomb)]);
        let fields = json!({ "limits": { "time_ms": 20_000, "bytes": 1_000_000 } });
        site.load(Site::page(&[]), fields, &mut Memory::default())
            .await
    });
    assert_eq!(report.ended, Ended::Bytes);
    let error = serde_json::to_value(report.requests[0].error.as_ref().unwrap()).unwrap();
    assert_eq!(error["kind"], "limit");
}

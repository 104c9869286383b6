//! A client and a server over real QUIC on loopback.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use dragstrip_http3::{Connection, LastOffer, Offer, Opener, Qpack, Streams};
use h3::quic::OpenStreams;
use http::{Request, Response};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};

const OFFER: Offer = Offer {
    table_bytes: 4096,
    blocked_streams: 100,
};

struct Pair {
    client: quinn::Connection,
    server: quinn::Connection,
    _ends: [Endpoint; 2],
}

async fn pair() -> Pair {
    pair_with(TransportConfig::default()).await
}

/// A pair whose client has these settings.
async fn pair_with(settings: TransportConfig) -> Pair {
    let made = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    server.alpn_protocols = vec![b"h3".to_vec()];
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"h3".to_vec()];
    let server = QuicServerConfig::try_from(server).unwrap();
    let here = (Ipv4Addr::LOCALHOST, 0).into();
    let listening = Endpoint::server(ServerConfig::with_crypto(Arc::new(server)), here).unwrap();
    let address = listening.local_addr().unwrap();
    let mut calling = Endpoint::client(here).unwrap();
    let client = QuicClientConfig::try_from(client).unwrap();
    let mut client = ClientConfig::new(Arc::new(client));
    client.transport_config(Arc::new(settings));
    calling.set_default_client_config(client);
    let (client, server) = tokio::join!(
        async { calling.connect(address, "a.test").unwrap().await.unwrap() },
        async { listening.accept().await.unwrap().await.unwrap() }
    );
    Pair {
        client,
        server,
        _ends: [listening, calling],
    }
}

/// Answers everything with the path it was asked for.
fn serve(quinn: quinn::Connection, qpack: Qpack) {
    tokio::spawn(async move {
        let transport = Connection::new(quinn, qpack, Streams::default());
        let mut h3 = h3::server::builder()
            .send_grease(false)
            .build::<_, Bytes>(transport)
            .await
            .unwrap();
        while let Ok(Some(resolver)) = h3.accept().await {
            tokio::spawn(async move {
                let Ok((request, mut stream)) = resolver.resolve_request().await else {
                    return;
                };
                while let Ok(Some(_)) = stream.recv_data().await {}
                let path = request.uri().path().to_owned();
                let answer = Response::builder()
                    .header("x-path", &path)
                    .header("server", "test");
                stream
                    .send_response(answer.body(()).unwrap())
                    .await
                    .unwrap();
                stream
                    .send_data(Bytes::from(path.repeat(2000)))
                    .await
                    .unwrap();
                stream.finish().await.unwrap();
            });
        }
    });
}

async fn get(sender: &mut h3::client::SendRequest<Opener, Bytes>, path: &str) {
    let stream = ask(sender, path).await;
    read(stream, path).await;
}

type Asked = h3::client::RequestStream<<Opener as OpenStreams<Bytes>>::BidiStream, Bytes>;

async fn ask(sender: &mut h3::client::SendRequest<Opener, Bytes>, path: &str) -> Asked {
    let request = Request::builder()
        .uri(format!("https://a.test{path}"))
        .header("user-agent", "a browser of today")
        .header("cookie", "a=1; b=2");
    let mut stream = sender
        .send_request(request.body(()).unwrap())
        .await
        .unwrap();
    stream.finish().await.unwrap();
    stream
}

async fn read(mut stream: Asked, path: &str) {
    let answer = stream.recv_response().await.unwrap();
    assert_eq!(answer.headers()["x-path"], path);
    let mut length = 0;
    while let Some(mut data) = stream.recv_data().await.unwrap() {
        length += data.remaining();
        data.advance(data.remaining());
    }
    assert_eq!(length, path.len() * 2000);
}

/// Asks for three pages one after the other, and for twenty at once.
async fn exchange(client: Qpack, server: Qpack) {
    let pair = pair().await;
    serve(pair.server.clone(), server);
    let transport = Connection::new(pair.client.clone(), client, Streams::default());
    let built = h3::client::builder().build(transport).await;
    let (mut driver, mut sender) = built.unwrap();
    tokio::spawn(async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await });
    for path in ["/a", "/b", "/a"] {
        get(&mut sender, path).await;
    }
    let mut all = tokio::task::JoinSet::new();
    for number in 0..20 {
        let mut sender = sender.clone();
        all.spawn(async move { get(&mut sender, &format!("/{number}")).await });
    }
    all.join_all().await;
    tokio::time::sleep(Duration::from_millis(50)).await; // the last acknowledgements
    assert_eq!(pair.client.close_reason(), None);
}

#[tokio::test]
async fn both_sides_fill_their_tables() {
    let (client, server) = (Qpack::new(OFFER, 4096), Qpack::new(OFFER, 4096));
    exchange(client.clone(), server.clone()).await;
    let (client, server) = (client.usage(), server.usage());
    assert!(client.own_entries > 20, "{client:?}");
    assert_eq!(server.peer_entries, client.own_entries);
    assert!(server.own_entries > 20, "{server:?}");
    assert_eq!(client.peer_entries, server.own_entries);
}

#[tokio::test]
async fn nothing_is_inserted_without_an_offer() {
    let (client, server) = (Qpack::new(OFFER, 4096), Qpack::new(Offer::default(), 0));
    exchange(client.clone(), server.clone()).await;
    assert_eq!(client.usage().own_entries, 0);
    assert_eq!(server.usage().own_entries, 0, "its own limit is 0");
}

#[tokio::test]
async fn a_last_offer_holds_from_the_first_early_request() {
    let last = LastOffer::default();
    let first = Qpack::remembering(OFFER, 4096, last.clone(), false);
    exchange(first, Qpack::new(OFFER, 4096)).await;
    let early = Qpack::remembering(OFFER, 4096, last, true);
    exchange(early.clone(), Qpack::new(OFFER, 4096)).await;
    assert!(early.usage().own_entries > 20);
}

/// The second answer's insertions meet a window that the first has used up.
#[tokio::test]
async fn an_insertion_that_flow_control_kept_back_comes_when_it_may() {
    let mut settings = TransportConfig::default();
    settings.receive_window(10_000_u32.into());
    let pair = pair_with(settings).await;
    serve(pair.server.clone(), Qpack::new(OFFER, 4096));
    let client = Qpack::new(OFFER, 4096);
    let transport = Connection::new(pair.client.clone(), client, Streams::default());
    let built = h3::client::builder().build(transport).await;
    let (mut driver, mut sender) = built.unwrap();
    tokio::spawn(async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await });
    let large = "/a-path-whose-answer-is-larger-than-the-window";
    let first = ask(&mut sender, large).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let second = ask(&mut sender, "/b").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    within_5_s(async { tokio::join!(read(first, large), read(second, "/b")) }).await;
}

/// HEADERS whose first field is the first insertion (RFC 9204 section 4.5), which never comes.
const BLOCKED: [u8; 5] = [0x01, 0x03, 0x02, 0x00, 0x80];

#[tokio::test]
async fn a_request_that_waits_for_an_insertion_ends_with_its_connection() {
    let pair = pair().await;
    let transport = Connection::new(
        pair.server.clone(),
        Qpack::new(OFFER, 4096),
        Streams::default(),
    );
    let mut h3 = h3::server::builder()
        .build::<_, Bytes>(transport)
        .await
        .unwrap();
    let (mut request, _answer) = pair.client.open_bi().await.unwrap();
    request.write_all(&BLOCKED).await.unwrap();
    let resolver = h3.accept().await.unwrap().unwrap();
    let waiting = tokio::spawn(async move { resolver.resolve_request().await.is_err() });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!waiting.is_finished(), "it waits for the insertion");
    pair.server.close(0u32.into(), b"");
    let ended = tokio::time::timeout(Duration::from_secs(5), waiting).await;
    assert!(ended.expect("it ends with the connection").unwrap());
}

/// A server that reads requests over `qpack`, and what a client without an HTTP/3 of its own sees.
struct Raw {
    client: quinn::Connection,
    /// The server's decoder stream, after its type.
    decoder: quinn::RecvStream,
    _ends: [Endpoint; 2],
}

async fn raw(qpack: Qpack) -> Raw {
    let Pair {
        client,
        server,
        _ends: ends,
    } = pair().await;
    serve(server, qpack);
    loop {
        let mut stream = client.accept_uni().await.unwrap();
        let mut kind = [0];
        stream.read_exact(&mut kind).await.unwrap();
        if kind == [DECODER] {
            let decoder = stream;
            return Raw {
                client,
                decoder,
                _ends: ends,
            };
        }
    }
}

const ENCODER: u8 = 0x02;
const DECODER: u8 = 0x03;
/// RFC 9204 section 4.4.2.
const CANCELLATION: u8 = 0x40;

async fn within_5_s<T>(waiting: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(Duration::from_secs(5), waiting).await;
    ended.expect("it comes within 5 s")
}

/// The code with which the peer closed the connection.
async fn closed_with(client: &quinn::Connection) -> u64 {
    let quinn::ConnectionError::ApplicationClosed(close) = within_5_s(client.closed()).await else {
        panic!("{:?}", client.close_reason())
    };
    close.error_code.into()
}

#[tokio::test]
async fn a_request_that_its_client_resets_is_cancelled() {
    // After a part of its section, while the section waits, and in its body.
    let plain = [0x01, 0x03, 0x00, 0x00, 0xd1];
    for sent in [&BLOCKED[..2], &BLOCKED, &plain] {
        let mut raw = raw(Qpack::new(OFFER, 4096)).await;
        let (mut request, _answer) = raw.client.open_bi().await.unwrap();
        request.write_all(sent).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        request.reset(0x10c_u32.into()).unwrap(); // H3_REQUEST_CANCELLED
        let mut told = [0];
        within_5_s(raw.decoder.read_exact(&mut told)).await.unwrap();
        assert_eq!(told, [CANCELLATION], "{sent:?}");
    }
}

#[tokio::test]
async fn a_request_that_was_read_whole_is_not_cancelled() {
    // GET https://a.test/, of fields in the static table but for the authority.
    let mut whole = vec![0x01, 0x0d, 0x00, 0x00, 0xd1, 0xd7, 0xc1, 0x50, 0x06];
    whole.extend(b"a.test");
    let mut raw = raw(Qpack::new(OFFER, 4096)).await;
    let (mut request, mut answer) = raw.client.open_bi().await.unwrap();
    request.write_all(&whole).await.unwrap();
    request.finish().unwrap();
    within_5_s(answer.read_to_end(1 << 20)).await.unwrap();
    let (mut second, _answer) = raw.client.open_bi().await.unwrap();
    second.write_all(&whole[..2]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    second.reset(0x10c_u32.into()).unwrap();
    let mut told = [0];
    within_5_s(raw.decoder.read_exact(&mut told)).await.unwrap();
    assert_eq!(told, [CANCELLATION | 4], "of the second stream alone");
}

#[tokio::test]
async fn a_client_that_makes_too_many_streams_wait_is_closed_upon() {
    let offer = Offer {
        blocked_streams: 2,
        ..OFFER
    };
    let raw = raw(Qpack::new(offer, 4096)).await;
    let mut requests = Vec::new();
    for number in 0..3 {
        assert_eq!(raw.client.close_reason(), None, "after {number}");
        let (mut request, answer) = raw.client.open_bi().await.unwrap();
        request.write_all(&BLOCKED).await.unwrap();
        requests.push((request, answer));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(closed_with(&raw.client).await, 0x200); // QPACK_DECOMPRESSION_FAILED
}

#[tokio::test]
async fn a_stream_type_may_be_longer_than_it_has_to_be() {
    // Set the table's capacity, and insert ":path: /x" with its name in the static table.
    let insertion = [0x3f, 0xe1, 0x1f, 0xc1, 0x02, b'/', b'x'];
    for kind in [&[0x02][..], &[0x40, 0x02], &[0x80, 0, 0, 0x02]] {
        let qpack = Qpack::new(OFFER, 4096);
        let raw = raw(qpack.clone()).await;
        let mut encoder = raw.client.open_uni().await.unwrap();
        encoder
            .write_all(&[kind, &insertion].concat())
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(raw.client.close_reason(), None, "{kind:?}");
        assert_eq!(qpack.usage().peer_entries, 1, "{kind:?}");
    }
}

#[tokio::test]
async fn there_is_one_stream_of_a_kind_and_it_never_ends() {
    for kind in [ENCODER, DECODER] {
        let raw = raw(Qpack::new(OFFER, 4096)).await;
        let mut first = raw.client.open_uni().await.unwrap();
        first.write_all(&[kind]).await.unwrap();
        let mut second = raw.client.open_uni().await.unwrap();
        second.write_all(&[kind]).await.unwrap();
        assert_eq!(closed_with(&raw.client).await, 0x103); // H3_STREAM_CREATION_ERROR
    }
    for kind in [ENCODER, DECODER] {
        let raw = raw(Qpack::new(OFFER, 4096)).await;
        let mut stream = raw.client.open_uni().await.unwrap();
        stream.write_all(&[kind]).await.unwrap();
        stream.finish().unwrap();
        assert_eq!(closed_with(&raw.client).await, 0x104); // H3_CLOSED_CRITICAL_STREAM
    }
}

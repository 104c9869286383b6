//! A client and a server over real QUIC on loopback.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use dragstrip_http3::{Connection, LastOffer, Offer, Opener, Qpack, Streams};
use http::{Request, Response};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig};

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
    calling.set_default_client_config(ClientConfig::new(Arc::new(client)));
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
                let (request, mut stream) = resolver.resolve_request().await.unwrap();
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
    let request = Request::builder()
        .uri(format!("https://a.test{path}"))
        .header("user-agent", "a browser of today")
        .header("cookie", "a=1; b=2");
    let mut stream = sender
        .send_request(request.body(()).unwrap())
        .await
        .unwrap();
    stream.finish().await.unwrap();
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

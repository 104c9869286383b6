//! WebSockets: recorded messages, on a connection of HTTP/1.1 and on a stream of HTTP/2.

use std::future::poll_fn;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use dragstrip_origin::{Http, Origin, Protocol, Tuning};
use futures_util::{SinkExt, StreamExt};
use h2::ext::Protocol as Extended;
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::{Error, Message, client::IntoClientRequest};

use crate::support::{Client, PROTOCOLS, entry, serve};

const URL: &str = "wss://a.test/live?x=1";
const OPENED_S: f64 = 1_700_000_000.0;

fn message(kind: &str, after_s: f64, opcode: u8, data: &str) -> Value {
    json!({ "type": kind, "time": OPENED_S + after_s, "opcode": opcode, "data": data })
}

fn live() -> (Origin, TempDir) {
    let mut socket = entry("GET", URL, 101, &[("Sec-WebSocket-Protocol", "chat")], None);
    socket["_dragstrip"] = json!({ "opened_s": OPENED_S });
    socket["_webSocketMessages"] = json!([
        message("send", 0.001, 1, "hello"),
        message("receive", 0.01, 1, "first"),
        message("receive", 0.02, 2, "AAE="),
    ]);
    let page = entry("GET", "https://a.test/", 200, &[], Some("x"));
    serve(&[page, socket], &[("x", b"12345")])
}

#[tokio::test]
async fn recorded_messages_are_sent_and_what_the_page_says_is_counted() {
    let (origin, _dir) = live();
    let client = Client::new(Protocol::H1, &origin);
    let tls = client.connect_tls("a.test").await.unwrap();
    let mut request = URL.into_client_request().unwrap();
    let offer = "other, chat".parse().unwrap();
    request
        .headers_mut()
        .insert("sec-websocket-protocol", offer);
    let (mut socket, answer) = client_async(request, tls).await.unwrap();
    assert_eq!(answer.headers()["sec-websocket-protocol"], "chat");
    socket.send(Message::text("hello")).await.unwrap();
    let first = socket.next().await.unwrap().unwrap();
    assert_eq!(first, Message::text("first"));
    let second = socket.next().await.unwrap().unwrap();
    assert_eq!(second, Message::binary([0_u8, 1].as_slice()));
    socket.close(None).await.unwrap();
    while socket.next().await.is_some() {}
    let log = origin.log();
    assert!(log.requests.is_empty(), "a socket is no request");
    let opened = &log.sockets[0];
    assert_eq!((opened.url.as_str(), opened.status), (URL, 101));
    assert!(opened.recorded && opened.protocol == Protocol::H1);
    let carried = opened.carried;
    assert_eq!((carried.sent_messages, carried.sent_bytes), (2, 7));
    assert_eq!((carried.received_messages, carried.received_bytes), (1, 5));
}

#[tokio::test]
async fn a_socket_that_was_not_recorded_stays_open_and_silent() {
    let (origin, _dir) = live();
    let client = Client::new(Protocol::H1, &origin);
    let tls = client.connect_tls("a.test").await.unwrap();
    let (mut socket, _) = client_async("wss://a.test/other", tls).await.unwrap();
    socket.send(Message::Ping("?".into())).await.unwrap();
    let heard = socket.next().await.unwrap().unwrap();
    assert_eq!(heard, Message::Pong("?".into()), "and nothing before");
    assert!(!origin.log().sockets[0].recorded);
    origin.close().await;
    let end = socket.next().await.unwrap();
    assert!(
        matches!(end, Err(Error::Io(_) | Error::Protocol(_))),
        "{end:?}"
    );
}

#[tokio::test]
async fn without_an_upgrade_there_is_no_socket() {
    let (origin, _dir) = live();
    for protocol in PROTOCOLS {
        let client = Client::new(protocol, &origin);
        let mut connection = client.connect("a.test").await.unwrap();
        let reply = connection.get("https://a.test/live?x=1").await.unwrap();
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{protocol:?}");
        assert!(origin.log().sockets.is_empty(), "{protocol:?}");
    }
}

/// A client's connection of HTTP/2 once it knows the server's settings.
async fn over_h2(origin: &Origin) -> h2::client::SendRequest<Bytes> {
    let client = Client::new(Protocol::H2, origin);
    let tls = client.connect_tls("a.test").await.unwrap();
    let (send, connection) = h2::client::handshake(tls).await.unwrap();
    tokio::spawn(connection);
    let mut send = send.ready().await.unwrap();
    let plain = Request::get("https://a.test/").body(()).unwrap();
    send.send_request(plain, true).unwrap().0.await.unwrap();
    send
}

fn connect() -> Request<()> {
    let request = Request::builder()
        .method(Method::CONNECT)
        .uri("https://a.test/live?x=1");
    let request = request.extension(Extended::from_static("websocket"));
    request
        .header("sec-websocket-version", "13")
        .body(())
        .unwrap()
}

#[tokio::test]
async fn a_stream_of_h2_carries_a_socket_where_the_stack_has_it() {
    let (origin, _dir) = live();
    let http = Http {
        extended_connect: true,
        ..Http::default()
    };
    let tuning = Tuning {
        http,
        ..Tuning::default()
    };
    origin.tune(tuning).unwrap();
    let mut send = over_h2(&origin).await;
    assert!(send.is_extended_connect_protocol_enabled());
    let (answer, mut up) = send.send_request(connect(), false).unwrap();
    let answer = answer.await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    up.send_data(
        Bytes::from_static(&[0x81, 0x82, 0, 0, 0, 0, b'h', b'i']),
        false,
    )
    .unwrap();
    let mut body = answer.into_body();
    let mut came = BytesMut::new();
    while came.len() < 11 {
        came.extend_from_slice(&body.data().await.unwrap().unwrap());
    }
    assert_eq!(&came[..], b"\x81\x05first\x82\x02\x00\x01");
    up.send_reset(h2::Reason::CANCEL);
    let end = tokio::time::timeout(Duration::from_secs(10), poll_fn(|cx| up.poll_reset(cx)));
    let _ = end.await;
    let log = origin.log();
    let opened = &log.sockets[0];
    assert_eq!((opened.protocol, opened.status), (Protocol::H2, 200));
    assert_eq!(opened.carried.received_bytes, 2);
    assert_eq!(opened.connection, log.requests[0].connection);
}

#[tokio::test]
async fn other_stacks_do_not_offer_that() {
    let (origin, _dir) = live();
    let send = over_h2(&origin).await;
    assert!(!send.is_extended_connect_protocol_enabled());
}

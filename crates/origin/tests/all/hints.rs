//! Answers with status 103, ahead of those that take their time.

use std::collections::BTreeMap;
use std::future::poll_fn;

use bytes::Bytes;
use dragstrip_origin::{Http, Origin, Protocol, Tuning};
use h2::client;
use http::{HeaderMap, Request, StatusCode};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Client, Connection, PROTOCOLS, entry, serve};

const DOCUMENT: &str = "https://a.test/";
const LINKS: [&str; 2] = [
    "</a.css>; rel=preload; as=style",
    "<https://b.test>; rel=preconnect",
];

/// An origin whose document takes this long, and that hints at what it needs.
fn hinting(think_ms: u64) -> (Origin, TempDir) {
    let mut document = entry("GET", DOCUMENT, 200, &[], Some("body"));
    document["_dragstrip"] = json!({ "think_ms": think_ms });
    let other = entry("GET", "https://a.test/a.css", 200, &[], Some("body"));
    let (origin, dir) = serve(&[document, other], &[("body", b"body")]);
    let links = LINKS.map(str::to_owned).to_vec();
    let http = Http {
        early_hints: BTreeMap::from([(DOCUMENT.to_owned(), links)]),
        ..Http::default()
    };
    let tuning = Tuning {
        http,
        ..Tuning::default()
    };
    origin.tune(tuning).unwrap();
    (origin, dir)
}

fn links(headers: &HeaderMap) -> Vec<&str> {
    let values = headers.get_all("link").iter();
    values.map(|value| value.to_str().unwrap()).collect()
}

#[tokio::test]
async fn hints_come_over_h2_while_the_document_is_thought_about() {
    let (origin, _dir) = hinting(600_000);
    let tls = Client::new(Protocol::H2, &origin)
        .connect_tls("a.test")
        .await
        .unwrap();
    let (mut requests, connection) = client::handshake(tls).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get(DOCUMENT).body(()).unwrap();
    let (mut answer, _) = requests.send_request(request, true).unwrap();
    let hints = poll_fn(|cx| answer.poll_informational(cx))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(hints.status(), StatusCode::EARLY_HINTS);
    assert_eq!(links(hints.headers()), LINKS);
}

#[tokio::test]
async fn hints_come_over_h3_while_the_document_is_thought_about() {
    let (origin, _dir) = hinting(600_000);
    let client = Client::new(Protocol::H3, &origin);
    let Connection::H3 { mut send, .. } = client.connect("a.test").await.unwrap() else {
        panic!("h3 was asked for");
    };
    let request = Request::get(DOCUMENT).body(()).unwrap();
    let mut stream = send.send_request(request).await.unwrap();
    stream.finish().await.unwrap();
    let hints = stream.recv_response().await.unwrap();
    assert_eq!(hints.status(), StatusCode::EARLY_HINTS);
    assert_eq!(links(hints.headers()), LINKS);
}

#[tokio::test]
async fn the_answer_follows_and_the_log_tells_of_both() {
    for protocol in PROTOCOLS {
        let (origin, _dir) = hinting(1);
        let client = Client::new(protocol, &origin);
        let mut connection = client.connect("a.test").await.unwrap();
        if let Connection::H3 { send, .. } = &mut connection {
            let mut stream = send
                .send_request(Request::get(DOCUMENT).body(()).unwrap())
                .await
                .unwrap();
            stream.finish().await.unwrap();
            assert_eq!(stream.recv_response().await.unwrap().status(), 103);
            assert_eq!(stream.recv_response().await.unwrap().status(), 200);
            while stream.recv_data().await.unwrap().is_some() {}
        } else {
            let reply = connection.get(DOCUMENT).await.unwrap();
            assert_eq!(
                (reply.status, reply.body),
                (StatusCode::OK, Bytes::from("body"))
            );
            assert!(!reply.headers.contains_key("link"));
        }
        connection.get("https://a.test/a.css").await.unwrap();
        drop(connection);
        origin.close().await;
        let hints: Vec<_> = origin
            .log()
            .requests
            .into_iter()
            .map(|served| served.hints)
            .collect();
        let sent = if protocol == Protocol::H1 {
            vec![]
        } else {
            LINKS.map(str::to_owned).to_vec()
        };
        assert_eq!(hints, [sent, vec![]], "{protocol:?}");
    }
}

#[tokio::test]
async fn a_link_that_is_no_header_is_refused() {
    let (origin, _dir) = hinting(0);
    let mut tuning = Tuning::default();
    tuning.http.early_hints = BTreeMap::from([(DOCUMENT.to_owned(), vec!["<a>\n".to_owned()])]);
    let error = origin.tune(tuning).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("tune.http.early_hints: https://a.test/"),
        "{error}"
    );
}

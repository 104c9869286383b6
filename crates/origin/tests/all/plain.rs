//! What another server before the origin gets: answers without TLS, and certificates to speak for
//! its hosts.

use std::time::Duration;

use crate::support::{entry, serve};
use dragstrip_origin::{Chain, Origin};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

const REQUEST: &[u8] = b"GET /x HTTP/1.1\r\nhost: a.test\r\n\r\n";

async fn ask(client: &mut UnixStream) -> String {
    client.write_all(REQUEST).await.unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"plain") {
        let mut part = [0; 1024];
        let reading = client.read(&mut part);
        let count = tokio::time::timeout(Duration::from_secs(10), reading).await;
        let count = count.expect("an answer in time").unwrap();
        assert_ne!(count, 0, "the connection ended");
        seen.extend(&part[..count]);
    }
    String::from_utf8(seen).unwrap()
}

#[tokio::test]
async fn answers_on_a_unix_socket_that_outlive_a_close() {
    let (origin, dir) = serve(
        &[entry("GET", "https://a.test/x", 200, &[], Some("x"))],
        &[("x", b"plain")],
    );
    let socket = dir.path().join("plain.sock");
    origin.plain(&socket).unwrap();
    assert!(origin.plain(&socket).is_err(), "the socket is taken");
    let mut client = UnixStream::connect(&socket).await.unwrap();
    assert!(ask(&mut client).await.starts_with("HTTP/1.1 200"));
    assert_eq!(origin.close().await, (0, 0));
    ask(&mut client).await;
    let log = origin.log();
    assert_eq!(log.requests.len(), 2);
    assert_eq!(log.requests[0].url, "https://a.test/x");
    assert!(log.connections.is_empty());
}

#[tokio::test]
async fn certificates_are_chains_of_two_for_each_host() {
    let origin = Origin::bind(0, None).unwrap();
    let hosts = ["a.test".to_owned(), "b.test".to_owned()];
    let made = origin.certificates(&hosts, &Chain::default()).unwrap();
    assert!(made.key.contains("PRIVATE KEY"));
    assert!(made.chains.keys().eq(&hosts));
    for chain in made.chains.values() {
        assert_eq!(chain.matches("BEGIN CERTIFICATE").count(), 2);
    }
    assert!(
        origin
            .certificates(&["ä.test".to_owned()], &Chain::default())
            .is_err()
    );
}

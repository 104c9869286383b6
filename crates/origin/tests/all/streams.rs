//! Answers that have no end: those to an EventSource, and to a long poll.

use std::time::Duration;

use dragstrip_origin::{Origin, Protocol};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Client, PROTOCOLS, entry, har, serve, write_page};

const EVENTS: &str = "https://a.test/events";
const MOMENT: Duration = Duration::from_millis(300);

fn page() -> (Origin, TempDir) {
    let kind = [("content-type", "text/event-stream")];
    let first = entry("GET", EVENTS, 200, &kind, Some("1"));
    let last = entry("GET", EVENTS, 200, &kind, Some("2"));
    serve(
        &[first, last],
        &[("1", b"data: 1\n\n"), ("2", b"data: 2\n\n")],
    )
}

#[tokio::test]
async fn the_last_stream_of_events_stays_open_and_those_before_it_end() {
    for protocol in PROTOCOLS {
        let (origin, _dir) = page();
        let client = Client::new(protocol, &origin);
        let mut connection = client.connect("a.test").await.unwrap();
        let accept = [("accept", "text/event-stream")];
        let first = connection.request("GET", EVENTS, &accept).await.unwrap();
        assert_eq!(first.body, "data: 1\n\n".as_bytes());
        assert_eq!(first.headers["content-length"], "9");
        let last = connection.request("GET", EVENTS, &accept);
        let last = tokio::time::timeout(MOMENT, last).await;
        assert!(last.is_err(), "{protocol:?}: it ended");
        let log = origin.log();
        assert!(log.requests[1].end_us > 0, "{protocol:?}: its body is sent");
        origin.close().await; // does not wait for it
    }
}

#[tokio::test]
async fn a_script_that_reads_a_stream_gets_its_end() {
    for protocol in PROTOCOLS {
        let (origin, _dir) = page();
        let client = Client::new(protocol, &origin);
        let mut connection = client.connect("a.test").await.unwrap();
        for _ in 0..3 {
            connection.get(EVENTS).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_long_poll_takes_its_time_even_if_nothing_else_does() {
    let mut poll = entry("GET", "https://a.test/poll", 200, &[], Some("x"));
    poll["_dragstrip"] = json!({ "think_ms": 20_000 });
    let dir = tempfile::tempdir().unwrap();
    let origin = Origin::bind(0, None).unwrap();
    let file = write_page(dir.path(), &har(&[poll]), &[("x", b"12345")]);
    origin.page(&file, false).unwrap();
    let client = Client::new(Protocol::H2, &origin);
    let mut connection = client.connect("a.test").await.unwrap();
    connection.get("https://a.test/poll").await.unwrap(); // no script asks
    let script = [("sec-fetch-dest", "empty")];
    let asked = connection.request("GET", "https://a.test/poll", &script);
    assert!(tokio::time::timeout(MOMENT, asked).await.is_err());
}

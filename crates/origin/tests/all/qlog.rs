//! What connections wrote down of themselves.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::support::{Client, entry, serve};
use dragstrip_origin::Protocol;
use serde_json::Value;

const BODY: usize = 100_000;

/// The records of a JSON text sequence (RFC 7464).
fn records(text: &str) -> Vec<Value> {
    let found = text.split('\u{1e}').skip(1).map(serde_json::from_str);
    found.collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn a_connection_writes_its_packets_and_windows_while_it_is_asked_for() {
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    let (origin, dir) = serve(&[answer], &[("x", &[7; BODY])]);
    let client = Client::new(Protocol::H3, &origin);
    origin.qlog(Some(dir.path().to_owned()));
    client
        .connect("a.test")
        .await
        .unwrap()
        .get("https://a.test/")
        .await
        .unwrap();
    origin.close().await;
    origin.qlog(None);
    client.connect("a.test").await.unwrap();
    origin.close().await;

    let log = origin.log();
    let [first, second] = &log.connections[..] else {
        panic!("two connections: {log:?}")
    };
    let path = |id: u64| dir.path().join(format!("{id}.sqlog"));
    assert!(!path(second.id).exists());
    let found = records(&std::fs::read_to_string(path(first.id)).unwrap());
    let [head, events @ ..] = &found[..] else {
        panic!("no head")
    };
    assert_eq!(
        (&head["qlog_version"], &head["qlog_format"]),
        (&"0.3".into(), &"JSON-SEQ".into())
    );
    let named = |name: &'static str| events.iter().filter(move |event| event["name"] == name);
    let sent: u64 = named("transport:packet_sent")
        .map(|event| event["data"]["header"]["length"].as_u64().unwrap())
        .sum();
    assert!(sent > BODY as u64, "{sent} bytes sent");
    assert!(named("transport:packet_received").count() > 2);
    let mut windows = named("recovery:metrics_updated")
        .filter_map(|event| event["data"]["congestion_window"].as_u64());
    assert_eq!(windows.next(), Some(32 * 1452)); // ours, not what quinn's pacer is told
    let times: Vec<f64> = events
        .iter()
        .map(|event| event["time"].as_f64().unwrap())
        .collect();
    assert!(times.is_sorted() && times[0] >= 0.0);
}

#[tokio::test]
async fn a_connection_begins_with_the_round_trip_its_client_had_to_this_host() {
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    let (origin, dir) = serve(&[answer], &[("x", &[7; BODY])]);
    let mut client = Client::new(Protocol::H3, &origin);
    origin.qlog(Some(dir.path().to_owned()));
    let mut assumed = Vec::new();
    for host in [1, 1, 2, 2, 1] {
        client = client.to(Ipv4Addr::new(127, 0, 0, host));
        let mut connection = client.connect("a.test").await.unwrap();
        connection.get("https://a.test/").await.unwrap();
        origin.close().await;
        let id = origin.log().connections[0].id;
        let text = std::fs::read_to_string(dir.path().join(format!("{id}.sqlog"))).unwrap();
        let mut events = records(&text).into_iter();
        let first_rtt = events.find_map(|event| event["data"]["smoothed_rtt"].as_f64());
        assumed.push(first_rtt.unwrap() > 0.3);
    }
    assert_eq!(assumed, [true, false, true, false, false]);
}

#[tokio::test]
async fn a_tcp_connection_writes_its_windows() {
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    let (origin, dir) = serve(&[answer], &[("x", &[7; BODY])]);
    let client = Client::new(Protocol::H2, &origin);
    origin.qlog(Some(dir.path().to_owned()));
    let mut connected = client.connect("a.test").await.unwrap();
    connected.get("https://a.test/").await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    origin.close().await;

    let log = origin.log();
    let path = dir.path().join(format!("{}.sqlog", log.connections[0].id));
    let found = records(&std::fs::read_to_string(path).unwrap());
    assert_eq!(found[0]["qlog_format"], "JSON-SEQ");
    let seen = |name: &str| -> Vec<u64> {
        let told = found[1..].iter().map(|event| &event["data"][name]);
        told.map(|value| value.as_u64().unwrap()).collect()
    };
    let windows = seen("congestion_window");
    assert!(
        windows[0] > 0 && windows.last() > windows.first(),
        "{windows:?}"
    );
    assert_eq!(seen("bytes_in_flight").last(), Some(&0));
    let times = found[1..]
        .iter()
        .map(|event| event["time"].as_f64().unwrap());
    assert!(times.is_sorted());
}

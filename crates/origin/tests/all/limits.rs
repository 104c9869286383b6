//! How large a request may be, in every protocol.

use crate::support::{Client, Connection, PROTOCOLS, entry, serve};
use dragstrip_origin::{Http, Offer, Protocol, Tuning};
use http::StatusCode;

const URL: &str = "https://a.test/";
const MOST: usize = 1 << 20;

fn header(bytes: usize) -> String {
    "x".repeat(bytes)
}

#[tokio::test]
async fn headers_up_to_a_megabyte_are_read_and_more_is_431() {
    let (origin, _dir) = serve(&[entry("GET", URL, 200, &[], None)], &[]);
    for protocol in PROTOCOLS {
        let client = Client::new(protocol, &origin);
        let mut connection = client.connect("a.test").await.unwrap();
        for bytes in [20_000, 300_000, MOST - 1000] {
            let value = header(bytes);
            let reply = connection.request("GET", URL, &[("cookie", &value)]).await;
            assert_eq!(reply.unwrap().status, 200, "{protocol:?}, {bytes} bytes");
        }
        // h3's client itself keeps to the server's settings.
        if protocol != Protocol::H3 {
            let value = header(MOST + 1000);
            let reply = connection.request("GET", URL, &[("cookie", &value)]).await;
            let status = reply.unwrap().status;
            assert_eq!(status, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        }
        // h1 cannot find the next request behind one that it did not read.
        if protocol == Protocol::H2 {
            assert_eq!(connection.get(URL).await.unwrap().status, 200);
        }
    }
}

#[tokio::test]
async fn over_h3_a_section_that_announces_more_is_431_too() {
    let (origin, _dir) = serve(&[entry("GET", URL, 200, &[], None)], &[]);
    let client = Client::new(Protocol::H3, &origin);
    let mut connection = client.connect("a.test").await.unwrap();
    let Connection::H3 { quinn, .. } = &connection else {
        unreachable!()
    };
    let (mut send, mut receive) = quinn.open_bi().await.unwrap();
    // HEADERS of a gigabyte, and the beginning of it.
    let announced = [0x01, 0xbf, 0xff, 0xff, 0xff, 0, 0, 0xd1];
    send.write_all(&announced).await.unwrap();
    let answer = receive.read_to_end(1000).await.unwrap();
    let status = [0x69, 0x90, 0xff]; // "431" in Huffman's code (RFC 7541 appendix B)
    assert!(answer.windows(3).any(|bytes| bytes == status), "{answer:?}");
    assert_eq!(connection.get(URL).await.unwrap().status, 200);
}

#[tokio::test]
async fn windows_and_streams_are_offered_as_asked() {
    let (origin, _dir) = serve(&[entry("GET", URL, 200, &[], None)], &[]);
    let http = Http {
        receive_window_bytes: 1 << 20,
        streams_at_once: 7,
        ..Http::default()
    };
    let tuning = Tuning {
        http,
        ..Tuning::default()
    };
    origin.tune(tuning).unwrap();
    for protocol in PROTOCOLS {
        let client = Client::new(protocol, &origin);
        let mut connection = client.connect("a.test").await.unwrap();
        connection.get(URL).await.unwrap();
        let log = origin.log();
        let told = log.connections[0].transport.as_ref().unwrap();
        let asked = Offer {
            window_bytes: 1 << 20,
            stream_window_bytes: 1 << 20,
            streams: Some(7),
            migration: (protocol == Protocol::H3).then_some(false),
            idle_ms: (protocol == Protocol::H3).then_some(180_000),
        };
        let multiplexed = protocol != Protocol::H1;
        assert_eq!(told.offer, multiplexed.then_some(asked), "{protocol:?}");
        assert_eq!(told.client_offer.is_some(), multiplexed, "{protocol:?}");
        assert_eq!(
            told.unsent_bytes,
            (protocol != Protocol::H3).then_some(4096)
        );
    }
}

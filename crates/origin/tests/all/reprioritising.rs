//! Clients that change their mind about priorities (PRIORITY_UPDATE, RFC 9218 section 7), and answers
//! that have priorities of their own. Both clients write their frames themselves: no library has these.

use std::time::Duration;

use dragstrip_origin::{Http, Origin, Protocol, Tuning};
use quinn::{RecvStream, SendStream, TransportConfig, VarInt};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::support::{Client, entry, serve};

/// The connection's window of an h2 client that gives no other (RFC 9113 section 6.9.2).
const WINDOW: usize = 65_535;
const LARGE: usize = 8 << 20;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const PRIORITY_UPDATE: u8 = 0x10;

/// An origin with `/`, and with `/urgent`, which calls itself so; both are large.
fn origin(priorities: bool) -> (Origin, TempDir) {
    let entries = [
        entry("GET", "https://a.test/", 200, &[], Some("large")),
        entry(
            "GET",
            "https://a.test/urgent",
            200,
            &[("priority", "u=0")],
            Some("large"),
        ),
    ];
    let serving = serve(&entries, &[("large", &vec![1; LARGE])]);
    let http = Http {
        priorities,
        ..Http::default()
    };
    let tuning = Tuning {
        http,
        ..Tuning::default()
    };
    serving.0.tune(tuning).unwrap();
    serving
}

/// A client of h2 that gives each stream a large window, and the connection none until it says so.
struct Frames(TlsStream<TcpStream>);

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A request whose fields stand in HPACK's static table, or are written out.
fn get(stream: u8, path: &str, priority: &str) -> Vec<u8> {
    let mut fields = vec![0x82, 0x87];
    for (name, value) in [
        (&[0x01][..], "a.test"),
        (&[0x04], path),
        (b"\x00\x08priority", priority),
    ] {
        fields.extend_from_slice(name);
        fields.push(value.len() as u8);
        fields.extend_from_slice(value.as_bytes());
    }
    frame(HEADERS, 0x5, stream, &fields)
}

fn update(stream: u8, value: &str) -> Vec<u8> {
    frame(
        PRIORITY_UPDATE,
        0,
        0,
        &[&[0, 0, 0, stream], value.as_bytes()].concat(),
    )
}

fn open_window() -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes())
}

impl Frames {
    async fn connect(origin: &Origin) -> Self {
        let client = Client::new(Protocol::H2, origin);
        let mut tls = client.connect_tls("a.test").await.unwrap();
        tls.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .await
            .unwrap();
        let window = [&[0, 4][..], &(1_u32 << 30).to_be_bytes()].concat();
        tls.write_all(&frame(SETTINGS, 0, 0, &window))
            .await
            .unwrap();
        Self(tls)
    }

    async fn send(&mut self, frames: &[Vec<u8>]) {
        self.0.write_all(&frames.concat()).await.unwrap();
    }

    /// Kind, flags, stream and payload.
    async fn next(&mut self) -> (u8, u8, u8, Vec<u8>) {
        let mut header = [0; 9];
        self.0.read_exact(&mut header).await.unwrap();
        let [a, b, c, kind, flags, _, _, _, stream] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.0.read_exact(&mut payload).await.unwrap();
        (kind, flags, stream, payload)
    }

    /// Returns the streams whose data arrives, until one of them ends or `most` bytes have arrived.
    async fn data(&mut self, most: usize) -> Vec<u8> {
        let (mut streams, mut length) = (Vec::new(), 0);
        while length < most {
            let (kind, flags, stream, payload) = self.next().await;
            assert_ne!(kind, GOAWAY, "{payload:?}");
            if kind == DATA {
                streams.push(stream);
                length += payload.len();
                if flags & 1 == 1 {
                    break;
                }
            }
        }
        streams
    }
}

/// Returns the streams whose data arrives once there is room, if the frames of `first` fill the
/// window before those of `then` follow.
async fn after(first: &[Vec<u8>], then: &[Vec<u8>]) -> Vec<u8> {
    let (origin, _dir) = origin(true);
    let mut client = Frames::connect(&origin).await;
    client.send(first).await;
    let filled = client.data(WINDOW).await;
    assert!(filled.iter().all(|stream| *stream == 1), "{filled:?}");
    client
        .send(&[then.concat(), frame(PING, 0, 0, &[0; 8])])
        .await;
    while client.next().await.0 != PING {} // the server has read all of that
    client.send(&[open_window()]).await;
    client.data(LARGE / 2).await
}

#[tokio::test]
async fn an_update_moves_an_answer_that_waits() {
    let requests = [get(1, "/", "u=3"), get(3, "/", "u=3")];
    assert!(
        after(&requests, &[])
            .await
            .iter()
            .all(|stream| *stream == 1)
    );
    let raised = after(&requests, &[update(3, "u=1")]).await;
    assert!(raised.iter().all(|stream| *stream == 3));
    let lowered = after(&requests, &[update(1, "u=4")]).await;
    assert!(lowered.iter().all(|stream| *stream == 3));
}

#[tokio::test]
async fn an_update_may_come_before_its_request() {
    let first = [update(3, "u=1"), get(1, "/", "u=3")];
    let moved = after(&first, &[get(3, "/", "u=7")]).await;
    assert!(moved.iter().all(|stream| *stream == 3));
}

#[tokio::test]
async fn an_answer_that_calls_itself_urgent_goes_first() {
    let moved = after(&[get(1, "/", "u=3")], &[get(3, "/urgent", "u=7")]).await;
    assert!(moved.iter().all(|stream| *stream == 3));
}

#[tokio::test]
async fn an_update_that_breaks_the_rules_ends_an_h2_connection() {
    let (origin, _dir) = origin(true);
    for broken in [
        update(0, "u=1"),
        frame(PRIORITY_UPDATE, 0, 1, &[0, 0, 0, 1]),
    ] {
        let mut client = Frames::connect(&origin).await;
        client.send(&[get(1, "/", ""), broken]).await;
        let reason = loop {
            if let (GOAWAY, _, _, payload) = client.next().await {
                break payload[7];
            }
        };
        assert_eq!(reason, 1, "PROTOCOL_ERROR");
    }
}

#[tokio::test]
async fn where_priorities_are_not_obeyed_updates_are_ignored() {
    let (origin, _dir) = origin(false);
    let mut client = Frames::connect(&origin).await;
    let requests = [
        get(1, "/", "u=3"),
        get(3, "/urgent", "u=3"),
        update(0, ""),
        update(3, "u=0"),
    ];
    client.send(&[requests.concat(), open_window()]).await;
    let streams = client.data(LARGE / 2).await;
    let of = |wanted: u8| streams.iter().filter(|stream| **stream == wanted).count();
    assert!(of(1).abs_diff(of(3)) < streams.len() / 4, "they take turns");
}

/// A client of h3 whose control stream is open.
struct Streams {
    quinn: quinn::Connection,
    control: SendStream,
}

/// A field section of QPACK's static table, or written out (RFC 9204 section 4.5).
fn h3_get(path: &str, priority: &str) -> Vec<u8> {
    let mut section = vec![0, 0, 0xd1, 0xd7];
    for (name, value) in [
        (&[0x50][..], "a.test"),
        (&[0x51], path),
        (b"\x27\x01priority", priority),
    ] {
        section.extend_from_slice(name);
        section.push(value.len() as u8);
        section.extend_from_slice(value.as_bytes());
    }
    [&[1, section.len() as u8][..], &section].concat()
}

fn h3_update(id: u8, value: &str) -> Vec<u8> {
    let length = value.len() as u8 + 1;
    [&[0x80, 0x0f, 0x07, 0x00, length, id][..], value.as_bytes()].concat()
}

impl Streams {
    async fn connect(origin: &Origin) -> Self {
        let mut transport = TransportConfig::default();
        transport.stream_receive_window(VarInt::from_u32(4 * LARGE as u32));
        let client = Client::new(Protocol::H3, origin);
        let quinn = client
            .connecting("a.test", transport)
            .unwrap()
            .await
            .unwrap();
        let mut control = quinn.open_uni().await.unwrap();
        control.write_all(&[0, 4, 0]).await.unwrap();
        Self { quinn, control }
    }

    async fn ask(&self, path: &str, priority: &str) -> RecvStream {
        let (mut send, recv) = self.quinn.open_bi().await.unwrap();
        send.write_all(&h3_get(path, priority)).await.unwrap();
        send.finish().unwrap();
        recv
    }
}

/// Takes all of an answer.
async fn finish(mut stream: RecvStream) -> usize {
    let mut length = 0;
    while let Some(chunk) = stream.read_chunk(usize::MAX, true).await.unwrap() {
        length += chunk.bytes.len();
    }
    length
}

/// Whether the second answer ends before the first, if the client sends `then` once the first
/// begins.
async fn overtakes(first: [&str; 2], second: [&str; 2], then: &[u8]) -> bool {
    let (origin, _dir) = origin(true);
    let mut client = Streams::connect(&origin).await;
    let mut one = client.ask(first[0], first[1]).await;
    let two = client.ask(second[0], second[1]).await;
    one.read_chunk(1, true).await.unwrap();
    client.control.write_all(then).await.unwrap();
    let (one, two) = (finish(one), finish(two));
    tokio::pin!(one, two);
    let ended = async {
        tokio::select! {
            biased;
            length = &mut two => (true, length),
            length = &mut one => (false, length),
        }
    };
    let (overtaken, length) = tokio::time::timeout(Duration::from_mins(1), ended)
        .await
        .unwrap();
    assert!(length >= LARGE);
    overtaken
}

#[tokio::test]
async fn over_h3_an_update_moves_an_answer_that_waits() {
    let (first, second) = (["/", "u=3"], ["/", "u=3"]);
    assert!(!overtakes(first, second, &[]).await);
    assert!(overtakes(first, second, &h3_update(4, "u=1")).await);
    assert!(overtakes(first, second, &h3_update(0, "u=5")).await);
}

#[tokio::test]
async fn over_h3_an_answer_that_calls_itself_urgent_goes_first() {
    assert!(overtakes(["/", "u=3"], ["/urgent", "u=7"], &[]).await);
}

#[tokio::test]
async fn over_h3_an_update_may_come_before_its_request() {
    let (origin, _dir) = origin(true);
    let mut client = Streams::connect(&origin).await;
    client
        .control
        .write_all(&h3_update(4, "u=1"))
        .await
        .unwrap();
    let mut one = client.ask("/", "u=3").await;
    one.read_chunk(1, true).await.unwrap();
    let two = client.ask("/", "u=7").await;
    let (one, two) = (finish(one), finish(two));
    tokio::pin!(one, two);
    tokio::select! {
        biased;
        length = &mut two => assert!(length >= LARGE),
        _ = &mut one => panic!("the update was forgotten"),
    }
}

#[tokio::test]
async fn an_update_that_breaks_the_rules_ends_an_h3_connection() {
    let id_error = VarInt::from_u32(0x108);
    for broken in [
        h3_update(2, "u=1"),
        [&[0x80, 0x0f, 0x07, 0x01, 1, 0][..]].concat(),
    ] {
        let (origin, _dir) = origin(true);
        let mut client = Streams::connect(&origin).await;
        client.control.write_all(&broken).await.unwrap();
        match client.quinn.closed().await {
            quinn::ConnectionError::ApplicationClosed(close) => {
                assert_eq!(close.error_code, id_error);
            }
            other => panic!("{other}"),
        }
    }
    let (origin, _dir) = origin(false);
    let mut client = Streams::connect(&origin).await;
    client
        .control
        .write_all(&h3_update(2, "u=1"))
        .await
        .unwrap();
    assert!(finish(client.ask("/", "u=3").await).await >= LARGE);
}

//! What goes first over h2: the best answer of those that can be sent.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use crate::support::{Client, entry, serve};
use bytes::Bytes;
use dragstrip_origin::{Origin, Protocol};
use h2::RecvStream;
use h2::client::{self, SendRequest};
use http::Request;
use serde_json::json;
use tempfile::TempDir;

/// The connection's window of a client that gives no other (RFC 9113 section 6.9.2).
const WINDOW: usize = 65_535;
const SMALL: usize = 20_000;

struct Browser {
    requests: SendRequest<Bytes>,
    origin: (Origin, TempDir),
}

impl Browser {
    /// Starts an origin with `/`, as long as ten windows of a connection, `/small`, and `/slow`,
    /// which takes ten minutes. Each stream has a window of this size.
    async fn new(stream_window: usize) -> Self {
        let mut slow = entry("GET", "https://a.test/slow", 200, &[], Some("small"));
        slow["_dragstrip"] = json!({ "think_ms": 600_000 });
        let entries = [
            entry("GET", "https://a.test/", 200, &[], Some("large")),
            entry("GET", "https://a.test/small", 200, &[], Some("small")),
            slow,
        ];
        let large = vec![1; 10 * WINDOW];
        let bodies: [(&str, &[u8]); 2] = [("large", &large), ("small", &[2; SMALL])];
        let origin = serve(&entries, &bodies);
        let client = Client::new(Protocol::H2, &origin.0);
        let tls = client.connect_tls("a.test").await.unwrap();
        let mut client = client::Builder::new();
        client.initial_window_size(stream_window as u32);
        let (requests, connection) = client.handshake(tls).await.unwrap();
        tokio::spawn(connection);
        Self { requests, origin }
    }

    async fn ask(&mut self, path: &str, priority: &str) -> Answer {
        let (answer, _) = self.send("GET", path, priority, true).await;
        answer
    }

    /// A request whose body stays open unless it ends here.
    async fn send(
        &mut self,
        method: &str,
        path: &str,
        priority: &str,
        ends: bool,
    ) -> (Answer, h2::SendStream<Bytes>) {
        let request = Request::builder()
            .method(method)
            .uri(format!("https://a.test{path}"))
            .header("priority", priority);
        let request = request.body(()).unwrap();
        self.requests = self.requests.clone().ready().await.unwrap();
        let (answer, upload) = self.requests.send_request(request, ends).unwrap();
        (Answer(answer), upload)
    }
}

struct Answer(client::ResponseFuture);

impl Answer {
    async fn body(self) -> RecvStream {
        self.0.await.unwrap().into_body()
    }

    async fn finish(self) -> usize {
        finish(self.body().await).await
    }
}

/// Takes all of it and lets the server send on.
async fn finish(mut body: RecvStream) -> usize {
    let mut length = 0;
    while let Some(data) = body.data().await {
        let data = data.unwrap();
        body.flow_control().release_capacity(data.len()).unwrap();
        length += data.len();
    }
    length
}

#[tokio::test]
async fn what_cannot_be_answered_yet_holds_up_nothing() {
    let mut browser = Browser::new(WINDOW).await;
    let _thinks = browser.ask("/slow", "u=0").await;
    let _uploads = browser.send("POST", "/", "u=0", false).await;
    let image = browser.ask("/", "u=5, i").await;
    assert_eq!(patiently(image.finish()).await, 10 * WINDOW);
}

#[tokio::test]
async fn an_answer_that_its_client_does_not_read_holds_up_nothing() {
    let mut browser = Browser::new(WINDOW / 4).await;
    let _unread = patiently(browser.ask("/", "u=0").await.body()).await;
    let other = browser.ask("/small", "u=7").await;
    assert_eq!(patiently(other.finish()).await, SMALL);
}

#[tokio::test]
async fn an_answer_that_its_client_gives_up_is_logged_as_such() {
    let mut browser = Browser::new(WINDOW / 4).await;
    drop(patiently(browser.ask("/", "u=0").await.body()).await);
    let given_up = async {
        loop {
            browser.ask("/small", "u=7").await.finish().await;
            let log = browser.origin.0.log();
            if log.requests.iter().any(|served| served.end_us == 0) {
                break;
            }
        }
    };
    patiently(given_up).await;
}

#[tokio::test]
async fn what_the_client_takes_again_goes_to_the_most_urgent() {
    let mut browser = Browser::new(WINDOW).await;
    let mut images = Vec::new();
    for _ in 0..3 {
        images.push(browser.ask("/", "u=5, i").await.body().await);
    }
    // They fill the connection's window.
    let mut taken = [0; 3];
    let all = poll_fn(|cx| {
        for (image, taken) in images.iter_mut().zip(&mut taken) {
            while let Poll::Ready(Some(data)) = image.poll_data(cx) {
                *taken += data.unwrap().len();
            }
        }
        match taken.iter().sum::<usize>() {
            WINDOW => Poll::Ready(()),
            _ => Poll::Pending,
        }
    });
    patiently(all).await;
    let urgent = patiently(browser.ask("/small", "u=0").await.body()).await;
    // Little more than half, so that the client announces it: enough for the urgent answer alone.
    let mut give_back = WINDOW / 2 + 1;
    for (image, taken) in images.iter_mut().zip(taken) {
        let part = taken.min(give_back);
        image.flow_control().release_capacity(part).unwrap();
        give_back -= part;
    }
    assert_eq!(patiently(finish(urgent)).await, SMALL);
}

/// Fails if an answer never comes.
async fn patiently<T>(future: impl Future<Output = T>) -> T {
    let limit = Duration::from_mins(1);
    tokio::time::timeout(limit, future)
        .await
        .expect("an answer")
}

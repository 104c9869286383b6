//! How large the origin's UDP payloads are, and how it finds out what a path carries.

use std::fmt::{self, Debug, Formatter};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use crate::support::{Client, entry, serve};
use dragstrip_origin::{Protocol, Tuning};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime, UdpPoller};

/// A client's socket behind a path that carries payloads up to `most` bytes and drops longer ones.
struct Narrow {
    inner: Arc<dyn AsyncUdpSocket>,
    most: usize,
    lengths: Arc<Mutex<Vec<usize>>>,
}

impl AsyncUdpSocket for Narrow {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.inner.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let received = self.inner.poll_recv(cx, bufs, meta);
        if let Poll::Ready(Ok(count)) = received {
            for one in &mut meta[..count] {
                self.lengths.lock().unwrap().push(one.len);
                if one.len > self.most {
                    one.len = 0; // nothing came
                }
            }
        }
        received
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

impl Debug for Narrow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Narrow")
    }
}

/// Lengths of the datagrams that the origin sent for an answer of 2 MB, by a tuning.
async fn lengths(most: usize, start: Option<u16>) -> Vec<usize> {
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    let (origin, _dir) = serve(&[answer], &[("x", &[7; 2_000_000])]);
    let mut tuning = Tuning::default();
    tuning.quic.udp_start_bytes = start;
    origin.tune(tuning).unwrap();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let lengths = Arc::<Mutex<Vec<_>>>::default();
    let socket = Narrow {
        inner: TokioRuntime.wrap_udp_socket(socket).unwrap(),
        most,
        lengths: lengths.clone(),
    };
    let endpoint = Endpoint::new_with_abstract_socket(
        EndpointConfig::default(),
        None,
        Arc::new(socket),
        Arc::new(TokioRuntime),
    );
    let client = Client::new(Protocol::H3, &origin).over(endpoint.unwrap());
    let mut connection = client.connect("a.test").await.unwrap();
    connection.get("https://a.test/").await.unwrap();
    origin.close().await;
    lengths.lock().unwrap().clone()
}

#[tokio::test]
async fn a_connection_begins_full_and_searches_nothing_by_default() {
    let came = lengths(1472, None).await;
    assert_eq!(came.iter().max(), Some(&1452));
    assert!(came.iter().filter(|&&length| length == 1452).count() > 200);
}

#[tokio::test]
async fn a_search_from_below_finds_what_a_wide_path_carries() {
    let came = lengths(1472, Some(1200)).await;
    assert_eq!(came[0], 1200);
    let most = *came.iter().max().unwrap();
    assert!((1433..=1452).contains(&most), "{most}");
    assert!(came.iter().filter(|&&length| length == most).count() > 50);
}

#[tokio::test]
async fn a_search_loses_probes_and_no_data_on_a_narrow_path() {
    let came = lengths(1252, Some(1200)).await;
    let lost = came.iter().filter(|&&length| length > 1252).count();
    assert!((1..=12).contains(&lost), "{lost} of {}", came.len());
}

#[test]
fn a_start_that_is_no_payload_is_refused() {
    for (start, full) in [(1199, 1452), (1453, 1452), (1300, 1250)] {
        let mut tuning = Tuning::default();
        tuning.quic.udp_start_bytes = Some(start);
        tuning.quic.udp_payload_bytes = full;
        let error = tuning.check().unwrap_err().to_string();
        assert!(error.contains("tune.quic.udp_start_bytes"), "{error}");
    }
}

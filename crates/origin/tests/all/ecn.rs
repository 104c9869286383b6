//! ECN over QUIC, as it is on the wire.

use std::fmt::{self, Debug};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use crate::support::{Client, entry, serve};
use dragstrip_origin::{Congestion, Origin, Protocol, Tuning};
use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime, UdpPoller};

/// Notes how datagrams come marked, and mangles the marks as a path would.
struct Watched {
    inner: Arc<dyn AsyncUdpSocket>,
    came: Arc<Mutex<Vec<Option<EcnCodepoint>>>>,
    mangles: Mangles,
}

impl AsyncUdpSocket for Watched {
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
            // A path without ECN bleaches after the sender's socket: what is noted is what was sent.
            let marks = meta[..count].iter().map(|meta| meta.ecn);
            self.came.lock().unwrap().extend(marks);
            for meta in &mut meta[..count] {
                meta.ecn = (self.mangles)(meta.ecn);
            }
        }
        received
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

impl Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

/// What a path does to the code points of packets to the client.
type Mangles = fn(Option<EcnCodepoint>) -> Option<EcnCodepoint>;

/// A client whose datagrams are noted, after the path mangled them.
fn client(origin: &Origin, mangles: Mangles) -> (Client, Arc<Mutex<Vec<Option<EcnCodepoint>>>>) {
    let came = Arc::<Mutex<Vec<_>>>::default();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let socket = Watched {
        inner: TokioRuntime.wrap_udp_socket(socket).unwrap(),
        came: came.clone(),
        mangles,
    };
    let endpoint = Endpoint::new_with_abstract_socket(
        EndpointConfig::default(),
        None,
        Arc::new(socket),
        Arc::new(TokioRuntime),
    );
    (
        Client::new(Protocol::H3, origin).over(endpoint.unwrap()),
        came,
    )
}

fn scalable() -> Tuning {
    let mut tuning = Tuning::default();
    tuning.quic.congestion = Congestion::Prague;
    (tuning.quic.ecn, tuning.quic.l4s) = (true, true);
    tuning
}

fn classic(ecn: bool) -> Tuning {
    let mut tuning = Tuning::default();
    tuning.quic.ecn = ecn;
    tuning
}

#[tokio::test]
async fn packets_have_the_code_point_of_the_stack_and_the_client_counts_them() {
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    // Beyond a thousand packets quinn updates its keys.
    let (origin, _dir) = serve(&[answer], &[("x", &[7; 2_000_000])]);
    for (tuning, mark) in [
        (classic(false), None),
        (classic(true), Some(EcnCodepoint::Ect0)),
        (scalable(), Some(EcnCodepoint::Ect1)),
        (classic(false), None),
    ] {
        origin.tune(tuning).unwrap();
        let (client, came) = client(&origin, |mark| mark);
        let mut connection = client.connect("a.test").await.unwrap();
        connection.get("https://a.test/").await.unwrap();
        origin.close().await;
        let came = came.lock().unwrap();
        assert!(
            came.len() > 1400 && came.iter().all(|seen| *seen == mark),
            "{mark:?}: {came:?}"
        );
        let log = origin.log();
        let told = log.connections[0].transport.as_ref().unwrap().ecn_counts;
        let counted = told.map(|counts| (counts.ect0 > 1300, counts.ect1 > 1300, counts.ce));
        let expected = match mark {
            Some(EcnCodepoint::Ect0) => Some((true, false, 0)),
            Some(_) => Some((false, true, 0)),
            None => None,
        };
        assert_eq!(counted, expected, "{told:?}");
    }
}

#[tokio::test]
async fn a_path_that_bleaches_or_mangles_ends_ecn() {
    // RFC 9000 section 13.4.2.1: too few counts, or counts of a code point that was not sent.
    let bleaches: Mangles = |_| None;
    let classic_to_scalable: Mangles = |mark| mark.map(|_| EcnCodepoint::Ect1);
    let scalable_to_classic: Mangles = |mark| mark.map(|_| EcnCodepoint::Ect0);
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    let (origin, _dir) = serve(&[answer], &[("x", &[7; 300_000])]);
    for (tuning, mangles) in [
        (classic(true), bleaches),
        (scalable(), bleaches),
        (classic(true), classic_to_scalable),
        (scalable(), scalable_to_classic),
    ] {
        let scalable = tuning.quic.l4s;
        origin.tune(tuning).unwrap();
        let (client, came) = client(&origin, mangles);
        let mut connection = client.connect("a.test").await.unwrap();
        connection.get("https://a.test/").await.unwrap();
        origin.close().await;
        let came = came.lock().unwrap();
        let sent = came.iter().filter(|mark| mark.is_some()).count();
        assert!(
            sent > 0 && sent < 60,
            "{scalable}: {sent} of {}",
            came.len()
        );
        assert!(came.len() > 180);
    }
}

#[tokio::test]
async fn marks_slow_a_scalable_sender_down() {
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    let (origin, _dir) = serve(&[answer], &[("x", &[7; 1_000_000])]);
    origin.tune(scalable()).unwrap();
    let all: Mangles = |mark| mark.map(|_| EcnCodepoint::Ce);
    let (client, _) = client(&origin, all);
    let mut connection = client.connect("a.test").await.unwrap();
    connection.get("https://a.test/").await.unwrap();
    origin.close().await;
    let log = origin.log();
    let told = log.connections[0].transport.as_ref().unwrap();
    assert!(told.ecn_counts.unwrap().ce > 600, "{told:?}");
    assert!(
        told.window_packets < told.initial_window_packets,
        "{told:?}"
    );
}

//! ECN over QUIC, as it is on the wire.

use std::fmt::{self, Debug};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use crate::support::{Client, entry, serve};
use dragstrip_origin::{Protocol, Tuning};
use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime, UdpPoller};

/// Notes how datagrams come marked.
struct Watched {
    inner: Arc<dyn AsyncUdpSocket>,
    came: Arc<Mutex<Vec<Option<EcnCodepoint>>>>,
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
            let marks = meta[..count].iter().map(|meta| meta.ecn);
            self.came.lock().unwrap().extend(marks);
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

#[tokio::test]
async fn packets_are_marked_as_capable_of_ecn_if_the_stack_wants_it_and_never_otherwise() {
    let answer = entry("GET", "https://a.test/", 200, &[], Some("x"));
    let (origin, _dir) = serve(&[answer], &[("x", &[7; 100_000])]);
    let came = Arc::<Mutex<Vec<_>>>::default();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let socket = Watched {
        inner: TokioRuntime.wrap_udp_socket(socket).unwrap(),
        came: came.clone(),
    };
    let endpoint = Endpoint::new_with_abstract_socket(
        EndpointConfig::default(),
        None,
        Arc::new(socket),
        Arc::new(TokioRuntime),
    );
    let client = Client::new(Protocol::H3, &origin).over(endpoint.unwrap());
    for (ecn, mark) in [
        (false, None),
        (true, Some(EcnCodepoint::Ect0)),
        (false, None),
    ] {
        let mut tuning = Tuning::default();
        tuning.quic.ecn = ecn;
        origin.tune(tuning).unwrap();
        came.lock().unwrap().clear();
        let mut connection = client.connect("a.test").await.unwrap();
        connection.get("https://a.test/").await.unwrap();
        origin.close().await;
        let came = came.lock().unwrap();
        assert!(
            came.len() > 50 && came.iter().all(|seen| *seen == mark),
            "{came:?}"
        );
    }
}

//! A client of HTTP/3 behind a path that does something to each datagram from the origin.

use std::fmt::{self, Debug, Formatter};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use dragstrip_origin::{Origin, Protocol};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime, UdpPoller};

use crate::support::Client;

/// Makes a client whose datagrams `passes` sees first. It may change what arrives; a length of 0
/// means that nothing does.
pub fn client_behind(
    origin: &Origin,
    passes: impl Fn(&mut RecvMeta) + Send + Sync + 'static,
) -> Client {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let socket = Behind {
        inner: TokioRuntime.wrap_udp_socket(socket).unwrap(),
        passes,
    };
    let endpoint = Endpoint::new_with_abstract_socket(
        EndpointConfig::default(),
        None,
        Arc::new(socket),
        Arc::new(TokioRuntime),
    );
    Client::new(Protocol::H3, origin).over(endpoint.unwrap())
}

struct Behind<P> {
    inner: Arc<dyn AsyncUdpSocket>,
    passes: P,
}

impl<P: Fn(&mut RecvMeta) + Send + Sync + 'static> AsyncUdpSocket for Behind<P> {
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
            meta[..count].iter_mut().for_each(&self.passes);
        }
        received
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

impl<P> Debug for Behind<P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Behind")
    }
}

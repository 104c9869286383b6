//! A UDP socket that holds each connection's packets until they are due.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Connecting, ConnectionError, Incoming, ServerConfig, UdpPoller};
use tokio::time::{Sleep, sleep_until};

use crate::algorithms::Ecn;
use crate::lock::unpoisoned;
use crate::quic::alarm::Alarm;
use crate::quic::flow::Flow;

#[derive(Debug)]
pub(crate) struct PacedSocket {
    inner: Arc<dyn AsyncUdpSocket>,
    /// The flow of the connection whose poller is made next: quinn makes a connection's poller
    /// while it accepts the connection.
    accepting: Mutex<Option<Arc<Flow>>>,
    one_at_a_time: Mutex<()>,
    /// The ECN marks with which packets leave: those of the connection accepted last, because all
    /// connections of a visit are alike.
    ecn: Mutex<Ecn>,
}

impl PacedSocket {
    pub fn new(inner: Arc<dyn AsyncUdpSocket>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            accepting: Mutex::default(),
            one_at_a_time: Mutex::default(),
            ecn: Mutex::new(Ecn::Off),
        })
    }

    /// Accepts a connection that sends when `flow` says so. Its packets have the code point of `ecn`
    /// (RFC 9000 section 13.4) as long as the client confirms it.
    pub fn accept(
        &self,
        incoming: Incoming,
        config: ServerConfig,
        flow: Arc<Flow>,
        ecn: Ecn,
    ) -> Result<Connecting, ConnectionError> {
        let _turn = unpoisoned(&self.one_at_a_time);
        *unpoisoned(&self.ecn) = ecn;
        *unpoisoned(&self.accepting) = Some(flow);
        let connecting = incoming.accept_with(Arc::new(config));
        *unpoisoned(&self.accepting) = None;
        connecting
    }
}

impl AsyncUdpSocket for PacedSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(PacedPoller {
            flow: unpoisoned(&self.accepting).take(),
            held: None,
            alarm: None,
            inner: self.inner.clone().create_io_poller(),
        })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        // quinn marks every connection's packets ECT(0) and has no setting against it.
        let code_point = match *unpoisoned(&self.ecn) {
            Ecn::Off => None,
            Ecn::Classic => transmit.ecn,
            Ecn::Scalable => transmit.ecn.map(|_| EcnCodepoint::Ect1),
        };
        self.inner.try_send(&Transmit {
            ecn: code_point,
            ..*transmit
        })
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.inner.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// Returns 1, because each packet has its own departure time.
    fn max_transmit_segments(&self) -> usize {
        1
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

struct PacedPoller {
    flow: Option<Arc<Flow>>,
    held: Option<Pin<Box<Sleep>>>,
    /// A finer clock, for a sender that must send evenly within tokio's millisecond too.
    alarm: Option<Alarm>,
    inner: Pin<Box<dyn UdpPoller>>,
}

impl UdpPoller for PacedPoller {
    /// quinn asks when it has made a packet and before it sends it.
    fn poll_writable(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let hold = this.flow.as_ref().and_then(|flow| flow.hold());
        let fine = this.flow.as_ref().is_some_and(|flow| flow.view().fine);
        if let Some(due) = hold.filter(|_| fine) {
            let alarm = match &mut this.alarm {
                Some(alarm) => alarm,
                none => none.insert(Alarm::new()?),
            };
            ready!(alarm.poll(due, cx))?;
        } else if let Some(due) = hold {
            let held = this
                .held
                .get_or_insert_with(|| Box::pin(sleep_until(due.into())));
            held.as_mut().reset(due.into());
            ready!(held.as_mut().poll(cx));
        }
        this.inner.as_mut().poll_writable(cx)
    }
}

impl fmt::Debug for PacedPoller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PacedPoller")
    }
}

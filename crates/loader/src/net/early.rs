//! A TLS stream that may still be in its handshake: early data over TCP.
//!
//! tokio-rustls takes early data until it is flushed, and its flush ends with the handshake. Here the
//! first flush waits, so that the ClientHello, HTTP's preface and the first request leave in one write,
//! and with TCP Fast Open in the SYN; and a flush does not wait for the handshake, so that requests
//! which become known meanwhile follow as early data too.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, BufWriter, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::net::clock::Clock;
use crate::net::{Verifier, note_handshake};
use crate::report::{Connection, EarlyData};

/// Room for the first requests of a page.
const BUFFER: usize = 64 * 1024;

/// The stream over which h1 and h2 run.
pub type Stream = BufWriter<Watched>;

/// A TLS stream that notes the end of its handshake when it sees it.
pub struct Watched {
    tls: TlsStream<TcpStream>,
    handshaking: Option<(Rc<RefCell<Connection>>, Arc<Verifier>, Clock)>,
    flushes: Flushes,
}

/// How far a handshake with early data is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flushes {
    /// Nothing has left, and no flush was asked for.
    None,
    /// A flush was asked for, and waits for the next one.
    Waiting,
    Leaving,
}

impl Watched {
    /// Makes a stream whose handshake is through, or which has early data to wait for.
    pub fn stream(
        tls: TlsStream<TcpStream>,
        report: &Rc<RefCell<Connection>>,
        verifier: Arc<Verifier>,
        clock: Clock,
    ) -> Stream {
        let mut watched = Self {
            tls,
            handshaking: Some((report.clone(), verifier, clock)),
            flushes: Flushes::None,
        };
        watched.look();
        BufWriter::with_capacity(BUFFER, watched)
    }

    fn look(&mut self) {
        let session = self.tls.get_ref().1;
        if session.is_handshaking() {
            return;
        }
        if let Some((report, verifier, clock)) = self.handshaking.take() {
            let mut report = report.borrow_mut();
            if report.early_data == EarlyData::Offered {
                let taken = session.is_early_data_accepted();
                report.early_data = if taken {
                    EarlyData::Accepted
                } else {
                    EarlyData::Rejected
                };
            }
            note_handshake(&mut report, session, &verifier, clock);
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.handshaking.is_some() {
            if self.flushes != Flushes::Leaving {
                return Poll::Pending; // The flush that must come wakes its task, which is ours.
            }
            let through = Pin::new(&mut self.tls).poll_flush(cx);
            self.look();
            ready!(through)?;
        }
        Pin::new(&mut self.tls).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tls).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let early = self.handshaking.is_some();
        if early && self.flushes == Flushes::None {
            self.flushes = Flushes::Waiting;
            cx.waker().wake_by_ref();
            return Poll::Ready(Ok(()));
        }
        self.flushes = Flushes::Leaving;
        let flushed = Pin::new(&mut self.tls).poll_flush(cx);
        self.look();
        match flushed {
            Poll::Pending if early => Poll::Ready(Ok(())),
            flushed => flushed,
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_shutdown(cx)
    }
}

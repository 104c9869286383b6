//! TLS over TCP, for what tokio-rustls has no path on the server's side. Requests that came with
//! the ClientHello of a resumed connection are answered before the handshake is through (RFC 8446
//! section 2.3). The size of every record is our choice.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use rustls::{ProtocolVersion, ServerConnection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::tcp::records::{Meter, Records, Sizer};

/// Whether the bytes that were read last came as early data.
#[derive(Clone, Default)]
pub(crate) struct Early(Arc<AtomicBool>);

impl Early {
    pub fn now(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The way out for what is written to the stream. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Outlet(Arc<State>);

#[derive(Default)]
struct State {
    /// Whether TLS holds records that the kernel did not take yet.
    full: AtomicBool,
    /// Most plaintext bytes in the next record.
    record: AtomicUsize,
}

impl Outlet {
    pub fn is_full(&self) -> bool {
        self.0.full.load(Ordering::Relaxed)
    }

    pub fn record(&self) -> usize {
        self.0.record.load(Ordering::Relaxed)
    }
}

pub(crate) struct TlsStream {
    socket: TcpStream,
    pub tls: ServerConnection,
    early: Early,
    outlet: Outlet,
    sizer: Sizer,
    meter: Arc<Meter>,
}

impl TlsStream {
    /// Accepts a connection; returns when requests may be read: after the handshake, or before it
    /// if early data came.
    pub async fn accept(
        socket: TcpStream,
        tls: ServerConnection,
        early: Early,
        records: Records,
        meter: Arc<Meter>,
    ) -> io::Result<Self> {
        let mut stream = Self {
            socket,
            tls,
            early,
            outlet: Outlet::default(),
            sizer: Sizer::new(records),
            meter,
        };
        std::future::poll_fn(|cx| stream.poll_open(cx)).await?;
        Ok(stream)
    }

    pub fn outlet(&self) -> Outlet {
        self.measure();
        self.outlet.clone()
    }

    fn measure(&self) {
        let next = self.sizer.next_size(Instant::now());
        self.outlet.0.record.store(next, Ordering::Relaxed);
    }

    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // TLS may have read its ClientHello already, and have an answer ready.
        if let Poll::Ready(Err(error)) = self.poll_send(cx) {
            return Poll::Ready(Err(error));
        }
        while self.tls.is_handshaking() && self.tls.early_data().is_none() {
            if !ready!(self.poll_receive(cx))? {
                return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Takes in more of the client's bytes; false at their end.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        loop {
            match self.tls.read_tls(&mut Now(&self.socket, &self.meter)) {
                Ok(0) => return Poll::Ready(Ok(false)),
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    ready!(self.socket.poll_read_ready(cx))?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let understood = self.tls.process_new_packets();
        // An answer of the handshake, or the alert that says why it fails.
        let sent = self.poll_send(cx);
        understood.map_err(io::Error::other)?;
        if let Poll::Ready(Err(error)) = sent {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(true))
    }

    /// Gives the socket all that TLS has ready.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.tls.wants_write() {
            self.outlet.0.full.store(true, Ordering::Relaxed);
            match self.tls.write_tls(&mut Now(&self.socket, &self.meter)) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    ready!(self.socket.poll_write_ready(cx))?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        self.outlet.0.full.store(false, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }

    /// Decrypted bytes that are already here; None if there are none yet.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if let Some(mut early) = self.tls.early_data() {
            let read = early.read(buffer)?;
            if read > 0 {
                self.early.0.store(true, Ordering::Relaxed);
                return Ok(Some(read));
            }
        }
        match self.tls.reader().read(buffer) {
            Ok(read) => {
                self.early.0.store(false, Ordering::Relaxed);
                Ok(Some(read))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes records of as much as TLS's buffer takes, each as large as the sizer says.
    fn encrypt(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let tls13 = self.tls.protocol_version() == Some(ProtocolVersion::TLSv1_3);
        self.meter.answers_begin(tls13);
        let whole = slices.iter().map(|slice| slice.len()).sum();
        let (now, mut written) = (Instant::now(), 0);
        while written < whole {
            let record = part(slices, written, self.sizer.next(now));
            let asked: usize = record.iter().map(|slice| slice.len()).sum();
            let taken = self.tls.writer().write_vectored(&record)?;
            written += taken;
            if taken < asked {
                break;
            }
        }
        self.measure();
        Ok(written)
    }
}

/// The part of the slices from `start` on, at most `length` bytes.
fn part<'a>(slices: &'a [IoSlice<'_>], mut start: usize, mut length: usize) -> Vec<IoSlice<'a>> {
    let mut found = Vec::with_capacity(slices.len());
    for slice in slices {
        let from = start.min(slice.len());
        let bytes = &slice[from..slice.len().min(from.saturating_add(length))];
        start -= from;
        length -= bytes.len();
        if !bytes.is_empty() {
            found.push(IoSlice::new(bytes));
        }
    }
    found
}

impl AsyncRead for TlsStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if let Some(read) = this.take(buffer.initialize_unfilled())? {
                buffer.advance(read);
                return Poll::Ready(Ok(()));
            }
            if !ready!(this.poll_receive(cx))? {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for TlsStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        // TLS's buffer is limited: what it does not take waits until the socket has taken some.
        ready!(this.poll_send(cx))?;
        let written = this.encrypt(slices)?;
        if let Poll::Ready(Err(error)) = this.poll_send(cx) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_send(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.tls.send_close_notify();
        ready!(this.poll_send(cx))?;
        Pin::new(&mut this.socket).poll_shutdown(cx)
    }
}

/// The socket as blocking code sees one that would block, with the meter of what goes out.
struct Now<'a>(&'a TcpStream, &'a Meter);

impl Read for Now<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Now<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.try_write(bytes)?;
        self.1.saw(&bytes[..written]);
        Ok(written)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = self.0.try_write_vectored(slices)?;
        for slice in part(slices, 0, written) {
            self.1.saw(&slice);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

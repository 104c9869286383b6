//! A stream that can hold back written bytes until more follow, so that several frames share a TLS
//! record.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The cork: while it is set, nothing passes and a flush does nothing. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Cork(Arc<AtomicBool>);

impl Cork {
    pub fn set(&self, stuck: bool) {
        self.0.store(stuck, Ordering::Relaxed);
    }

    fn is_in(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) struct Corked<S> {
    stream: S,
    cork: Cork,
    waiting: BytesMut,
}

impl<S: AsyncWrite + Unpin> Corked<S> {
    pub fn new(stream: S, cork: Cork) -> Self {
        Self {
            stream,
            cork,
            waiting: BytesMut::new(),
        }
    }

    /// Passes on the bytes that waited.
    fn poll_pass(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.waiting.is_empty() {
            let passed = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.waiting))?;
            self.waiting.advance(passed);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Corked<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Corked<S> {
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
        if this.cork.is_in() {
            let before = this.waiting.len();
            for slice in slices {
                this.waiting.extend_from_slice(slice);
            }
            return Poll::Ready(Ok(this.waiting.len() - before));
        }
        ready!(this.poll_pass(cx))?;
        Pin::new(&mut this.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.cork.is_in() {
            return Poll::Ready(Ok(()));
        }
        ready!(this.poll_pass(cx))?;
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_pass(cx))?;
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn nothing_passes_while_the_cork_is_in() {
        let (near, mut far) = tokio::io::duplex(4);
        let cork = Cork::default();
        let mut stream = Corked::new(near, cork.clone());
        cork.set(true);
        stream.write_all(b"first, ").await.unwrap();
        stream.flush().await.unwrap();
        stream.write_all(b"second, ").await.unwrap();
        let mut none = [0; 1];
        let read = waits(far.read(&mut none));
        assert!(read.await, "something passed");
        cork.set(false);
        let reading = tokio::spawn(async move {
            let mut text = String::new();
            far.read_to_string(&mut text).await.unwrap();
            text
        });
        stream.write_all(b"third").await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(reading.await.unwrap(), "first, second, third");
    }

    /// Whether a future has to wait.
    async fn waits(future: impl Future) -> bool {
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
    }
}

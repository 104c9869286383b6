//! A WebSocket on a stream of HTTP/2 (RFC 8441): its bytes are the stream's DATA.

use std::future::poll_fn;
use std::io;

use bytes::Bytes;
use h2::{RecvStream, SendStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};

use crate::sockets::{self, Opening};

/// Bytes on their way between the stream and the frames.
const ROOM: usize = 64 << 10;

/// Plays the socket until its client leaves.
pub(super) async fn play(down: SendStream<Bytes>, up: RecvStream, opening: Opening) {
    let (near, far) = tokio::io::duplex(ROOM);
    let (read, write) = tokio::io::split(far);
    // An error is the end of the stream, and so of the socket.
    let _ = tokio::join!(
        sockets::play(near, opening),
        take(up, write),
        give(down, read)
    );
}

async fn take(mut up: RecvStream, mut to: WriteHalf<DuplexStream>) -> io::Result<()> {
    while let Some(data) = up.data().await {
        let data = data.map_err(io::Error::other)?;
        let released = up.flow_control().release_capacity(data.len());
        released.map_err(io::Error::other)?;
        to.write_all(&data).await?;
    }
    to.shutdown().await
}

async fn give(mut down: SendStream<Bytes>, mut from: ReadHalf<DuplexStream>) -> io::Result<()> {
    let mut buffer = vec![0; ROOM];
    loop {
        let read = from.read(&mut buffer).await?;
        let mut rest = Bytes::copy_from_slice(&buffer[..read]);
        if rest.is_empty() {
            return down.send_data(rest, true).map_err(io::Error::other);
        }
        while !rest.is_empty() {
            down.reserve_capacity(rest.len());
            let Some(allowed) = poll_fn(|cx| down.poll_capacity(cx)).await else {
                return Ok(());
            };
            let allowed = allowed.map_err(io::Error::other)?.min(rest.len());
            let data = rest.split_to(allowed);
            down.send_data(data, false).map_err(io::Error::other)?;
        }
    }
}

//! The peer's unidirectional streams. Those of QPACK are read here; the others go to h3.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use quinn::{ReadError, RecvStream};
use tokio::sync::mpsc::UnboundedSender;

use crate::frames;
use crate::peer::{Peer, close};
use crate::qpack::{Broken, DECODER, ENCODER};
use crate::recv::RecvHalf;

const CONTROL: u64 = 0x00; // RFC 9114 section 6.2.1

const READ_BYTES: usize = 4096;

/// Types of the streams that have come: each QPACK stream may come once (RFC 9204 section 4.2).
type Seen = Arc<Mutex<HashSet<u64>>>;

/// Accepts streams until the connection ends; then sections that wait for insertions fail.
pub(crate) async fn accept(peer: Peer, to_h3: UnboundedSender<RecvHalf>) {
    let seen = Seen::default();
    while let Ok(stream) = peer.quinn.accept_uni().await {
        tokio::spawn(read(peer.clone(), stream, seen.clone(), to_h3.clone()));
    }
    peer.qpack.wake();
}

async fn read(peer: Peer, mut stream: RecvStream, seen: Seen, to_h3: UnboundedSender<RecvHalf>) {
    let (quinn, qpack) = (&peer.quinn, &peer.qpack);
    let mut head = BytesMut::new();
    let Ok(Some((kind, length))) = more_until(&mut stream, &mut head, kind_of).await else {
        return;
    };
    let first = seen.lock().is_ok_and(|mut seen| seen.insert(kind));
    let begun = &head[length..];
    let read = match kind {
        ENCODER | DECODER if !first => Err(Broken::SecondStream),
        ENCODER => drain(&mut stream, begun, |bytes| qpack.insert(bytes)).await,
        DECODER => drain(&mut stream, begun, |bytes| qpack.acknowledge(bytes)).await,
        CONTROL => {
            let settings = |head: &[u8]| frames::offered(&head[length..]);
            if let Ok(Some(offer)) = more_until(&mut stream, &mut head, settings).await {
                qpack.offered(offer);
            }
            let kind = head.split_to(length).freeze();
            let control = RecvHalf::control(stream, peer.clone(), kind, &head);
            // h3 is gone when the connection is.
            let _ = to_h3.send(control);
            Ok(())
        }
        _ => {
            let _ = to_h3.send(RecvHalf::begun(stream, head.freeze()));
            Ok(())
        }
    };
    if let Err(broken) = read {
        close(quinn, broken);
    }
}

/// A stream's type, and the bytes that say it: any number of RFC 9000 section 16 may be longer than it
/// has to be.
fn kind_of(head: &[u8]) -> Option<(u64, usize)> {
    let mut rest = head;
    let kind = frames::take_varint(&mut rest)?;
    Some((kind, head.len() - rest.len()))
}

/// Reads into `head` until `found` returns a value; None if the stream ends before.
async fn more_until<T>(
    stream: &mut RecvStream,
    head: &mut BytesMut,
    found: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<T>, ReadError> {
    loop {
        if let Some(found) = found(head) {
            return Ok(Some(found));
        }
        match next(stream).await? {
            Some(bytes) => head.extend_from_slice(&bytes),
            None => return Ok(None),
        }
    }
}

async fn drain(
    stream: &mut RecvStream,
    head: &[u8],
    mut take: impl FnMut(&[u8]) -> Result<(), Broken>,
) -> Result<(), Broken> {
    take(head)?;
    loop {
        match next(stream).await {
            Ok(Some(bytes)) => take(&bytes)?,
            Ok(None) | Err(ReadError::Reset(_)) => return Err(Broken::ClosedStream),
            Err(_) => return Ok(()), // the connection is over
        }
    }
}

async fn next(stream: &mut RecvStream) -> Result<Option<Bytes>, ReadError> {
    let chunk = stream.read_chunk(READ_BYTES, true).await?;
    Ok(chunk.map(|chunk| chunk.bytes))
}

//! The peer's unidirectional streams: those of QPACK end here, the others go to h3.

use bytes::{Bytes, BytesMut};
use quinn::{ReadError, RecvStream, VarInt};
use tokio::sync::mpsc::UnboundedSender;

use crate::frames;
use crate::qpack::{Broken, DECODER, ENCODER, Qpack};
use crate::transport::RecvHalf;

const CONTROL: u8 = 0x00; // RFC 9114 section 6.2.1

const READ_BYTES: usize = 4096;

/// Accepts streams until the connection ends; then sections that wait for insertions fail.
pub(crate) async fn accept(
    quinn: quinn::Connection,
    qpack: Qpack,
    to_h3: UnboundedSender<RecvHalf>,
) {
    while let Ok(stream) = quinn.accept_uni().await {
        tokio::spawn(read(quinn.clone(), stream, qpack.clone(), to_h3.clone()));
    }
    qpack.wake();
}

async fn read(
    quinn: quinn::Connection,
    mut stream: RecvStream,
    qpack: Qpack,
    to_h3: UnboundedSender<RecvHalf>,
) {
    let mut head = BytesMut::new();
    let Ok(Some(kind)) = more_until(&mut stream, &mut head, |mut head| {
        frames::take_varint(&mut head)
    })
    .await
    else {
        return;
    };
    let read = match u8::try_from(kind).unwrap_or(u8::MAX) {
        ENCODER => drain(&mut stream, &head[1..], |bytes| qpack.insert(bytes)).await,
        DECODER => drain(&mut stream, &head[1..], |bytes| qpack.acknowledge(bytes)).await,
        CONTROL => {
            let settings = |head: &[u8]| frames::offered(&head[1..]);
            if let Ok(Some(offer)) = more_until(&mut stream, &mut head, settings).await {
                qpack.offered(offer);
            }
            // h3 is gone when the connection is.
            let _ = to_h3.send(RecvHalf::begun(stream, head.freeze()));
            Ok(())
        }
        _ => {
            let _ = to_h3.send(RecvHalf::begun(stream, head.freeze()));
            Ok(())
        }
    };
    if let Err(broken) = read {
        close(&quinn, broken);
    }
}

pub(crate) fn close(quinn: &quinn::Connection, broken: Broken) {
    quinn.close(VarInt::from_u32(broken as u32), b"QPACK");
}

/// Reads into `head` until `found` has what it looks for; None if the stream ends before.
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
    while let Ok(Some(bytes)) = next(stream).await {
        take(&bytes)?;
    }
    Ok(())
}

async fn next(stream: &mut RecvStream) -> Result<Option<Bytes>, ReadError> {
    let chunk = stream.read_chunk(READ_BYTES, true).await?;
    Ok(chunk.map(|chunk| chunk.bytes))
}

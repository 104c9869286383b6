//! The half of a stream that sends, as h3 writes to it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::quic::{self, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{Dir, SendStream};

use crate::errors::{stream_id, varint, write_error};
use crate::frames;
use crate::qpack::{self, Qpack};
use crate::sender::{Sender, WeakSender};

pub struct SendHalf<B> {
    id: quinn::StreamId,
    /// The stream; None once QPACK has it.
    quinn: Option<Sender>,
    qpack: Qpack,
    writing: Option<Writing<B>>,
}

enum Writing<B> {
    Ours(Bytes),
    H3s(WriteBuf<B>),
}

impl<B> SendHalf<B> {
    pub(crate) fn new(quinn: SendStream, qpack: Qpack) -> Self {
        Self {
            id: quinn.id(),
            quinn: Some(Sender::new(quinn)),
            qpack,
            writing: None,
        }
    }
    pub(crate) fn sender(&self) -> WeakSender {
        let sender = self.quinn.as_ref();
        sender.map(Sender::downgrade).unwrap_or_default()
    }
}

impl<B: Buf> SendHalf<B> {
    /// The bytes to send to the peer in place of those that h3 wrote.
    fn translated(&mut self, mut written: WriteBuf<B>) -> Option<Writing<B>> {
        let first = written.chunk().first().copied();
        if self.id.dir() == Dir::Bi {
            if first.map(u64::from) != Some(frames::HEADERS) {
                return Some(Writing::H3s(written));
            }
            let frame = written.copy_to_bytes(written.remaining());
            let section = frames::section(frame.clone());
            let encoded = section.and_then(|section| self.qpack.encode(self.id.into(), &section));
            return Some(Writing::Ours(
                encoded.map_or(frame, |section| frames::headers(&section)),
            ));
        }
        let bytes = written.copy_to_bytes(written.remaining());
        match first.map(u64::from) {
            Some(qpack::ENCODER) => {
                let stream = self.quinn.take()?.into_stream()?;
                self.qpack.write_insertions_to(stream);
            }
            Some(qpack::DECODER) => {
                let stream = self.quinn.take()?.into_stream()?;
                self.qpack.write_acknowledgements_to(stream);
            }
            _ => {
                let offering = frames::offering(bytes.clone(), self.qpack.offer);
                return Some(Writing::Ours(offering.unwrap_or(bytes)));
            }
        }
        None
    }
}

fn write(
    quinn: &mut SendStream,
    cx: &mut Context<'_>,
    data: &mut impl Buf,
) -> Poll<Result<(), StreamErrorIncoming>> {
    while data.has_remaining() {
        let written = ready!(Pin::new(&mut *quinn).poll_write(cx, data.chunk()));
        data.advance(written.map_err(write_error)?);
    }
    Poll::Ready(Ok(()))
}

impl<B: Buf> quic::SendStream<B> for SendHalf<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let (Some(quinn), Some(data)) = (&self.quinn, &mut self.writing) {
            let quinn = &mut *quinn.stream();
            match data {
                Writing::Ours(data) => ready!(write(quinn, cx, data))?,
                Writing::H3s(data) => ready!(write(quinn, cx, data))?,
            }
            self.writing = None;
        }
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        debug_assert!(
            self.writing.is_none(),
            "h3 waits for poll_ready between writes"
        );
        self.writing = self.translated(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        let quinn = self.quinn.as_ref();
        let finished = quinn.map_or(Ok(()), |quinn| quinn.stream().finish());
        Poll::Ready(finished.map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, code: u64) {
        if let Some(quinn) = &self.quinn {
            let _ = quinn.stream().reset(varint(code));
        }
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.id)
    }
}

//! A response body for hyper: memory handed out in pieces.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::log::InFlight;
use crate::tcp::records::LARGEST;

pub(crate) struct Body {
    rest: Bytes,
    in_flight: Option<InFlight>,
    /// Whether the answer stays open after its bytes.
    open: bool,
}

impl Body {
    pub fn new(bytes: Bytes, open: bool, mut in_flight: InFlight) -> Self {
        if bytes.is_empty() {
            in_flight.finish();
        }
        Self {
            rest: bytes,
            in_flight: Some(in_flight),
            open,
        }
    }

    /// Makes an empty body, for an answer that has its own record in the log.
    pub fn none() -> Self {
        Self {
            rest: Bytes::new(),
            in_flight: None,
            open: false,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            return if this.open {
                Poll::Pending
            } else {
                Poll::Ready(None)
            };
        }
        let length = this.rest.len().min(LARGEST.into());
        let piece = this.rest.split_to(length);
        if this.rest.is_empty()
            && let Some(in_flight) = &mut this.in_flight
        {
            in_flight.finish();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && !self.open
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.rest.len() as u64;
        if self.open {
            let mut hint = SizeHint::new();
            hint.set_lower(length);
            return hint;
        }
        SizeHint::with_exact(length)
    }
}

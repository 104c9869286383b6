//! A response body for hyper: memory handed out in frames, when it is this answer's turn.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::log::InFlight;
use crate::priority::Turn;

/// One h2 DATA frame at its default limit: the grain in which answers can overtake each other.
pub(crate) const FRAME_BYTES: usize = 16 * 1024;

/// After this much an answer lets all others go first. It is less than the stream window of any
/// browser, so an answer whose reader has paused can never hold up the connection.
const LONG_BYTES: usize = 4 * 1024 * 1024;

pub(crate) struct Body {
    rest: Bytes,
    given: usize,
    turn: Option<Turn>,
    in_flight: InFlight,
}

impl Body {
    pub fn new(bytes: Bytes, turn: Option<Turn>, mut in_flight: InFlight) -> Self {
        if bytes.is_empty() {
            in_flight.finish();
        }
        let turn = turn.filter(|_| !bytes.is_empty());
        Self {
            rest: bytes,
            given: 0,
            turn,
            in_flight,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            return Poll::Ready(None);
        }
        if let Some(turn) = &mut this.turn {
            ready!(turn.poll(cx));
            if this.given < LONG_BYTES && this.given + FRAME_BYTES >= LONG_BYTES {
                turn.yield_to_all();
            }
        }
        let frame = this.rest.split_to(this.rest.len().min(FRAME_BYTES));
        this.given += frame.len();
        if this.rest.is_empty() {
            this.turn = None;
            this.in_flight.finish();
        }
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

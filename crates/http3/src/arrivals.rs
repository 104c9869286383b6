//! Information on requests that h3 does not give a server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use h3::error::Code;
use h3::quic::StreamId;

use crate::frames::{PRIORITY_UPDATE, take_varint};
use crate::sender::{Sender, WeakSender};

/// Request streams that have arrived and that no server has asked about yet, and a handler for the
/// client's later updates of them. Clones share them.
#[derive(Clone, Default)]
pub struct Streams(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Whether each stream came as 0-RTT data, and the sender of its answer.
    waiting: Mutex<HashMap<StreamId, (bool, WeakSender)>>,
    /// Called with each update; None ignores updates.
    hear: Option<Box<Hear>>,
}

/// Takes a request's stream and the value of a priority field. An error ends the connection.
type Hear = dyn Fn(StreamId, &[u8]) -> Result<(), Code> + Send + Sync;

pub struct Arrival {
    /// Whether the request came as 0-RTT data.
    pub early: bool,
    /// The sender of its answer; None if h3 has given it up.
    pub sender: Option<Sender>,
}

impl Streams {
    /// Makes the streams of a server that obeys PRIORITY_UPDATE frames (RFC 9218 section 7.2).
    pub fn hearing(
        hear: impl Fn(StreamId, &[u8]) -> Result<(), Code> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared {
            waiting: Mutex::default(),
            hear: Some(Box::new(hear)),
        }))
    }

    pub fn take(&self, id: StreamId) -> Arrival {
        let (early, sender) = self.waiting().remove(&id).unwrap_or_default();
        Arrival {
            early,
            sender: sender.upgrade(),
        }
    }

    pub(crate) fn came(&self, id: StreamId, early: bool, sender: WeakSender) {
        self.waiting().insert(id, (early, sender));
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<StreamId, (bool, WeakSender)>> {
        let waiting = &self.0.waiting;
        waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles a frame of this type from the peer, on its control stream or on another.
    pub(crate) fn update(&self, control: bool, kind: u64, mut payload: Bytes) -> Result<(), Code> {
        let Some(hear) = &self.0.hear else {
            return Ok(());
        };
        if !control {
            return Err(Code::H3_FRAME_UNEXPECTED);
        }
        let id = take_varint(&mut payload).ok_or(Code::H3_FRAME_ERROR)?;
        let id = StreamId::try_from(id).map_err(|_| Code::H3_ID_ERROR)?;
        if kind != PRIORITY_UPDATE || !id.is_request() {
            return Err(Code::H3_ID_ERROR); // this server pushes nothing
        }
        hear(id, &payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_heard_on_the_control_stream_alone_and_for_requests_alone() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = {
            let heard = heard.clone();
            move |id: StreamId, value: &[u8]| {
                heard.lock().unwrap().push((id.index(), value.to_vec()));
                Ok(())
            }
        };
        let streams = Streams::hearing(hear);
        let update = |control, kind, payload: &'static [u8]| {
            streams.update(control, kind, Bytes::from_static(payload))
        };
        assert_eq!(update(true, PRIORITY_UPDATE, b"\x08u=1"), Ok(()));
        assert_eq!(*heard.lock().unwrap(), [(2, b"u=1".to_vec())]);
        for (control, kind, payload, code) in [
            (
                false,
                PRIORITY_UPDATE,
                &b"\x08u=1"[..],
                Code::H3_FRAME_UNEXPECTED,
            ),
            (true, PRIORITY_UPDATE, b"", Code::H3_FRAME_ERROR),
            (true, PRIORITY_UPDATE, b"\x09u=1", Code::H3_ID_ERROR),
            (true, PRIORITY_UPDATE + 1, b"\x00u=1", Code::H3_ID_ERROR),
        ] {
            assert_eq!(update(control, kind, payload), Err(code));
            let deaf = Streams::default();
            assert_eq!(deaf.update(control, kind, payload.into()), Ok(()));
        }
        assert_eq!(heard.lock().unwrap().len(), 1);
    }
}

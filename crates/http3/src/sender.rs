//! The sending half of a stream, which h3 shares with other owners.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use quinn::SendStream;

/// The sending side of a stream. Its place among the connection's streams can change while quinn
/// still holds any of its bytes, even after h3 has written everything. Clones share the stream.
#[derive(Clone)]
pub struct Sender(Arc<Mutex<SendStream>>);

/// A reference that does not keep the stream alive: quinn ends a stream when its last owner is
/// gone.
#[derive(Default)]
pub(crate) struct WeakSender(Weak<Mutex<SendStream>>);

impl WeakSender {
    pub fn upgrade(&self) -> Option<Sender> {
        self.0.upgrade().map(Sender)
    }
}

impl Sender {
    pub(crate) fn new(stream: SendStream) -> Self {
        Self(Arc::new(Mutex::new(stream)))
    }

    pub(crate) fn downgrade(&self) -> WeakSender {
        WeakSender(Arc::downgrade(&self.0))
    }

    pub(crate) fn stream(&self) -> MutexGuard<'_, SendStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the stream itself, if there is no other owner.
    pub(crate) fn into_stream(self) -> Option<SendStream> {
        let stream = Arc::into_inner(self.0)?;
        Some(stream.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the stream's priority; quinn sends higher numbers first. If data waits already, the
    /// priority applies after the stream's next packet.
    pub fn set_priority(&self, number: i32) {
        // Fails only for a stream that is over.
        let _ = self.stream().set_priority(number);
    }

    /// Waits until the peer has received everything, or has stopped the stream.
    pub async fn done(&self) {
        let stopped = self.stream().stopped();
        let _ = stopped.await;
    }
}

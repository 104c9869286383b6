//! The connections that are open, so that all of them can be ended at once.

use std::sync::Mutex;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::log::unpoisoned;

/// Connections accepted between two `close` commands.
#[derive(Clone, Default)]
pub(crate) struct Generation {
    /// Fires when they are to end.
    pub ended: CancellationToken,
    /// One task per connection.
    pub tcp: TaskTracker,
    pub quic: TaskTracker,
    /// One task per request; they end because their connection does.
    pub streams: TaskTracker,
}

#[derive(Default)]
pub(crate) struct Connections(Mutex<Generation>);

impl Connections {
    pub fn current(&self) -> Generation {
        unpoisoned(&self.0).clone()
    }

    /// Ends all connections; comes back when nothing of them runs any more. Counts (tcp, quic).
    pub async fn close(&self) -> (usize, usize) {
        let old = std::mem::take(&mut *unpoisoned(&self.0));
        let counts = (old.tcp.len(), old.quic.len());
        old.ended.cancel();
        for tasks in [&old.tcp, &old.quic, &old.streams] {
            tasks.close();
            tasks.wait().await;
        }
        counts
    }
}

/// hyper runs the streams of an h2 connection on this.
impl<F> hyper::rt::Executor<F> for Generation
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, stream: F) {
        self.streams.spawn(stream);
    }
}

//! The connections that are open, so that all of them can be ended at once.

use std::sync::Mutex;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::lock::unpoisoned;

/// Connections accepted between two `close` commands.
#[derive(Clone, Default)]
pub(crate) struct Generation {
    /// Fires when these connections must end.
    pub ended: CancellationToken,
    /// Fires when these connections have ended.
    over: CancellationToken,
    /// One task per connection.
    pub tcp: TaskTracker,
    pub quic: TaskTracker,
    /// One task per request, and one for what a handshake leaves to do.
    pub streams: TaskTracker,
}

impl Generation {
    /// Answers a request, but stops when its connection has ended: an answer that is only due in
    /// minutes would not notice the end by itself.
    pub fn answer(&self, request: impl Future<Output = ()> + Send + 'static) {
        let over = self.over.clone();
        self.streams.spawn(async move {
            over.run_until_cancelled(request).await;
        });
    }
}

#[derive(Default)]
pub(crate) struct Connections(Mutex<Generation>);

impl Connections {
    pub fn current(&self) -> Generation {
        unpoisoned(&self.0).clone()
    }

    /// Ends all connections; returns when none of their tasks runs any more. Counts (tcp, quic).
    pub async fn close(&self) -> (usize, usize) {
        let old = std::mem::take(&mut *unpoisoned(&self.0));
        let counts = (old.tcp.len(), old.quic.len());
        old.ended.cancel();
        for tasks in [&old.tcp, &old.quic] {
            tasks.close();
            tasks.wait().await;
        }
        old.over.cancel();
        old.streams.close();
        old.streams.wait().await;
        counts
    }
}

//! Measures the bottleneck's real rate.

/// Shortest busy stretch that counts. The ends of a stretch are uncertain by tens of microseconds,
/// which must stay below one per cent of its length.
const SHORTEST_STRETCH_NS: u64 = 5_000_000;

/// Back-to-back stretches of the bottleneck, from the departure of the first packet to that of
/// the last: the time between them carried every packet but the first.
#[derive(Default)]
pub struct Busy {
    ns: u64,
    bytes: u64,
    open: Option<Stretch>,
}

struct Stretch {
    first_ns: u64,
    last_ns: u64,
    bytes: u64,
    /// Bytes since `last_ns` of packets that were lost after the bottleneck, where they took time
    /// too.
    unseen_bytes: u64,
}

impl Busy {
    pub fn packet(&mut self, bytes: u32, back_to_back: bool, sent_ns: Option<u64>) {
        if !back_to_back {
            self.close();
        }
        match (&mut self.open, sent_ns) {
            (Some(stretch), Some(sent_ns)) => {
                stretch.last_ns = sent_ns;
                stretch.bytes += stretch.unseen_bytes + u64::from(bytes);
                stretch.unseen_bytes = 0;
            }
            (Some(stretch), None) => stretch.unseen_bytes += u64::from(bytes),
            (None, Some(sent_ns)) => {
                self.open = Some(Stretch {
                    first_ns: sent_ns,
                    last_ns: sent_ns,
                    bytes: 0,
                    unseen_bytes: 0,
                });
            }
            (None, None) => (),
        }
    }

    /// Ends the stretch: something else crosses.
    pub fn close(&mut self) {
        (self.ns, self.bytes) = self.total();
        self.open = None;
    }

    /// Nanoseconds and bytes, the open stretch included.
    pub fn total(&self) -> (u64, u64) {
        let open = self.open.as_ref();
        let long = |s: &&Stretch| s.last_ns - s.first_ns >= SHORTEST_STRETCH_NS;
        open.filter(long).map_or((self.ns, self.bytes), |s| {
            (self.ns + s.last_ns - s.first_ns, self.bytes + s.bytes)
        })
    }
}

//! Frames that the kernel dropped between the link and an end: losses that the model never decided.
//!
//! A veth that cannot pass a frame on counts it at both ends, as dropped on sending and on
//! receiving. So the counters of the link's own two interfaces cover all four paths.

use std::fs;

use crate::meter::Report;
use crate::socket::Interface;

/// Fields of a line of /proc/net/dev (proc(5)) behind its name.
const RECEIVED_DROPPED: usize = 3;
const SENT_DROPPED: usize = 11;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Counter {
    received: u64,
    sent: u64,
}

/// What the kernel dropped on both interfaces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drops {
    client: Counter,
    origin: Counter,
}

impl Drops {
    /// Reads the counts since each interface began; None if the kernel does not say.
    pub fn read(client: &Interface, origin: &Interface) -> Option<Self> {
        // That of this thread: the process may have been started in another namespace.
        let told = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
        Some(Self {
            client: counter(&told, &client.name)?,
            origin: counter(&told, &origin.name)?,
        })
    }

    /// Packets dropped since the counts in `before`; None if a counter was reset.
    pub fn since(&self, before: &Self) -> Option<Self> {
        let spent = |now: Counter, then: Counter| {
            Some(Counter {
                received: now.received.checked_sub(then.received)?,
                sent: now.sent.checked_sub(then.sent)?,
            })
        };
        Some(Self {
            client: spent(self.client, before.client)?,
            origin: spent(self.origin, before.origin)?,
        })
    }

    /// Adds the drops to the reports. Since version 6.6 the kernel returns a frame that it counts
    /// as dropped, so that frame is not lost silently.
    pub fn tell(&self, up: &mut Report, down: &mut Report) {
        for (report, from, to) in [
            (up, self.client, self.origin),
            (down, self.origin, self.client),
        ] {
            report.lost_before = Some(from.received);
            report.lost_behind = Some(to.sent.saturating_sub(report.send_retries));
        }
    }
}

fn counter(told: &str, name: &str) -> Option<Counter> {
    let line = told
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    let field = |place| line.split_whitespace().nth(place)?.parse().ok();
    Some(Counter {
        received: field(RECEIVED_DROPPED)?,
        sent: field(SENT_DROPPED)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Meter;
    use crate::model::Counts;

    const TOLD: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
client:    5400      60    1    7    2     3          4         5   6000      50    1    9    2     3       4          5
client2:      1       1    1    1    1     1          1         1      1       1    1    1    1     1       1          1
";

    #[test]
    fn an_interfaces_drops_are_read_by_its_whole_name() {
        let (received, sent) = (7, 9);
        assert_eq!(counter(TOLD, "client"), Some(Counter { received, sent }));
        assert_eq!(counter(TOLD, "origin"), None);
        assert_eq!(counter(TOLD, "clien"), None);
    }

    #[test]
    fn each_direction_reports_both_its_stretches_and_a_frame_sent_again_is_not_lost() {
        let drops = |client: (u64, u64), origin: (u64, u64)| Drops {
            client: Counter {
                received: client.0,
                sent: client.1,
            },
            origin: Counter {
                received: origin.0,
                sent: origin.1,
            },
        };
        let (before, after) = (drops((1, 2), (3, 4)), drops((11, 22), (33, 44)));
        assert_eq!(before.since(&after), None);
        let mut down = Meter::default();
        down.handed_back();
        let [mut up, mut down] =
            [Meter::default(), down].map(|meter| meter.report(0, Counts::default(), 0));
        after.since(&before).unwrap().tell(&mut up, &mut down);
        assert_eq!((up.lost_before, up.lost_behind), (Some(10), Some(40)));
        assert_eq!((down.lost_before, down.lost_behind), (Some(30), Some(19)));
    }
}

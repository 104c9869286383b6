//! The state of one connection's sending, which its controller, its socket and the log share.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::algorithms::{Congestion, SlowStartExit};
use crate::lock::unpoisoned;
use crate::quic::departures::Departures;
use crate::quic::ecn::Counts;

/// Linux does not pace a connection's first packets, the handshake's included
/// (`tcp_update_skb_after_send`). A fine sender paces as soon as it knows its round trip.
const FREE_PACKETS: u32 = 10;

/// Time that may be made up for by sending the next packets sooner: two ticks of tokio's clock, and
/// more if the last packet was held, because then the clock, not the application, was late.
const CREDIT: Duration = Duration::from_millis(2);
const HELD_CREDIT: Duration = Duration::from_millis(10);
/// What a scalable sender may send at once: RFC 9331 section 4.3 asks for short bursts, and 250 us
/// is the draft's.
const FINE_CREDIT: Duration = Duration::from_micros(250);
/// Nothing is held longer, whatever the rate.
const LONGEST: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Flow(Mutex<State>);

#[derive(Debug)]
struct State {
    view: View,
    sent: u32,
    due: Instant,
    next: Instant,
    held: bool,
    departures: Departures,
    /// Whether the packet that is being made has nothing that the peer must acknowledge.
    only_acknowledges: bool,
    /// Whether the packet that is about to leave has nothing that the peer must acknowledge, so it
    /// is not paced.
    unpaced: bool,
    /// Whether the congestion window has no room.
    full: bool,
    /// Whether one packet may leave although the window is full.
    granted: bool,
    /// What the client counted, by space.
    counted: [Counts; 3],
}

/// Packet number spaces (RFC 9000 section 12.3): each has its own counts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Space {
    Initial,
    Handshake,
    Data,
}

/// The controller's current state, in bytes and bytes per second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub congestion: Congestion,
    /// What ends slow start; None for a congestion control that has no such exit.
    pub slow_start_exit: Option<SlowStartExit>,
    /// UDP payload of a full packet.
    pub packet_bytes: u64,
    /// The first window, in packets of the size that was full then; a sender may fall back to
    /// smaller packets later.
    pub initial_window_packets: u64,
    pub window: u64,
    /// Pacing rate; None if packets leave as fast as the window allows.
    pub rate: Option<f64>,
    /// Round trip without the time that packets waited for the clock; None until one is measured.
    pub rtt: Option<Duration>,
    /// Whether packets must leave evenly within a millisecond too.
    pub fine: bool,
}

impl Flow {
    pub fn new(view: View) -> Self {
        let now = Instant::now();
        Self(Mutex::new(State {
            view,
            sent: 0,
            due: now,
            next: now,
            held: false,
            departures: Departures::default(),
            only_acknowledges: false,
            unpaced: false,
            full: false,
            granted: false,
            counted: [Counts::default(); 3],
        }))
    }

    /// Returns the time until which the newest packet must wait; None if it leaves now.
    pub fn hold(&self) -> Option<Instant> {
        let mut state = unpoisoned(&self.0);
        let now = Instant::now();
        let early = state.due > now;
        if early {
            state.held = true;
        } else if !state.unpaced {
            state.departures.left(now);
        }
        early.then_some(state.due)
    }

    /// Returns how long the packet made at `made` waited. That packet is acknowledged, so older
    /// records are dropped.
    pub fn held(&self, made: Instant) -> Duration {
        unpoisoned(&self.0).departures.held(made)
    }

    pub fn view(&self) -> View {
        unpoisoned(&self.0).view
    }

    /// Records the client's counts for a packet number space.
    pub fn count(&self, space: Space, counts: Counts) {
        let known = &mut unpoisoned(&self.0).counted[space as usize];
        *known = known.later(counts);
    }

    /// What the client counted in all.
    pub fn counted(&self) -> Counts {
        let [initial, handshake, data] = unpoisoned(&self.0).counted;
        initial.and(handshake).and(data)
    }

    /// Packets sent so far, without those that only acknowledge.
    pub fn sent(&self) -> u32 {
        unpoisoned(&self.0).sent
    }

    /// Lets one packet leave although the window is full, as RFC 9002 section 7.5 allows for a
    /// probe.
    pub fn grant(&self) {
        let mut state = unpoisoned(&self.0);
        state.granted = state.full;
    }

    pub fn granted(&self) -> bool {
        unpoisoned(&self.0).granted
    }

    /// Notes whether the packet that is being made only acknowledges.
    pub fn make(&self, only_acknowledges: bool) {
        unpoisoned(&self.0).only_acknowledges = only_acknowledges;
    }

    /// Lets the packet that was just made leave at once if it only acknowledges; returns whether it
    /// does.
    pub fn on_acknowledging(&self, now: Instant) -> bool {
        let mut state = unpoisoned(&self.0);
        state.unpaced = std::mem::take(&mut state.only_acknowledges);
        if state.unpaced {
            state.due = now;
        }
        state.unpaced
    }

    pub fn publish(&self, view: View, full: bool) {
        let mut state = unpoisoned(&self.0);
        state.view = view;
        state.full = full;
    }

    /// Notes that a packet was made, and sets when it may leave at the rate.
    pub fn on_sent(&self, now: Instant, bytes: u64) {
        let mut state = unpoisoned(&self.0);
        state.departures.made(now);
        state.sent = state.sent.saturating_add(1);
        state.granted = false;
        state.due = now;
        let free = if state.view.fine {
            state.view.rtt.is_none()
        } else {
            state.sent <= FREE_PACKETS
        };
        let Some(rate) = state.view.rate.filter(|_| !free) else {
            return;
        };
        let credit = match (state.view.fine, state.held) {
            (true, _) => FINE_CREDIT,
            (false, true) => HELD_CREDIT,
            (false, false) => CREDIT,
        };
        state.held = false;
        let earliest = now.checked_sub(credit).unwrap_or(now);
        state.due = state.next.max(earliest);
        let gap = (bytes as f64 / rate).min(LONGEST.as_secs_f64());
        state.next = state.due + Duration::from_secs_f64(gap);
    }
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod tests;

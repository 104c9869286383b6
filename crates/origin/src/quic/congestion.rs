//! What decides when a QUIC connection may send: a congestion controller, and a clock that paces.
//!
//! quinn paces every controller by its window, at 1.25 windows a round trip and in bursts of ten
//! packets. A BBR that cannot set its own rate is no BBR, and the kernel paces CUBIC differently. So
//! `Steered` reports a window so large to quinn that its pacer does nothing (it does for windows
//! above 4 GiB) until the real window is full, and the connection's `Flow` says when each packet
//! may leave; `PacedSocket` holds it back until then.

use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quinn::congestion::{
    Controller, ControllerFactory, ControllerMetrics, Cubic, CubicConfig, NewReno, NewRenoConfig,
};
use quinn_proto::RttEstimator;

use crate::log::unpoisoned;
use crate::quic::bbr::Bbr;
use crate::tuning::Congestion;

/// quinn's pacer lets everything pass that has a larger window than u32::MAX.
const UNPACED: u64 = 1 << 40;

/// Linux paces at twice the window per round trip until half the slow start threshold, then at 1.2
/// (`tcp_update_pacing_rate`); quinn's CUBIC gets the same.
const SLOW_START_GAIN: f64 = 2.0;
const AVOIDANCE_GAIN: f64 = 1.2;

/// Linux does not pace a connection's first packets either (`tcp_update_skb_after_send`).
const FREE_PACKETS: u32 = 10;

/// Time that may be made up for by sending the next packets sooner: two ticks of tokio's clock, and
/// more if the last packet was held, for then the clock, not the application, was late.
const CREDIT: Duration = Duration::from_millis(2);
const HELD_CREDIT: Duration = Duration::from_millis(10);
/// Nothing is held longer, whatever the rate.
const LONGEST: Duration = Duration::from_secs(1);

/// One connection's sending, as its controller, the socket and the log share it.
#[derive(Debug)]
pub(crate) struct Flow(Mutex<State>);

#[derive(Debug, Clone)]
struct State {
    view: View,
    sent: u32,
    due: Instant,
    next: Instant,
    held: bool,
    /// The window has no room.
    full: bool,
    /// One packet may leave though it has none.
    granted: bool,
}

/// What the controller does now. Bytes and bytes per second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub congestion: Congestion,
    /// UDP payload of a full packet.
    pub packet_bytes: u64,
    /// In packets of the size that was full then; a sender may fall back to smaller ones later.
    pub initial_window_packets: u64,
    pub window: u64,
    /// None if packets leave as fast as the window allows.
    pub rate: Option<f64>,
}

impl Flow {
    /// Until when the packet that was made last must wait; None if it may leave.
    pub fn hold(&self) -> Option<Instant> {
        let mut state = unpoisoned(&self.0);
        let early = state.due > Instant::now();
        state.held |= early;
        early.then_some(state.due)
    }

    pub fn view(&self) -> View {
        unpoisoned(&self.0).view
    }

    /// Packets sent so far.
    pub fn sent(&self) -> u32 {
        unpoisoned(&self.0).sent
    }

    /// If the window is full, lets one packet leave all the same, as RFC 9002 section 7.5 lets a
    /// probe.
    pub fn grant(&self) {
        let mut state = unpoisoned(&self.0);
        state.granted = state.full;
    }

    fn granted(&self) -> bool {
        unpoisoned(&self.0).granted
    }

    fn on_sent(&self, now: Instant, bytes: u64) {
        let mut state = unpoisoned(&self.0);
        state.sent = state.sent.saturating_add(1);
        state.granted = false;
        state.due = now;
        let Some(rate) = state.view.rate.filter(|_| state.sent > FREE_PACKETS) else {
            return;
        };
        let credit = if state.held { HELD_CREDIT } else { CREDIT };
        state.held = false;
        let earliest = now.checked_sub(credit).unwrap_or(now);
        state.due = state.next.max(earliest);
        let gap = (bytes as f64 / rate).min(LONGEST.as_secs_f64());
        state.next = state.due + Duration::from_secs_f64(gap);
    }
}

/// What makes a controller; its flow can be had before the connection exists.
pub(crate) struct Steering {
    pub congestion: Congestion,
    pub initial_window: u64,
    pub initial_rtt: Duration,
    pub pacing: bool,
    pub flow: Arc<Flow>,
}

impl Steering {
    /// `initial_window` counts packets of `packet_bytes`.
    pub fn new(
        congestion: Congestion,
        initial_window: u64,
        packet_bytes: u64,
        initial_rtt: Duration,
        pacing: bool,
    ) -> Self {
        let now = Instant::now();
        let initial_window_packets = initial_window;
        let initial_window = initial_window_packets * packet_bytes;
        let view = View {
            congestion,
            packet_bytes,
            initial_window_packets,
            window: initial_window,
            rate: None,
        };
        Self {
            congestion,
            initial_window,
            initial_rtt,
            pacing,
            flow: Arc::new(Flow(Mutex::new(State {
                view,
                sent: 0,
                due: now,
                next: now,
                held: false,
                full: false,
                granted: false,
            }))),
        }
    }
}

impl ControllerFactory for Steering {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let window = self.initial_window;
        let law = match self.congestion {
            Congestion::Cubic => {
                let mut config = CubicConfig::default();
                config.initial_window(window);
                Law::Window(Arc::new(config).build(now, mtu))
            }
            Congestion::Reno => {
                let mut config = NewRenoConfig::default();
                config.initial_window(window);
                Law::Window(Arc::new(config).build(now, mtu))
            }
            Congestion::Bbr => {
                let seed = RandomState::new().hash_one(0);
                let bbr = Bbr::new(now, mtu.into(), window, self.initial_rtt, seed);
                Law::Bbr(Box::new(bbr))
            }
        };
        let steered = Steered {
            law,
            initial_mtu: mtu.into(),
            mtu: mtu.into(),
            in_flight: 0,
            rtt: self.initial_rtt,
            measured: false,
            pacing: self.pacing,
            flow: self.flow.clone(),
        };
        steered.publish();
        Box::new(steered)
    }
}

enum Law {
    Window(Box<dyn Controller>),
    Bbr(Box<Bbr>),
}

struct Steered {
    law: Law,
    initial_mtu: u64,
    mtu: u64,
    /// Between acknowledgements a little too high: quinn also tells of packets that do not count.
    in_flight: u64,
    rtt: Duration,
    /// It is no longer the one that was assumed.
    measured: bool,
    pacing: bool,
    flow: Arc<Flow>,
}

impl Steered {
    fn real_window(&self) -> u64 {
        match &self.law {
            Law::Window(inner) => inner.window(),
            Law::Bbr(bbr) => bbr.window(),
        }
    }

    fn rate(&self) -> f64 {
        match &self.law {
            Law::Bbr(bbr) => bbr.pacing_rate(),
            Law::Window(inner) => {
                let window = inner.window();
                let threshold = inner.metrics().ssthresh.unwrap_or(u64::MAX);
                let gain = if window < threshold / 2 {
                    SLOW_START_GAIN
                } else {
                    AVOIDANCE_GAIN
                };
                gain * window as f64 / self.rtt.as_secs_f64().max(1e-6)
            }
        }
    }

    /// quinn tells of the handshake's acknowledgement before it has taken the round trip from it, and
    /// until the first answer is acknowledged there may be no other.
    fn take_round_trip(&mut self, estimated: Duration, sample: Duration) {
        self.rtt = if self.measured { estimated } else { sample };
        self.measured = true;
    }

    /// What runs, not what was requested.
    fn congestion(&self) -> Congestion {
        match &self.law {
            Law::Bbr(_) => Congestion::Bbr,
            Law::Window(inner) => {
                let inner = inner.clone_box().into_any();
                if inner.is::<Cubic>() {
                    Congestion::Cubic
                } else {
                    debug_assert!(inner.is::<NewReno>());
                    Congestion::Reno
                }
            }
        }
    }

    fn publish(&self) {
        let view = View {
            congestion: self.congestion(),
            packet_bytes: self.mtu,
            initial_window_packets: self.initial_window() / self.initial_mtu,
            window: self.real_window(),
            rate: self.pacing.then(|| self.rate()),
        };
        let mut state = unpoisoned(&self.flow.0);
        state.view = view;
        state.full = !self.has_room();
    }

    /// RFC 9002 section 7: a window may be filled to its last byte. quinn leaves one free.
    fn has_room(&self) -> bool {
        self.in_flight + self.mtu <= self.real_window()
    }
}

impl Controller for Steered {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        match &mut self.law {
            Law::Window(inner) => inner.on_sent(now, bytes, last_packet_number),
            Law::Bbr(bbr) => bbr.on_sent(now, self.in_flight),
        }
        self.in_flight += bytes;
        self.publish();
        self.flow.on_sent(now, bytes);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.take_round_trip(rtt.get(), now.saturating_duration_since(sent));
        match &mut self.law {
            Law::Window(inner) => inner.on_ack(now, sent, bytes, app_limited, rtt),
            Law::Bbr(bbr) => bbr.on_acked(now, sent, bytes),
        }
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.in_flight = in_flight;
        match &mut self.law {
            Law::Window(inner) => {
                inner.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked)
            }
            Law::Bbr(bbr) => bbr.on_acks_end(now, in_flight, app_limited),
        }
        self.publish();
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.in_flight = self.in_flight.saturating_sub(lost_bytes);
        match &mut self.law {
            Law::Window(inner) => {
                inner.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes)
            }
            Law::Bbr(bbr) => bbr.on_lost(now, is_persistent_congestion, lost_bytes),
        }
        self.publish();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu.into();
        match &mut self.law {
            Law::Window(inner) => inner.on_mtu_update(new_mtu),
            Law::Bbr(bbr) => bbr.set_mtu(new_mtu.into()),
        }
    }

    fn window(&self) -> u64 {
        if self.has_room() || self.flow.granted() {
            UNPACED
        } else {
            self.real_window()
        }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = match &self.law {
            Law::Window(inner) => inner.metrics(),
            Law::Bbr(_) => ControllerMetrics::default(),
        };
        metrics.congestion_window = self.real_window();
        metrics.pacing_rate = self.pacing.then(|| (self.rate() * 8.0) as u64);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            law: match &self.law {
                Law::Window(inner) => Law::Window(inner.clone_box()),
                Law::Bbr(bbr) => Law::Bbr(bbr.clone()),
            },
            flow: self.flow.clone(),
            ..*self
        })
    }

    fn initial_window(&self) -> u64 {
        match &self.law {
            Law::Window(inner) => inner.initial_window(),
            Law::Bbr(bbr) => bbr.initial_window(),
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
#[path = "congestion_tests.rs"]
mod tests;

//! Decides when a QUIC connection may send: a congestion controller, and a clock that paces.
//!
//! quinn paces every controller by its window, at 1.25 windows a round trip and in bursts of ten
//! packets. But BBR must set its own rate, and the kernel paces CUBIC differently. So until the
//! real window is full, `Steered` reports to quinn a window above 4 GiB, for which quinn's pacer
//! does nothing. The connection's `Flow` says when each packet may be sent, and `PacedSocket` holds
//! it back until then.

use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;

use crate::algorithms::{Congestion, SlowStartExit};
use crate::quic::bbr::Bbr;
use crate::quic::bbr3::Bbr3;
use crate::quic::flow::{Flow, View};
use crate::quic::law::{Batch, Law, Loss};
use crate::quic::prague::Prague;
use crate::quic::window::Window;

/// The window that quinn sees where packets must leave unpaced: quinn's pacer lets everything pass
/// when the window is larger than u32::MAX.
const UNPACED: u64 = 1 << 40;

/// How a connection should send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sending {
    pub congestion: Congestion,
    /// Initial congestion window, in packets of `packet_bytes`.
    pub initial_window: u64,
    pub packet_bytes: u64,
    /// Round trip assumed until one is measured.
    pub initial_rtt: Duration,
    pub pacing: bool,
    pub slow_start_exit: SlowStartExit,
}

/// Makes a congestion controller. The controller's `flow` is available before the connection
/// exists.
pub(crate) struct Steering {
    pub sending: Sending,
    pub flow: Arc<Flow>,
}

impl Steering {
    pub fn new(sending: Sending) -> Self {
        let view = View {
            congestion: sending.congestion,
            slow_start_exit: None,
            packet_bytes: sending.packet_bytes,
            initial_window_packets: sending.initial_window,
            window: sending.initial_window * sending.packet_bytes,
            rate: None,
            rtt: None,
            fine: false,
        };
        Self {
            sending,
            flow: Arc::new(Flow::new(view)),
        }
    }
}

impl ControllerFactory for Steering {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let sending = self.sending;
        let mtu = u64::from(mtu);
        let window = sending.initial_window * sending.packet_bytes;
        let law: Box<dyn Law> = match sending.congestion {
            Congestion::Bbr => {
                let seed = RandomState::new().hash_one(0);
                Box::new(Bbr::new(now, mtu, window, sending.initial_rtt, seed))
            }
            Congestion::Bbr3 => {
                let seed = RandomState::new().hash_one(0);
                Box::new(Bbr3::new(now, mtu, window, sending.initial_rtt, seed))
            }
            Congestion::Prague => Box::new(Prague::new(now, mtu, window)),
            _ => Box::new(Window::new(
                sending.congestion,
                sending.slow_start_exit,
                sending.pacing,
                mtu,
                window,
                now,
            )),
        };
        let steered = Steered {
            law,
            initial_mtu: mtu,
            mtu,
            in_flight: 0,
            rtt: RoundTrip::assumed(sending.initial_rtt),
            pacing: sending.pacing,
            flow: self.flow.clone(),
        };
        steered.publish();
        Box::new(steered)
    }
}

struct Steered {
    law: Box<dyn Law>,
    initial_mtu: u64,
    mtu: u64,
    in_flight: u64,
    rtt: RoundTrip,
    pacing: bool,
    flow: Arc<Flow>,
}

/// The round trip used for pacing: quinn's smoothed one minus the time that packets waited for the
/// clock.
#[derive(Debug, Clone, Copy)]
struct RoundTrip {
    rtt: Duration,
    /// Whether a batch of acknowledgements is complete. During the first batch quinn still has the
    /// round trip that was assumed, and no other batch may come until the first answer has arrived.
    measured: bool,
    /// How long the newest packet of this batch was held back.
    newest: Option<Duration>,
    /// How long packets were held back, smoothed as quinn smooths round trips.
    held: Duration,
}

impl RoundTrip {
    fn assumed(rtt: Duration) -> Self {
        Self {
            rtt,
            measured: false,
            newest: None,
            held: Duration::ZERO,
        }
    }

    /// Notes that a packet was acknowledged `sample` after it left. `estimated` does not contain
    /// that sample yet.
    fn acked(&mut self, estimated: Duration, sample: Duration, held: Duration) {
        self.rtt = if self.measured {
            estimated.saturating_sub(self.held)
        } else {
            sample
        };
        self.newest = Some(held);
    }

    /// Notes that the batch is complete, for which quinn takes the round trip from the newest
    /// packet.
    fn batch_ends(&mut self) {
        if let Some(held) = self.newest.take() {
            self.held = if self.measured {
                (7 * self.held + held) / 8
            } else {
                held
            };
            self.measured = true;
        }
    }
}

impl Steered {
    fn rate(&self) -> f64 {
        self.law.rate(self.rtt.rtt, self.in_flight)
    }

    fn publish(&self) {
        let view = View {
            congestion: self.law.congestion(),
            slow_start_exit: self.law.slow_start_exit(),
            packet_bytes: self.mtu,
            initial_window_packets: self.law.initial_window() / self.initial_mtu,
            window: self.law.window(),
            rate: self.pacing.then(|| self.rate()),
            rtt: self.rtt.measured.then_some(self.rtt.rtt),
            fine: self.law.fine(),
        };
        self.flow.publish(view, !self.has_room());
    }

    /// Whether another packet fits into the window. RFC 9002 section 7: a window may be filled to
    /// its last byte, but quinn leaves one byte free.
    fn has_room(&self) -> bool {
        self.in_flight + self.mtu <= self.law.window()
    }
}

impl Controller for Steered {
    fn on_sent(&mut self, now: Instant, bytes: u64, _: u64) {
        if self.flow.on_acknowledging(now) {
            return; // RFC 9002 section 2: it is not in flight. Section 7.7: nor is it paced.
        }
        self.law.on_sent(now, self.in_flight, bytes);
        self.in_flight += bytes;
        self.publish();
        self.flow.on_sent(now, bytes);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _: bool, rtt: &RttEstimator) {
        let held = self.flow.held(sent);
        let sample = now.saturating_duration_since(sent + held);
        self.rtt.acked(rtt.get(), sample, held);
        self.law.on_acked(now, sent, sample, bytes);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        self.in_flight = in_flight;
        self.rtt.batch_ends();
        self.law.on_acks_end(Batch {
            now,
            in_flight,
            app_limited,
            marks: self.flow.counted().ce,
        });
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
        // Nothing lost means that a packet was marked.
        if lost_bytes == 0 {
            self.law.on_marked(now, sent, self.in_flight);
        } else {
            self.law.on_lost(Loss {
                now,
                sent,
                persistent: is_persistent_congestion,
                bytes: lost_bytes,
                in_flight: self.in_flight,
            });
        }
        self.publish();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu.into();
        self.law.set_mtu(self.mtu);
    }

    fn window(&self) -> u64 {
        if self.has_room() || self.flow.granted() {
            UNPACED
        } else {
            self.law.window()
        }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.law.window();
        metrics.ssthresh = self.law.threshold();
        metrics.pacing_rate = self.pacing.then(|| (self.rate() * 8.0) as u64);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            law: self.law.boxed(),
            flow: self.flow.clone(),
            ..*self
        })
    }

    fn initial_window(&self) -> u64 {
        self.law.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
#[path = "congestion_tests.rs"]
mod tests;

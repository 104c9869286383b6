//! Measures what one direction really did, by the actual clock and not by its configuration.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::busy::Busy;
use crate::far::{FarCount, FarEnd, FarEnds};
use crate::flights::{FlightCourse, Flights};
use crate::header::Ecn;
use crate::model::effects::CAUSES;
use crate::model::{Counts, DropCause, HostCount, Packet, QueueCount};
use crate::timeline::{Course, Timeline};
use crate::units::times;

/// One direction of the answer to `stats`, as `dragstrip.model.visit.DirectionReport`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub packets_in: u64,
    pub bytes_in: u64,
    pub packets_out: u64,
    pub bytes_out: u64,
    /// Number of packets by name: `dropped_CAUSE` for each cause of a drop, and what single effects
    /// count.
    #[serde(flatten)]
    pub by_effect: BTreeMap<String, u64>,
    /// Packets that reached the loss stage.
    pub loss_trials: u64,
    /// The fate of each packet at the loss stage, by index: `model::Fates`.
    pub loss_fates: String,
    pub host_loss: Vec<HostCount>,
    /// Counts of loss in bursts: packets that met the bad state, packets of these that were lost, how
    /// long the bad state lasted, and how long the chain ran. Times are None if the chain steps
    /// with packets.
    pub burst_trials: Option<u64>,
    pub burst_lost: Option<u64>,
    pub burst_ms: Option<f64>,
    pub burst_watched_ms: Option<f64>,
    pub marked: u64,
    /// Packets sent on whose sender understands ECN: ECT or CE (RFC 3168 section 5).
    pub ect: u64,
    /// Packets of `ect` that arrived as ECT(1); the next field counts those that arrived as CE.
    pub ect1: u64,
    pub ce: u64,
    /// What each queue did, for a bottleneck with several queues.
    pub queues: Vec<QueueReport>,
    pub duplicated: u64,
    pub reordered: u64,
    /// Packets that the kernel refused to send, after retries.
    pub send_failures: u64,
    /// Number of times that the kernel returned a frame, which was then sent again or given up.
    pub send_retries: u64,
    /// Frames that the kernel dropped silently between the sending end and the link; the next field
    /// counts those between the link and the other end. None if the kernel does not report them.
    pub lost_before: Option<u64>,
    pub lost_behind: Option<u64>,
    pub queued: u64,
    pub largest_frame_bytes: u64,
    pub ring_drops: u64,
    /// Median time in ms that packets waited for the bottleneck; None if no packet passed a
    /// bottleneck.
    pub queue_p50_ms: Option<f64>,
    pub queue_p99_ms: Option<f64>,
    pub queue_max_ms: f64,
    pub busy_ms: f64,
    pub busy_bytes: u64,
    /// Time in ms that the bottleneck took for `line_bytes`, by the model's clock.
    pub line_ms: f64,
    pub line_bytes: u64,
    pub transit_min_ms: Option<f64>,
    /// Least time in ms that a packet spent in the link, without waiting for the bottleneck and
    /// crossing it.
    pub flight_min_ms: Option<f64>,
    pub lateness_p50_us: Option<f64>,
    pub lateness_p99_us: Option<f64>,
    pub lateness_max_us: Option<f64>,
    /// Traffic by far end.
    pub far_ends: Vec<FarCount>,
    /// Traffic over time; None if no packet came.
    pub timeline: Option<Course>,
    /// How long packets took besides the bottleneck, over time; None unless that follows a
    /// recording or a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flights: Option<FlightCourse>,
    /// Packets that passed the link without emulation; None if the link shapes every packet.
    pub unshaped: Option<Unshaped>,
}

/// Packets of ports that the link does not shape. No other count includes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Unshaped {
    pub packets: u64,
    /// Layer 3 bytes of `packets`.
    pub bytes: u64,
    /// Packets that the kernel refused to send.
    pub lost: u64,
}

impl Unshaped {
    pub fn passed(&mut self, bytes: u64, sent: bool) {
        if sent {
            self.packets += 1;
            self.bytes += bytes;
        } else {
            self.lost += 1;
        }
    }
}

/// One queue, as `dragstrip.model.visit.QueueReport`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueReport {
    pub queue: &'static str,
    pub packets: u64,
    pub bytes: u64,
    pub marked: u64,
    pub dropped: u64,
    pub wait_p50_ms: f64,
    pub wait_p99_ms: f64,
    pub wait_max_ms: f64,
}

/// Counts packets as they arrive and leave.
pub struct Meter {
    packets_in: u64,
    bytes_in: u64,
    packets_out: u64,
    bytes_out: u64,
    /// Number of dropped packets by cause.
    dropped: BTreeMap<&'static str, u64>,
    marked: u64,
    /// Number of packets sent on, by the ECN code point with which they arrived.
    ecn: [u64; 4],
    reordered: u64,
    /// One more than the highest index sent.
    beyond: u64,
    send_failures: u64,
    send_retries: u64,
    largest_frame_bytes: u64,
    waits_ns: Histogram<u64>,
    wait_max_ns: u64,
    transit_min_ns: u64,
    flight_min_ns: u64,
    busy: Busy,
    line_ns: u64,
    line_bytes: u64,
    lateness_ns: Histogram<u64>,
    far_ends: FarEnds,
    timeline: Timeline,
    flights: Flights,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            packets_in: 0,
            bytes_in: 0,
            packets_out: 0,
            bytes_out: 0,
            dropped: CAUSES
                .concat()
                .iter()
                .map(|cause| (cause.name, 0))
                .collect(),
            marked: 0,
            ecn: [0; 4],
            reordered: 0,
            beyond: 0,
            send_failures: 0,
            send_retries: 0,
            largest_frame_bytes: 0,
            waits_ns: times(),
            wait_max_ns: 0,
            transit_min_ns: u64::MAX,
            flight_min_ns: u64::MAX,
            busy: Busy::default(),
            line_ns: 0,
            line_bytes: 0,
            lateness_ns: times(),
            far_ends: FarEnds::default(),
            timeline: Timeline::default(),
            flights: Flights::default(),
        }
    }
}

impl QueueReport {
    fn of(count: &QueueCount) -> Self {
        let ms = |ns: u64| ns as f64 / 1e6;
        Self {
            queue: count.queue,
            packets: count.packets,
            bytes: count.bytes,
            marked: count.marked,
            dropped: count.dropped,
            wait_p50_ms: ms(count.p50_ns),
            wait_p99_ms: ms(count.p99_ns),
            wait_max_ms: ms(count.max_ns),
        }
    }
}

impl Report {
    /// Leaves out what only the report of a whole visit has.
    #[must_use]
    pub fn of_phase(self) -> Self {
        Self {
            loss_fates: String::new(),
            far_ends: Vec::new(),
            timeline: None,
            flights: None,
            queued: 0,
            ..self
        }
    }
}

impl Meter {
    /// Counts a packet that came in; returns its index.
    pub fn arrived(&mut self, frame_bytes: usize, packet_bytes: u32) -> u64 {
        let index = self.packets_in;
        self.packets_in += 1;
        self.bytes_in += u64::from(packet_bytes);
        self.largest_frame_bytes = self.largest_frame_bytes.max(frame_bytes as u64);
        index
    }

    /// Records from now on how long packets take over time, counted from `zero_ns`.
    pub fn record_flights(&mut self, zero_ns: u64) {
        self.flights.begin(zero_ns);
    }

    /// Returns the index under which a far end's packets are counted, see [`Packet::far`].
    pub fn place(&mut self, end: FarEnd) -> Option<u32> {
        self.far_ends.place(end)
    }

    /// Records that early data began in a packet that arrived.
    pub fn early(&mut self, packet: &Packet) {
        self.far_ends.early(packet);
    }

    /// Counts a packet that was sent at `actual_ns`.
    pub fn sent(&mut self, packet: &Packet, actual_ns: u64) {
        self.packets_out += 1;
        self.bytes_out += u64::from(packet.bytes);
        let transit_ns = actual_ns.saturating_sub(packet.arrival_ns);
        self.transit_min_ns = self.transit_min_ns.min(transit_ns);
        let bottleneck_ns = packet.waited_ns.unwrap_or(0) + packet.line_ns;
        let flight_ns = transit_ns.saturating_sub(bottleneck_ns);
        self.flight_min_ns = self.flight_min_ns.min(flight_ns);
        self.far_ends.sent(packet, transit_ns);
        self.timeline.sent(packet, actual_ns);
        self.flights.sent(packet, bottleneck_ns, flight_ns);
        let lateness_ns = actual_ns.saturating_sub(packet.at_ns);
        self.lateness_ns.saturating_record(lateness_ns);
        self.marked += u64::from(packet.marked);
        self.ecn[packet.header.ecn as usize] += 1;
        self.reordered += u64::from(packet.index < self.beyond && !packet.copy);
        self.beyond = self.beyond.max(packet.index + 1);
        self.passed_bottleneck(packet, Some(actual_ns));
    }

    /// Counts the cause of a drop, but not its packet.
    pub fn lost(&mut self, cause: DropCause) {
        *self.dropped.entry(cause.name).or_default() += 1;
    }

    /// Notes that a packet left whose times are not measured.
    pub fn straddled(&mut self) {
        self.busy.close();
    }

    /// Counts a packet that the model dropped.
    pub fn dropped(&mut self, packet: &Packet, cause: DropCause) {
        self.lost(cause);
        self.far_ends.dropped(packet);
        if cause.in_queue {
            self.timeline.dropped(packet);
        }
        self.passed_bottleneck(packet, None);
    }

    /// Counts a packet that the kernel would not send.
    pub fn refused(&mut self, packet: &Packet) {
        self.send_failures += 1;
        self.passed_bottleneck(packet, None);
    }

    /// Counts a frame that the kernel returned.
    pub fn handed_back(&mut self) {
        self.send_retries += 1;
    }

    /// The report. `counts` are those of the packets' pipeline; `ahead_ns` is how far
    /// CLOCK_REALTIME is ahead of the clock of the packets' times.
    pub fn report(&self, ring_drops: u64, counts: Counts, ahead_ns: u64) -> Report {
        let any_out = self.packets_out > 0;
        let lateness_us = |ns: u64| any_out.then_some(ns as f64 / 1e3);
        let any_waits = !self.waits_ns.is_empty();
        let wait_ms = |share| {
            let ns = self.waits_ns.value_at_quantile(share).min(self.wait_max_ns);
            any_waits.then_some(ns as f64 / 1e6)
        };
        let dropped =
            (self.dropped.iter()).map(|(name, count)| (format!("dropped_{name}"), *count));
        let events = (counts.events.iter()).map(|(name, count)| ((*name).to_owned(), *count));
        let gone = self.packets_out + self.send_failures + self.dropped.values().sum::<u64>();
        let bursts = counts.bursts.as_ref();
        let ms = |ns: u64| ns as f64 / 1e6;
        let (busy_ns, busy_bytes) = self.busy.total();
        Report {
            packets_in: self.packets_in,
            bytes_in: self.bytes_in,
            packets_out: self.packets_out,
            bytes_out: self.bytes_out,
            by_effect: dropped.chain(events).collect(),
            loss_trials: counts.loss_trials,
            loss_fates: counts.loss_fates,
            host_loss: counts.host_loss,
            burst_trials: bursts.map(|bursts| bursts.trials),
            burst_lost: bursts.map(|bursts| bursts.lost),
            burst_ms: bursts.and_then(|bursts| bursts.bad_ns).map(ms),
            burst_watched_ms: bursts.and_then(|bursts| bursts.watched_ns).map(ms),
            marked: self.marked,
            ect: self.packets_out - self.ecn[Ecn::NotEct as usize],
            ect1: self.ecn[Ecn::Ect1 as usize],
            ce: self.ecn[Ecn::Ce as usize],
            queues: counts.queues.iter().map(QueueReport::of).collect(),
            duplicated: counts.duplicated,
            reordered: self.reordered,
            send_failures: self.send_failures,
            send_retries: self.send_retries,
            lost_before: None,
            lost_behind: None,
            queued: (self.packets_in + counts.duplicated).saturating_sub(gone),
            largest_frame_bytes: self.largest_frame_bytes,
            ring_drops,
            queue_p50_ms: wait_ms(0.5),
            queue_p99_ms: wait_ms(0.99),
            queue_max_ms: self.wait_max_ns as f64 / 1e6,
            busy_ms: busy_ns as f64 / 1e6,
            busy_bytes,
            line_ms: self.line_ns as f64 / 1e6,
            line_bytes: self.line_bytes,
            transit_min_ms: any_out.then_some(self.transit_min_ns as f64 / 1e6),
            flight_min_ms: any_out.then_some(self.flight_min_ns as f64 / 1e6),
            lateness_p50_us: lateness_us(self.lateness_ns.value_at_quantile(0.5)),
            lateness_p99_us: lateness_us(self.lateness_ns.value_at_quantile(0.99)),
            lateness_max_us: lateness_us(self.lateness_ns.max()),
            far_ends: self.far_ends.report(ahead_ns),
            timeline: self.timeline.report(ahead_ns),
            flights: self.flights.report(ahead_ns),
            unshaped: None,
        }
    }

    fn passed_bottleneck(&mut self, packet: &Packet, sent_ns: Option<u64>) {
        if let Some(waited_ns) = packet.waited_ns {
            self.waits_ns.saturating_record(waited_ns);
            self.wait_max_ns = self.wait_max_ns.max(waited_ns);
            self.busy.packet(packet.line_bytes, waited_ns > 0, sent_ns);
            if !packet.copy {
                self.line_ns += packet.line_ns;
                self.line_bytes += u64::from(packet.line_bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::effects::loss::LOST;

    /// A packet that left the bottleneck at `at_ns`, after waiting for it or not.
    fn packet(at_ns: u64, waited_ns: u64) -> Packet {
        Packet {
            at_ns,
            waited_ns: Some(waited_ns),
            ..Packet::new(0, 1500, 0, 0)
        }
    }

    fn sent(meter: &mut Meter, packet: &Packet, actual_ns: u64) {
        meter.arrived(1514, packet.bytes);
        meter.sent(packet, actual_ns);
    }

    fn lost(meter: &mut Meter, packet: &Packet) {
        meter.arrived(1514, packet.bytes);
        meter.dropped(packet, LOST);
    }

    fn realised_mbps(meter: &Meter) -> f64 {
        let report = meter.report(0, Counts::default(), 0);
        report.busy_bytes as f64 * 8.0 / report.busy_ms / 1e3
    }

    #[test]
    fn the_realised_rate_is_that_of_the_actual_departures() {
        let mut meter = Meter::default();
        for i in 0..100 {
            // Told 12 Mbit/s, one packet a millisecond; really one every 1.25 ms.
            sent(&mut meter, &packet(i * 1_000_000, i), i * 1_250_000);
        }
        assert!((realised_mbps(&meter) - 9.6).abs() < 1e-9);
    }

    #[test]
    fn idle_time_between_stretches_does_not_count() {
        let mut meter = Meter::default();
        for stretch in 0..3 {
            for i in 0..50 {
                let at_ns = stretch * 1_000_000_000 + i * 1_000_000;
                sent(&mut meter, &packet(at_ns, i), at_ns + 10_000);
            }
        }
        let report = meter.report(0, Counts::default(), 0);
        assert!((report.busy_ms - 3.0 * 49.0).abs() < 1e-9);
        assert!((realised_mbps(&meter) - 12.0).abs() < 1e-9);
    }

    #[test]
    fn packets_lost_behind_the_bottleneck_took_their_time_there() {
        let mut meter = Meter::default();
        for i in 0..100 {
            let packet = packet(i * 1_000_000, i);
            match i % 10 {
                0 | 9 => lost(&mut meter, &packet),
                _ => sent(&mut meter, &packet, packet.at_ns),
            }
        }
        assert!((realised_mbps(&meter) - 12.0).abs() < 1e-9);
    }

    #[test]
    fn losses_before_the_bottleneck_do_not_end_a_stretch() {
        let mut meter = Meter::default();
        for i in 0..100 {
            sent(&mut meter, &packet(i * 1_000_000, i), i * 1_000_000);
            lost(&mut meter, &Packet::new(0, 1500, 0, 0));
        }
        assert_eq!(meter.report(0, Counts::default(), 0).busy_ms, 99.0);
    }

    #[test]
    fn stretches_too_short_to_time_are_left_out() {
        let mut meter = Meter::default();
        for i in 0..1000 {
            sent(&mut meter, &packet(i * 1_000_000, i % 4), i * 1_000_000);
        }
        assert_eq!(meter.report(0, Counts::default(), 0).busy_ms, 0.0);
    }

    #[test]
    fn the_flight_leaves_out_what_a_busy_bottleneck_took() {
        let mut meter = Meter::default();
        for i in 1..10 {
            let packet = Packet {
                line_ns: 1_000_000,
                ..packet(i * 1_000_000 + 5_000_000, (i - 1) * 1_000_000)
            };
            sent(&mut meter, &packet, packet.at_ns);
        }
        let report = meter.report(0, Counts::default(), 0);
        assert_eq!(report.transit_min_ms, Some(6.0));
        assert_eq!(report.flight_min_ms, Some(5.0));
    }

    #[test]
    fn packets_whose_sender_understands_ecn_are_counted() {
        let mut meter = Meter::default();
        for i in 0..5 {
            let mut packet = packet(i, 0);
            packet.header.ecn =
                [Ecn::NotEct, Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][i as usize];
            sent(&mut meter, &packet, i);
        }
        let report = meter.report(0, Counts::default(), 0);
        assert_eq!((report.ect, report.ect1, report.ce), (3, 1, 1));
    }

    #[test]
    fn a_report_of_nothing_has_no_times() {
        let report = Meter::default().report(0, Counts::default(), 0);
        assert_eq!(report.transit_min_ms, None);
        assert_eq!(report.flight_min_ms, None);
        assert_eq!(report.lateness_p99_us, None);
    }
}

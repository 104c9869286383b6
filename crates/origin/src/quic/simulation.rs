//! Senders over a simulated path, for tests: a line of fixed rate with a droptail queue, a delay, random
//! loss.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::quic::law::{Batch, Law, Loss};

pub(crate) const PACKET: u64 = 1448;

pub(crate) struct Path {
    /// Bytes per second.
    pub rate: f64,
    pub rtt: Duration,
    pub queue_bytes: f64,
    pub loss: f64,
}

pub(crate) struct Flight<L> {
    pub law: L,
    /// Time by which the flow's round trip is longer than the path's.
    pub longer: Duration,
    /// Packets under way, by number: when sent.
    sent: BTreeMap<u64, Instant>,
    next_packet: u64,
    may_send: Instant,
    delivered: u64,
}

impl<L: Law> Flight<L> {
    fn in_flight(&self) -> u64 {
        self.sent.len() as u64 * PACKET
    }
}

pub(crate) struct Simulation<L> {
    pub path: Path,
    pub begin: Instant,
    pub now: Instant,
    /// When the line is free again.
    free: Instant,
    acks: VecDeque<(Instant, usize, u64)>,
    pub flights: Vec<Flight<L>>,
    random: u64,
    pub queued_max: Duration,
}

impl<L: Law> Simulation<L> {
    /// `make` makes the congestion control of a flow from the beginning and the flow's number.
    pub fn new(path: Path, flows: usize, make: impl Fn(Instant, &Path, u64) -> L) -> Self {
        let begin = Instant::now();
        let flights = (0..flows)
            .map(|seed| Flight {
                law: make(begin, &path, seed as u64),
                longer: Duration::ZERO,
                sent: BTreeMap::new(),
                next_packet: 0,
                may_send: begin,
                delivered: 0,
            })
            .collect();
        Self {
            flights,
            path,
            begin,
            now: begin,
            free: begin,
            acks: VecDeque::new(),
            random: 1,
            queued_max: Duration::ZERO,
        }
    }

    fn lost(&mut self) -> bool {
        // Knuth's MMIX generator; its upper bits are good enough for coins.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 11) as f64 / (1_u64 << 53) as f64) < self.path.loss
    }

    /// Runs until `at` after the beginning.
    pub fn run(&mut self, at: Duration) {
        let end = self.begin + at;
        loop {
            let send = (0..self.flights.len())
                .filter(|&i| {
                    let flight = &self.flights[i];
                    flight.in_flight() + PACKET <= flight.law.window()
                })
                .map(|i| (self.flights[i].may_send.max(self.now), i))
                .min();
            let ack = self.acks.front().map(|&(at, ..)| at);
            match (send, ack) {
                (Some((at, i)), ack) if ack.is_none_or(|ack| at <= ack) => {
                    if at > end {
                        break;
                    }
                    self.now = at;
                    self.send(i);
                }
                (_, Some(at)) => {
                    if at > end {
                        break;
                    }
                    self.now = at;
                    self.acknowledge();
                }
                (_, None) => panic!("nothing under way and nothing may be sent: stuck"),
            }
        }
        self.now = end;
    }

    fn send(&mut self, i: usize) {
        let now = self.now;
        let lost = self.lost();
        let flight = &mut self.flights[i];
        let before = flight.in_flight();
        flight.law.on_sent(now, before, PACKET);
        let number = flight.next_packet;
        flight.next_packet += 1;
        flight.sent.insert(number, now);
        let gap = PACKET as f64 / flight.law.rate(self.path.rtt, before + PACKET);
        flight.may_send = now + Duration::from_secs_f64(gap);
        let waiting = self.free.saturating_duration_since(now);
        if lost || waiting.as_secs_f64() * self.path.rate > self.path.queue_bytes {
            return;
        }
        self.queued_max = self.queued_max.max(waiting);
        let time = PACKET as f64 / self.path.rate;
        self.free = self.free.max(now) + Duration::from_secs_f64(time);
        let at = self.free + self.path.rtt + flight.longer;
        let place = self.acks.partition_point(|&(other, ..)| other <= at);
        self.acks.insert(place, (at, i, number));
    }

    fn acknowledge(&mut self) {
        let (now, i, number) = self.acks.pop_front().unwrap();
        let flight = &mut self.flights[i];
        let Some(sent) = flight.sent.remove(&number) else {
            return;
        };
        flight.delivered += PACKET;
        flight.law.on_acked(now, sent, now - sent, PACKET);
        let in_flight = flight.in_flight();
        flight.law.on_acks_end(Batch {
            now,
            in_flight,
            app_limited: false,
            marks: 0,
        });
        // Three later packets arrived: RFC 9002 section 6.1.1.
        let gone: Vec<_> = flight.sent.range(..number.saturating_sub(2)).collect();
        let Some(&(&last, &newest)) = gone.last() else {
            return;
        };
        let bytes = gone.len() as u64 * PACKET;
        flight.sent = flight.sent.split_off(&(last + 1));
        let in_flight = flight.in_flight();
        flight.law.on_lost(Loss {
            now,
            sent: newest,
            persistent: false,
            bytes,
            in_flight,
        });
    }

    /// Bytes per second of a flow between two times.
    pub fn goodput(&mut self, from: Duration, to: Duration) -> Vec<f64> {
        self.run(from);
        let before: Vec<_> = self.flights.iter().map(|f| f.delivered).collect();
        self.run(to);
        let seconds = to.saturating_sub(from).as_secs_f64();
        self.flights
            .iter()
            .zip(before)
            .map(|(f, before)| (f.delivered - before) as f64 / seconds)
            .collect()
    }
}

pub(crate) fn path(rate_mbps: f64, rtt_ms: u64, queue_rtts: f64, loss: f64) -> Path {
    let rate = rate_mbps * 1e6 / 8.0;
    let rtt = Duration::from_millis(rtt_ms);
    Path {
        rate,
        rtt,
        queue_bytes: (queue_rtts * rate * rtt.as_secs_f64()).max(3.0 * PACKET as f64),
        loss,
    }
}

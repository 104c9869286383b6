//! Trains: a few packets sent faster than a line may carry them. They arrive as fast as it carries
//! them, so they tell its rate before a queue does.
//!
//! This is the idea of paced chirping (Misund and Briscoe), with one step instead of a slope.
//!
//! Pure: time is an argument. Rates are bytes per second.

use std::time::Instant;

/// Packets of a train. Over less than 18 Mbit/s the last one waits for longer than 2 ms.
const PACKETS: u64 = 4;
/// Windows in a round trip at which a train leaves.
const GAIN: f64 = 16.0;
/// Packets after the first acknowledgement that tell: many clients acknowledge every other packet.
const ENOUGH: u64 = 2;
/// The line spread the packets out if they arrive in so much more time than they left in.
const SPREAD: f64 = 1.5;
/// Share of the line's rate that a sender may use. Beside a full classic queue the scheduler of DualPI2
/// leaves the L4S queue 0.9, by Linux's default and ours.
const SHARE: f64 = 0.88;

/// The trains of a sender, one in each round trip.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trains {
    newest: Option<Train>,
    /// Whether an acknowledgement of a train came.
    heard: bool,
    /// Marks of the newest train's packets, until all are acknowledged.
    marks: u64,
    /// What the sender may use of the line, by the train that told most.
    line: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Train {
    began: Instant,
    /// When the last packet so far was made.
    ended: Instant,
    /// Packets sent since it began.
    sent: u64,
    acked: u64,
    /// When the first acknowledgement came, and when its newest packet had left.
    first: Option<(Instant, Instant)>,
    /// What was acknowledged after that.
    bytes: f64,
    packets: u64,
    /// When the newest packet had left that the present acknowledgement brings.
    brought: Option<Instant>,
    is_decided: bool,
}

impl Trains {
    /// What the sender may use of the line, if a train told.
    pub fn line(&self) -> Option<f64> {
        self.line
    }

    /// The rate of the packet sent last. `round` is a window in a round trip, and `gain` how many of
    /// them leave in one. Before the first train is heard it is one, and then at most the line's share.
    pub fn rate(&self, round: f64, gain: f64) -> f64 {
        let Some(train) = self.newest else {
            return gain * round;
        };
        let even = match self.line {
            Some(line) => line.min(gain * round),
            None if self.heard => gain * round,
            None => round,
        };
        train.rate(GAIN * round, even)
    }

    /// A full packet is made. `acked` is when the newest packet was made that is acknowledged.
    pub fn on_sent(&mut self, now: Instant, acked: Instant) {
        match &mut self.newest {
            Some(train) if !train.is_over(acked) => train.on_sent(now),
            other => *other = Some(Train::begin(now)),
        }
    }

    /// A packet made at `sent` that left at `left` is acknowledged.
    pub fn on_acked(&mut self, sent: Instant, left: Instant, bytes: u64) {
        if let Some(train) = &mut self.newest {
            train.on_acked(sent, left, bytes as f64);
        }
    }

    /// The acknowledgements of a batch are complete, with `marks`. Returns those that a reduction is to
    /// answer: where a train tells the rate, that is the answer to its own.
    pub fn on_acks_end(&mut self, now: Instant, marks: u64) -> u64 {
        let Some(train) = self.newest.as_mut().filter(|train| train.brought.is_some()) else {
            return marks;
        };
        self.heard = true;
        self.marks += marks;
        if let Some(rate) = train.on_acks_end(now) {
            let line = SHARE * rate;
            self.line = Some(self.line.map_or(line, |most| most.max(line)));
        }
        if self.line.is_some() {
            self.marks = 0;
        }
        if train.is_acked() {
            return std::mem::take(&mut self.marks);
        }
        0
    }
}

impl Train {
    fn begin(now: Instant) -> Self {
        Self {
            began: now,
            ended: now,
            sent: 1,
            acked: 0,
            first: None,
            bytes: 0.0,
            packets: 0,
            brought: None,
            is_decided: false,
        }
    }

    /// The rate of the packet sent last: `fast` in the train, and a pause after it, so that all
    /// together are `even`.
    fn rate(&self, fast: f64, even: f64) -> f64 {
        match self.sent {
            ..PACKETS => fast,
            PACKETS => even / PACKETS as f64,
            _ => even,
        }
    }

    fn is_acked(&self) -> bool {
        self.acked == PACKETS
    }

    fn is_over(&self, acked: Instant) -> bool {
        self.sent >= PACKETS && acked >= self.ended
    }

    fn on_sent(&mut self, now: Instant) {
        if self.sent < PACKETS {
            self.ended = now;
        }
        self.sent += 1;
    }

    fn on_acked(&mut self, sent: Instant, left: Instant, bytes: f64) {
        if sent < self.began {
            return;
        }
        if self.is_acked() {
            // What is acknowledged together with this packet says when this one arrived.
            self.is_decided = true;
            return;
        }
        self.acked += 1;
        self.brought = Some(left);
        if self.first.is_some() {
            self.bytes += bytes;
            self.packets += 1;
        }
    }

    /// Returns the line's rate, once, if the packets acknowledged so far tell it.
    fn on_acks_end(&mut self, now: Instant) -> Option<f64> {
        let left = self.brought.take()?;
        let Some((began, first_left)) = self.first else {
            self.first = Some((now, left));
            return None;
        };
        if self.is_decided || self.packets < ENOUGH {
            return None;
        }
        self.is_decided = true;
        let arrived_in = now.saturating_duration_since(began).as_secs_f64();
        let left_in = left.saturating_duration_since(first_left).as_secs_f64();
        (arrived_in > SPREAD * left_in).then(|| self.bytes / arrived_in)
    }
}

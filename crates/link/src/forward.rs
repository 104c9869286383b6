//! One direction of the link as a thread: reads frames, asks the model, sends frames.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use anyhow::{Context, Result};

use crate::clock::{Arrivals, both_ns, monotonic_ns};
use crate::early::EarlyData;
use crate::far::FarEnd;
use crate::frame::{ETHERNET_HEADER, ETHERTYPE, IP};
use crate::header::{Header, mark};
use crate::mailbox::Mailbox;
use crate::meter::{Meter, Report, Unshaped};
use crate::model::{Counts, DropCause, Packet, Pipeline, Waiting};
use crate::mss;
use crate::nat::{Nat, UNMAPPED};
use crate::pace::{Pace, Wait};
use crate::pool::Pool;
use crate::ports::Ports;
use crate::realtime::make_thread_realtime;
use crate::record::Recorder;
use crate::record::event::Fate;
use crate::ring::Ring;
use crate::socket::{self, Interface, Outlet, Sent, VNET_HEADER};
use crate::steps::{Phases, Ready, Schedule};
use crate::too_big;

const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// Number of frames that are read before any is sent.
const BATCH: usize = 32;
/// Time in ns after which a frame is sent again if the kernel had no room for it. If that fails
/// too, the frame is given up.
const RETRY_NS: u64 = 50_000;
const PATIENCE_NS: u64 = 100_000_000;
/// Batches that are read before the link changes: as many as the ring holds.
const MOST_BATCHES_BEFORE: usize = 256;
/// Interval in ns. While packets are inside and none can be due within twice this time, arrivals do
/// not wake the thread. It then looks at the ring at this interval.
const LOOK_NS: u64 = 2_000_000;

type Task = Box<dyn FnOnce(&mut Forwarder) + Send>;

/// Forwards one direction. It lives in its own thread, and other threads reach it through a
/// [`Remote`].
pub struct Forwarder {
    /// Whether the forwarded packets come from the origin.
    origin_sends: bool,
    ring: Ring,
    outlet: Outlet,
    /// The socket on the side from which frames come, for the link's own answers.
    back: Outlet,
    /// The link's answers that are not sent yet, each with its time in ns, in no order.
    answers: Vec<(u64, Vec<u8>)>,
    mailbox: Arc<Mailbox>,
    tasks: Receiver<Task>,
    arrivals: Arrivals,
    pace: Pace,
    pool: Pool,
    pipeline: Pipeline,
    /// What the pipeline becomes, and when.
    schedule: Schedule,
    phases: Phases,
    nat: Nat,
    epoch: Epoch,
    ports: Ports,
    unshaped: Unshaped,
    meter: Meter,
    early: EarlyData,
    recorder: Option<Recorder>,
    since_ns: u64,
    ring_drops: u64,
    /// Packets whose time to leave has come, in order.
    outbox: VecDeque<Packet>,
    retry_ns: Option<u64>,
}

/// Time 0 of both directions: the arrival of the first packet of either.
#[derive(Clone, Default)]
pub struct Epoch(Arc<AtomicU64>);

impl Epoch {
    /// Time 0 of both directions. `arrival_ns`, the arrival of a direction's first packet, becomes
    /// time 0 if the other direction has none yet.
    fn with(&self, arrival_ns: u64) -> u64 {
        let first = self
            .0
            .compare_exchange(0, arrival_ns, Ordering::Relaxed, Ordering::Relaxed);
        first.err().unwrap_or(arrival_ns)
    }
}

/// A handle to a forwarding thread, which never blocks it.
pub struct Remote {
    tasks: Sender<Task>,
    mailbox: Arc<Mailbox>,
    pub realtime: bool,
}

impl Remote {
    /// Starts a thread that forwards from one interface to the other. `from` is the client's or the
    /// origin's.
    pub fn start(
        name: &str,
        origin_sends: bool,
        from: &Interface,
        to: &Interface,
        mtu: usize,
        exact_timers: bool,
    ) -> Result<Self> {
        let mailbox = Arc::new(Mailbox::open()?);
        let (tasks, receiver) = mpsc::channel();
        let mut forwarder = Forwarder {
            origin_sends,
            ring: Ring::open(from, mtu)?,
            outlet: Outlet::open(to)?,
            back: Outlet::open(from)?,
            answers: Vec::new(),
            mailbox: mailbox.clone(),
            tasks: receiver,
            arrivals: Arrivals::default(),
            pace: Pace::new(monotonic_ns(), exact_timers),
            pool: Pool::default(),
            pipeline: Pipeline::default(),
            schedule: Schedule::default(),
            phases: Phases::default(),
            nat: Nat::default(),
            epoch: Epoch::default(),
            ports: Ports::default(),
            unshaped: Unshaped::default(),
            meter: Meter::default(),
            early: EarlyData::default(),
            recorder: None,
            since_ns: 0,
            ring_drops: 0,
            outbox: VecDeque::new(),
            retry_ns: None,
        };
        let (started, realtime) = mpsc::channel();
        let run = move || {
            let _ = started.send(make_thread_realtime());
            // A link with one direction would be worse than none, so a panic, too, ends the program
            // after a line about it (`Program::main`).
            if let Ok(Err(error)) = catch_unwind(AssertUnwindSafe(|| forwarder.run())) {
                eprintln!("dragstrip-link: {error:#}");
            }
            std::process::exit(1);
        };
        let thread = thread::Builder::new().name(name.to_owned());
        thread.spawn(run).context("cannot start a thread")?;
        let realtime = realtime
            .recv()
            .context("a forwarding thread ended at once")?;
        Ok(Self {
            tasks,
            mailbox,
            realtime,
        })
    }

    /// Runs `task` in the forwarding thread; the answer comes through the channel.
    pub fn ask<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Forwarder) -> T + Send + 'static,
    ) -> Receiver<T> {
        let (answer, receiver) = mpsc::channel();
        let task = move |forwarder: &mut Forwarder| drop(answer.send(task(forwarder)));
        // If the thread has ended, the receiver reports it.
        let _ = self.tasks.send(Box::new(task));
        self.mailbox.fill();
        receiver
    }
}

impl Forwarder {
    /// Replaces the link by another one at `since_ns`. Earlier packets are dropped.
    pub fn configure(
        &mut self,
        pipeline: Pipeline,
        ports: Ports,
        epoch: Epoch,
        recorder: Option<Recorder>,
        since_ns: u64,
    ) {
        self.pipeline = pipeline;
        self.schedule = Schedule::default();
        self.phases = Phases::default();
        self.ports = ports;
        self.unshaped = Unshaped::default();
        self.epoch = epoch;
        self.meter = Meter::default();
        self.early = EarlyData::default();
        self.recorder = recorder;
        self.since_ns = since_ns;
        self.outbox.clear();
        self.answers.clear();
        self.pool.release_all();
        self.retry_ns = None;
        self.ring.drops();
        self.ring_drops = 0;
    }

    /// Sets the steps to come. Call this after `configure`.
    pub fn expect(&mut self, steps: Vec<Ready>, nat: Nat) {
        if !steps.is_empty() {
            self.phases.begin(self.since_ns, Counts::default());
        }
        self.schedule = Schedule::new(steps);
        self.nat = nat;
    }

    /// Starts the schedule: its steps count from `zero_ns`.
    pub fn start(&mut self, zero_ns: u64) {
        self.schedule.start(zero_ns);
    }

    /// Makes the steps that are due by `now_ns`, each at its own time. Packets that came before a
    /// step meet the link as it was.
    fn take_steps(&mut self, now_ns: u64) {
        while let Some((at_ns, step)) = self.schedule.due(now_ns) {
            while let Some(packet) = self.pipeline.release(at_ns) {
                self.leave(packet);
            }
            let counts = self.pipeline.counts_since_change();
            self.pipeline.change(at_ns, step.pipeline, step.waiting);
            for packet in &mut self.outbox {
                packet.straddles = true;
            }
            self.phases.begin(at_ns, counts);
        }
    }

    /// Makes the steps whose time has come, after it has read all packets that came before them.
    fn step(&mut self) {
        if self.schedule.next_ns().is_none() {
            return;
        }
        let now_ns = monotonic_ns();
        if self.schedule.next_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            for _ in 0..MOST_BATCHES_BEFORE {
                self.receive();
            }
            self.take_steps(now_ns);
        }
    }

    /// Reports each phase between steps.
    pub fn phases(&self) -> Vec<(u64, Report)> {
        self.phases.report(&self.pipeline.counts_since_change())
    }

    /// Becomes another link and keeps packets, counters and time 0: see [`Pipeline::change`].
    pub fn change(&mut self, pipeline: Pipeline, ports: Ports) {
        let now_ns = monotonic_ns();
        // Packets that arrived before the change meet the old link; the rest of a flood does not.
        for _ in 0..MOST_BATCHES_BEFORE {
            self.receive();
        }
        self.pipeline.change(now_ns, pipeline, Waiting::Kept);
        self.ports = ports;
    }

    pub fn report(&mut self) -> Report {
        self.ring_drops += self.ring.drops();
        let (now_ns, realtime_ns) = both_ns();
        let counts = self.pipeline.counts();
        let report = self
            .meter
            .report(self.ring_drops, counts, realtime_ns - now_ns);
        Report {
            unshaped: self.ports.some().then_some(self.unshaped),
            ..report
        }
    }

    fn run(&mut self) -> Result<()> {
        loop {
            self.do_tasks();
            self.receive();
            self.step();
            self.send();
            self.wait()?;
        }
    }

    fn do_tasks(&mut self) {
        if self.mailbox.empty() {
            while let Ok(task) = self.tasks.try_recv() {
                task(self);
            }
        }
    }

    fn receive(&mut self) {
        if !self.ring.ready() {
            return;
        }
        let (monotonic_ns, realtime_ns) = both_ns();
        self.arrivals.synchronise(monotonic_ns, realtime_ns);
        for _ in 0..BATCH {
            if !self.receive_one() {
                break;
            }
        }
    }

    /// Takes one frame into the model; false if there was none.
    fn receive_one(&mut self) -> bool {
        if self.schedule.next_ns().is_some() {
            let Some(stamp_ns) = self.ring.stamp_ns() else {
                return false;
            };
            let arrival_ns = self.arrivals.monotonic(stamp_ns, monotonic_ns());
            self.take_steps(arrival_ns);
        }
        let taken = self.ring.take(|frame| {
            let arrival_ns = self.arrivals.monotonic(frame.stamp_ns, monotonic_ns());
            let length = frame.bytes.len() - VNET_HEADER;
            if arrival_ns < self.since_ns || length < ETHERNET_HEADER {
                return None;
            }
            let ethertype = &frame.bytes[ETHERTYPE..ETHERTYPE + 2];
            if ethertype != IPV4 && ethertype != IPV6 {
                self.outlet.send([frame.bytes].into_iter());
                return None;
            }
            if !self.ports.shape(&frame.bytes[ETHERTYPE + 2..]) {
                let sent = self.outlet.send([frame.bytes].into_iter());
                let bytes = (length - ETHERNET_HEADER) as u64;
                self.unshaped.passed(bytes, matches!(sent, Sent::Some(1..)));
                return None;
            }
            let bytes = (length - ETHERNET_HEADER) as u32;
            let index = self.meter.arrived(length, bytes);
            self.phases.count(|meter| {
                meter.arrived(length, bytes);
            });
            if index == 0 {
                let zero_ns = self.epoch.with(arrival_ns);
                self.pipeline.begin(zero_ns);
                if self.pipeline.scheduled() {
                    self.meter.record_flights(zero_ns);
                }
            }
            let slot = self.pool.keep(frame.bytes);
            let ip = &frame.bytes[IP..];
            let far = FarEnd::of(ip, self.origin_sends);
            let packet = Packet {
                header: Header::of(ip),
                far: far.and_then(|end| self.meter.place(end)),
                ..Packet::new(index, bytes, arrival_ns, slot)
            };
            if !self.origin_sends && self.early.begins(ip, packet.header.flow) {
                self.meter.early(&packet);
            }
            Some(packet)
        });
        if let Some(packet) = taken
            .flatten()
            .and_then(|packet| self.pipeline.take(packet))
        {
            self.leave(packet);
        }
        taken.is_some()
    }

    /// Handles a packet that leaves the model.
    fn leave(&mut self, packet: Packet) {
        match packet.dropped {
            None if packet.marked
                || packet.clamped_mss.is_some()
                || self.nat.forgot(packet.at_ns) =>
            {
                // A twin may share the frame.
                let mut frame = self.pool.frame(packet.slot).to_vec();
                if !self.translate(&packet, &mut frame) {
                    return self.gone(&packet, UNMAPPED);
                }
                if packet.marked {
                    mark(&mut frame[IP..]);
                }
                if let Some(mss) = packet.clamped_mss {
                    mss::clamp(&mut frame, mss);
                }
                self.pool.release(&packet);
                let slot = self.pool.keep(&frame);
                self.outbox.push_back(Packet {
                    slot,
                    twin: false,
                    ..packet
                });
            }
            None => self.outbox.push_back(packet),
            Some(cause) => self.gone(&packet, cause),
        }
    }

    /// Writes the frame as the NAT would; false if the NAT has no mapping for it. The NAT sits at
    /// the client's end, so packets meet it first upstream and last downstream.
    fn translate(&self, packet: &Packet, frame: &mut [u8]) -> bool {
        if self.origin_sends {
            self.nat.back(frame, packet.at_ns)
        } else {
            self.nat.out(frame, packet.arrival_ns)
        }
    }

    fn gone(&mut self, packet: &Packet, cause: DropCause) {
        self.meter.dropped(packet, cause);
        self.phases.dropped(packet, cause);
        self.note(packet, Fate::Dropped(cause));
        self.answer(packet);
        self.pool.release(packet);
    }

    /// Tells the sender that its packet was too long, if the link answers. The answer takes as long
    /// back to the sender as the packet took here, and meets no other stage.
    fn answer(&mut self, packet: &Packet) {
        let Some(mtu) = packet.next_hop_mtu else {
            return;
        };
        let due_ns = packet.at_ns + (packet.at_ns - packet.arrival_ns);
        let answer = too_big::answer(self.pool.frame(packet.slot), mtu);
        self.answers.extend(answer.map(|frame| (due_ns, frame)));
    }

    /// Sends the answers that are due. An answer for which the kernel's queue has no room is lost,
    /// as a router's answer would be.
    fn send_answers(&mut self, now_ns: u64) {
        let back = &self.back;
        self.answers.retain(|(due_ns, frame)| {
            let waits = *due_ns > now_ns;
            if !waits {
                back.send([&frame[..]].into_iter());
            }
            waits
        });
    }

    fn send(&mut self) {
        let mut now_ns = monotonic_ns();
        self.send_answers(now_ns);
        if self.retry_ns.is_some_and(|retry_ns| now_ns < retry_ns) {
            return;
        }
        self.retry_ns = None;
        loop {
            // A packet that leaves after a step leaves the new link.
            let until_ns = (self.schedule.next_ns()).map_or(now_ns, |at_ns| now_ns.min(at_ns - 1));
            while let Some(packet) = self.pipeline.release(until_ns) {
                self.leave(packet);
            }
            if self.outbox.is_empty() {
                return;
            }
            let offered = self.outbox.len().min(socket::BATCH);
            let frames = self
                .outbox
                .iter()
                .map(|packet| self.pool.frame(packet.slot));
            let sent = self.outlet.send(frames);
            // The clock is read after the call, so that the call's duration is included.
            now_ns = monotonic_ns();
            match sent {
                Sent::Some(count) => {
                    if count < offered {
                        self.meter.handed_back();
                    }
                    for _ in 0..count {
                        self.done(Some(now_ns));
                    }
                }
                Sent::Busy => {
                    self.meter.handed_back();
                    if now_ns < self.outbox[0].at_ns.saturating_add(PATIENCE_NS) {
                        self.retry_ns = Some(now_ns + RETRY_NS);
                        return;
                    }
                    self.done(None);
                }
                Sent::Refused => self.done(None),
            }
        }
    }

    /// Records that the first packet of the outbox was sent at `sent_ns`; None means that it never
    /// will be.
    fn done(&mut self, sent_ns: Option<u64>) {
        let Some(packet) = self.outbox.pop_front() else {
            return;
        };
        match sent_ns {
            Some(sent_ns) => {
                self.meter.sent(&packet, sent_ns);
                self.phases.sent(&packet, sent_ns);
            }
            None => self.meter.refused(&packet),
        }
        self.note(&packet, sent_ns.map_or(Fate::Refused, Fate::Sent));
        self.pool.release(&packet);
    }

    /// Records a packet's fate, if a record is on. Never waits.
    fn note(&self, packet: &Packet, fate: Fate) {
        if let Some(recorder) = &self.recorder {
            let frame = self.pool.frame(packet.slot);
            if matches!(fate, Fate::Sent(_)) && !self.origin_sends && self.nat.forgot(packet.at_ns)
            {
                // A record shows what the client sends and gets.
                let mut own = frame.to_vec();
                self.nat.undo(&mut own, packet.arrival_ns);
                recorder.note(packet, fate, &own[VNET_HEADER..]);
                return;
            }
            recorder.note(packet, fate, &frame[VNET_HEADER..]);
        }
    }

    fn wait(&mut self) -> Result<()> {
        let due_ns = self.retry_ns.or_else(|| self.pipeline.next_ns());
        let answer_ns = self.answers.iter().map(|(due_ns, _)| *due_ns).min();
        let step_ns = self.schedule.next_ns();
        let due_ns = due_ns.into_iter().chain(answer_ns).chain(step_ns).min();
        let now_ns = monotonic_ns();
        if self.stirred() || due_ns.is_some_and(|due_ns| due_ns <= now_ns) {
            return Ok(());
        }
        match self.pace.plan(now_ns, due_ns) {
            Wait::Spin(until_ns) => {
                let mut after_ns = now_ns;
                while after_ns < until_ns && !self.stirred() {
                    std::hint::spin_loop();
                    after_ns = monotonic_ns();
                }
                self.pace.spun(after_ns - now_ns);
            }
            Wait::Sleep(Some(timeout_ns))
                if !self.pace.exact_timers && self.pipeline.least_ns() >= 2 * LOOK_NS =>
            {
                let timeout_ns = timeout_ns.min(LOOK_NS);
                if self.mailbox.sleep(None, Some(timeout_ns)) {
                    self.pace.slept(timeout_ns, monotonic_ns() - now_ns);
                }
            }
            Wait::Sleep(timeout_ns) => {
                let timed_out = self.mailbox.sleep(Some(self.ring.fd()), timeout_ns);
                match timeout_ns.filter(|_| timed_out) {
                    Some(timeout_ns) => self.pace.slept(timeout_ns, monotonic_ns() - now_ns),
                    None => self.ring.check()?,
                }
            }
        }
        Ok(())
    }

    fn stirred(&self) -> bool {
        self.ring.ready() || self.mailbox.is_full()
    }
}

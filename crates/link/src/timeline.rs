//! Records what one direction carried over time, in slots that grow wider as time passes.

use serde::Serialize;

use crate::model::Packet;

/// Most slots. When time goes beyond them, every two slots become one.
const SLOTS: usize = 512;
const NARROWEST_NS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slot {
    bytes: u64,
    dropped: u64,
}

/// Counts traffic by slot, as packets arrive and leave.
pub struct Timeline {
    /// When the first packet came; None before.
    start_ns: Option<u64>,
    slot_ns: u64,
    slots: Vec<Slot>,
}

/// The timeline as `dragstrip.model.visit.Timeline` reads it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Course {
    pub start_us: u64,
    pub slot_us: u64,
    /// The slots in which something happened: index, layer 3 bytes that left the link, and packets
    /// that the link's queue dropped, in the slot of their arrival.
    pub slots: Vec<(usize, u64, u64)>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            start_ns: None,
            slot_ns: NARROWEST_NS,
            slots: Vec::new(),
        }
    }
}

impl Timeline {
    pub fn sent(&mut self, packet: &Packet, actual_ns: u64) {
        self.slot(packet, actual_ns).bytes += u64::from(packet.bytes);
    }

    pub fn dropped(&mut self, packet: &Packet) {
        self.slot(packet, packet.arrival_ns).dropped += 1;
    }

    fn slot(&mut self, packet: &Packet, at_ns: u64) -> &mut Slot {
        let start_ns = *self.start_ns.get_or_insert(packet.arrival_ns);
        let since_ns = at_ns.saturating_sub(start_ns);
        while since_ns / self.slot_ns >= SLOTS as u64 {
            self.widen();
        }
        let index = (since_ns / self.slot_ns) as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, Slot::default());
        }
        &mut self.slots[index]
    }

    fn widen(&mut self) {
        let sum = |pair: &[Slot]| Slot {
            bytes: pair.iter().map(|slot| slot.bytes).sum(),
            dropped: pair.iter().map(|slot| slot.dropped).sum(),
        };
        self.slots = self.slots.chunks(2).map(sum).collect();
        self.slot_ns *= 2;
    }

    /// Reports the timeline; None if no packet came. `ahead_ns` is how far CLOCK_REALTIME is ahead
    /// of the packets' clock.
    pub fn report(&self, ahead_ns: u64) -> Option<Course> {
        let start_ns = self.start_ns?;
        let busy = |(index, slot): (usize, &Slot)| {
            (*slot != Slot::default()).then_some((index, slot.bytes, slot.dropped))
        };
        Some(Course {
            start_us: (start_ns + ahead_ns) / 1000,
            slot_us: self.slot_ns / 1000,
            slots: self.slots.iter().enumerate().filter_map(busy).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn packet(arrival_ns: u64) -> Packet {
        Packet::new(0, 100, arrival_ns, 0)
    }

    #[test]
    fn bytes_stand_where_they_left_and_drops_where_they_came() {
        let mut timeline = Timeline::default();
        timeline.sent(&packet(5 * MS), 12 * MS);
        timeline.sent(&packet(6 * MS), 12 * MS + 1);
        timeline.dropped(&packet(8 * MS));
        let course = timeline.report(1000 * MS).unwrap();
        assert_eq!((course.start_us, course.slot_us), (1_005_000, 1000));
        assert_eq!(course.slots, [(3, 0, 1), (7, 200, 0)]);
    }

    #[test]
    fn slots_grow_wider_and_lose_nothing() {
        let mut timeline = Timeline::default();
        for ms in 0..3000 {
            timeline.sent(&packet(ms * MS), ms * MS);
        }
        timeline.dropped(&packet(2999 * MS));
        let course = timeline.report(0).unwrap();
        assert_eq!(course.slot_us, 8000);
        assert_eq!(course.slots.len(), 375);
        assert!(course.slots.iter().all(|&(_, bytes, _)| bytes == 800));
        assert_eq!(course.slots.last(), Some(&(374, 800, 1)));
    }

    #[test]
    fn a_pause_of_hours_takes_no_room() {
        let mut timeline = Timeline::default();
        timeline.sent(&packet(0), 0);
        timeline.sent(&packet(3_600_000 * MS), 3_600_000 * MS);
        let course = timeline.report(0).unwrap();
        assert_eq!(course.slots.len(), 2);
        assert!(timeline.slots.len() <= SLOTS);
    }

    #[test]
    fn nothing_has_no_timeline() {
        assert_eq!(Timeline::default().report(0), None);
    }
}

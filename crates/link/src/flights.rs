//! Records how long packets took besides the bottleneck, over time.

use serde::Serialize;

use crate::model::Packet;

/// Most slots. When time goes beyond them, every two slots become one.
const SLOTS: usize = 512;
const NARROWEST_NS: u64 = 1_000_000;

/// Least and most time in ns of a slot's packets; None without packets.
type Slot = Option<(u64, u64)>;

/// Least and most flight by slot, of packets by when they left the bottleneck.
pub struct Flights {
    /// Time 0 of what follows a clock; None before the first packet.
    zero_ns: Option<u64>,
    slot_ns: u64,
    slots: Vec<Slot>,
}

/// The flights as `dragstrip.model.visit.Flights` reads them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlightCourse {
    pub zero_us: u64,
    pub slot_us: u64,
    /// The slots in which a packet left the bottleneck: index, least and most flight in us.
    pub slots: Vec<(usize, u64, u64)>,
}

impl Default for Flights {
    fn default() -> Self {
        Self {
            zero_ns: None,
            slot_ns: NARROWEST_NS,
            slots: Vec::new(),
        }
    }
}

impl Flights {
    pub fn begin(&mut self, zero_ns: u64) {
        self.zero_ns = Some(zero_ns);
    }

    /// Counts a packet that took `flight_ns` besides `bottleneck_ns`. One that met two links is in
    /// no measure of time.
    pub fn sent(&mut self, packet: &Packet, bottleneck_ns: u64, flight_ns: u64) {
        let Some(zero_ns) = self.zero_ns else {
            return;
        };
        if packet.straddles {
            return;
        }
        let since_ns = (packet.arrival_ns + bottleneck_ns).saturating_sub(zero_ns);
        while since_ns / self.slot_ns >= SLOTS as u64 {
            self.slots = self.slots.chunks(2).map(widest).collect();
            self.slot_ns *= 2;
        }
        let index = (since_ns / self.slot_ns) as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, None);
        }
        self.slots[index] = widest(&[self.slots[index], Some((flight_ns, flight_ns))]);
    }

    /// Reports the flights; None without packets. `ahead_ns` is how far CLOCK_REALTIME is ahead of
    /// the packets' clock.
    pub fn report(&self, ahead_ns: u64) -> Option<FlightCourse> {
        let zero_ns = self.zero_ns?;
        let seen = |(index, slot): (usize, &Slot)| {
            slot.map(|(least_ns, most_ns)| (index, least_ns / 1000, most_ns / 1000))
        };
        Some(FlightCourse {
            zero_us: (zero_ns + ahead_ns) / 1000,
            slot_us: self.slot_ns / 1000,
            slots: self.slots.iter().enumerate().filter_map(seen).collect(),
        })
    }
}

fn widest(slots: &[Slot]) -> Slot {
    let seen = slots.iter().copied().flatten();
    seen.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn flights_stand_where_packets_left_the_bottleneck_and_widen() {
        let mut flights = Flights::default();
        flights.begin(100 * MS);
        for (at, flight) in [(100, 7), (100, 9), (102, 3)] {
            flights.sent(&Packet::new(0, 100, at * MS, 0), 0, flight * MS);
        }
        let course = flights.report(MS).unwrap();
        assert_eq!((course.zero_us, course.slot_us), (101_000, 1000));
        assert_eq!(course.slots, [(0, 7000, 9000), (2, 3000, 3000)]);
        flights.sent(&Packet::new(1, 100, 100 * MS, 0), 1000 * MS, MS);
        let course = flights.report(0).unwrap();
        assert_eq!(course.slot_us, 2000);
        assert_eq!(
            course.slots,
            [(0, 7000, 9000), (1, 3000, 3000), (500, 1000, 1000)]
        );
    }

    #[test]
    fn nothing_is_recorded_before_it_begins_or_of_two_links() {
        let mut flights = Flights::default();
        flights.sent(&Packet::new(0, 100, 0, 0), 0, 1);
        assert_eq!(flights.report(0), None);
        flights.begin(0);
        let packet = Packet {
            straddles: true,
            ..Packet::new(0, 100, 0, 0)
        };
        flights.sent(&packet, 0, 1);
        assert_eq!(flights.report(0).unwrap().slots, []);
    }
}

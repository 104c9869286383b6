//! Buffers for the frames inside the link, reused so that forwarding does not allocate.

use std::collections::HashSet;

use crate::model::Packet;

#[derive(Default)]
pub struct Pool {
    frames: Vec<Vec<u8>>,
    free: Vec<u32>,
    /// Slots of twins that one of the two packets has left.
    halved: HashSet<u32>,
}

impl Pool {
    /// Copies a frame and returns its slot.
    pub fn keep(&mut self, frame: &[u8]) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.frames.push(Vec::new());
            (self.frames.len() - 1) as u32
        });
        let buffer = &mut self.frames[slot as usize];
        buffer.clear();
        buffer.extend_from_slice(frame);
        slot
    }

    pub fn frame(&self, slot: u32) -> &[u8] {
        &self.frames[slot as usize]
    }

    /// Ends the use of a packet's slot. A slot that twins share is free when both have left.
    pub fn release(&mut self, packet: &Packet) {
        if packet.twin {
            if self.halved.insert(packet.slot) {
                return;
            }
            self.halved.remove(&packet.slot);
        }
        self.free.push(packet.slot);
    }

    pub fn release_all(&mut self) {
        self.free.clear();
        self.halved.clear();
        self.free.extend(0..self.frames.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_of_twins_is_free_when_both_are_done() {
        let mut pool = Pool::default();
        let slot = pool.keep(b"frame");
        let original = Packet {
            twin: true,
            ..Packet::new(0, 5, 0, slot)
        };
        let copy = Packet {
            copy: true,
            ..original
        };
        pool.release(&original);
        assert_ne!(pool.keep(b"other"), slot);
        assert_eq!(pool.frame(slot), b"frame");
        pool.release(&copy);
        assert_eq!(pool.keep(b"third"), slot);
    }
}

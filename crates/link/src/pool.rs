//! Buffers for the frames inside the link, reused so that forwarding does not allocate.

#[derive(Default)]
pub struct Pool {
    frames: Vec<Vec<u8>>,
    free: Vec<u32>,
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

    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    pub fn release_all(&mut self) {
        self.free.clear();
        self.free.extend(0..self.frames.len() as u32);
    }
}

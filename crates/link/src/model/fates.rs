//! The fate of each packet under random loss, by index, so that two runs with one seed can be
//! compared.

use super::Packet;

/// Number of packets per direction that are kept, from the first: a page of 20 MB has fewer.
const MOST: u64 = 1 << 14;
const WORD: u64 = 64;

/// The packets that reached a loss stage, and those that it lost.
#[derive(Default)]
pub struct Fates {
    tried: Vec<u64>,
    lost: Vec<u64>,
}

impl Fates {
    /// Records a packet's fate. Copies are left out, because they share an index with their
    /// original.
    pub fn note(&mut self, packet: &Packet, lost: bool) {
        if packet.copy || packet.index >= MOST {
            return;
        }
        let (word, bit) = ((packet.index / WORD) as usize, packet.index % WORD);
        if self.tried.len() <= word {
            self.tried.resize(word + 1, 0);
            self.lost.resize(word + 1, 0);
        }
        self.tried[word] |= 1 << bit;
        self.lost[word] |= u64::from(lost) << bit;
    }

    /// Runs of packets from index 0: `12+` passed, `2-` were lost, `3.` never came here. A run of
    /// one packet has no number. Packets after the last that came here are left out.
    pub fn runs(&self) -> String {
        let mut text = String::new();
        let end = (self.tried.iter())
            .rposition(|&word| word != 0)
            .map_or(0, |at| {
                (at as u64 + 1) * WORD - u64::from(self.tried[at].leading_zeros())
            });
        let mut index = 0;
        while index < end {
            let fate = self.fate(index);
            let length = (index..end).take_while(|&i| self.fate(i) == fate).count() as u64;
            if length > 1 {
                text.push_str(&length.to_string());
            }
            text.push(fate);
            index += length;
        }
        text
    }

    fn fate(&self, index: u64) -> char {
        let (word, bit) = ((index / WORD) as usize, index % WORD);
        match (self.tried[word] >> bit & 1, self.lost[word] >> bit & 1) {
            (0, _) => '.',
            (_, 0) => '+',
            _ => '-',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(fates: &[(u64, bool)]) -> String {
        let mut kept = Fates::default();
        for &(index, lost) in fates {
            kept.note(&Packet::new(index, 60, 0, 0), lost);
        }
        kept.runs()
    }

    #[test]
    fn runs_are_counted_from_the_first_packet() {
        assert_eq!(noted(&[]), "");
        assert_eq!(noted(&[(0, false), (1, false), (2, true)]), "2+-");
        assert_eq!(noted(&[(2, true), (3, true), (130, false)]), "2.2-126.+");
        assert_eq!(noted(&[(63, false), (64, false)]), "63.2+");
    }

    #[test]
    fn order_does_not_matter_and_copies_and_late_packets_are_left_out() {
        assert_eq!(noted(&[(1, true), (0, false)]), "+-");
        assert_eq!(noted(&[(0, false), (MOST, true)]), "+");
        let mut kept = Fates::default();
        let copy = Packet {
            copy: true,
            ..Packet::new(0, 60, 0, 0)
        };
        kept.note(&copy, true);
        assert_eq!(kept.runs(), "");
    }
}

//! How often Chromium acknowledges QUIC packets.
//!
//! quinn and Chromium acknowledge every second packet. After the first hundred Chromium goes over
//! to every tenth, and to a quarter of the least round trip as the longest delay (quiche,
//! `QuicReceivedPacketManager`). This affects how fast a server's window opens and how soon it
//! learns of losses. quinn only changes its behaviour if its peer asks, by an ACK_FREQUENCY frame
//! (draft-ietf-quic-ack-frequency). So this module inserts such a frame before the frames of a
//! received packet.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use quinn::crypto::{CryptoError, PacketKey};

const FREQUENT_PACKETS: u64 = 100;
const EVERY_PACKETS: u8 = 10;
const SHARE_OF_RTT: u32 = 4;
const LONGEST: Duration = Duration::from_millis(25);
/// The shortest delay that quinn takes.
const SHORTEST: Duration = Duration::from_millis(1);

/// A key of 1-RTT packets that asks for fewer acknowledgements once.
pub(super) struct Seldom {
    inner: Box<dyn PacketKey>,
    delay: Duration,
    asked: AtomicBool,
}

impl Seldom {
    /// Wraps the key `inner`. `rtt` is the round trip that the handshake took.
    pub fn new(inner: Box<dyn PacketKey>, rtt: Duration) -> Self {
        Self {
            inner,
            delay: (rtt / SHARE_OF_RTT).clamp(SHORTEST, LONGEST),
            asked: AtomicBool::new(false),
        }
    }
}

impl PacketKey for Seldom {
    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(packet, header, payload)?;
        if packet >= FREQUENT_PACKETS && !self.asked.swap(true, Ordering::Relaxed) {
            // This frame goes before the others, because the last STREAM frame may reach to the
            // packet's end.
            let mut longer = BytesMut::from(&ack_frequency(self.delay)[..]);
            longer.extend_from_slice(payload);
            *payload = longer;
        }
        Ok(())
    }

    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        self.inner.encrypt(packet, buf, header_len);
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}

/// A server that has asked for something itself keeps the last word: its sequence number is not lower.
fn ack_frequency(delay: Duration) -> Vec<u8> {
    let mut frame = vec![0x40, 0xaf, 0, EVERY_PACKETS - 1];
    frame.put_u32(delay.as_micros() as u32 | 0b10 << 30);
    frame.push(1); // out of order: at once
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    impl PacketKey for Plain {
        fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}
        fn decrypt(&self, packet: u64, _: &[u8], _: &mut BytesMut) -> Result<(), CryptoError> {
            (packet != 101).then_some(()).ok_or(CryptoError)
        }
        fn tag_len(&self) -> usize {
            16
        }
        fn confidentiality_limit(&self) -> u64 {
            1
        }
        fn integrity_limit(&self) -> u64 {
            1
        }
    }

    #[test]
    fn it_asks_once_after_a_hundred_packets() {
        let key = Seldom::new(Box::new(Plain), Duration::from_millis(80));
        let after = |packet| {
            let mut payload = BytesMut::from(&[1][..]);
            key.decrypt(packet, &[], &mut payload)
                .is_ok()
                .then(|| payload.to_vec())
        };
        assert_eq!(after(99), Some(vec![1]));
        assert_eq!(after(101), None);
        // 20 ms as a varint of four bytes.
        let asked = vec![0x40, 0xaf, 0, 9, 0x80, 0, 0x4e, 0x20, 1, 1];
        assert_eq!(after(102), Some(asked));
        assert_eq!(after(103), Some(vec![1]));
    }
}

//! The end of QUIC's handshake in as few bytes as Chromium needs for it.
//!
//! quinn acknowledges the server's Initial packet in the datagram that carries its Finished, and pads
//! that datagram to 1200 bytes as RFC 9000 section 14.1 asks. Chromium has discarded its Initial keys
//! by then (RFC 9001 section 4.9.1): it sends a Handshake packet of some 80 bytes and no more. On a
//! slow uplink the difference delays the first request.
//!
//! quinn leaves no choice, so this takes out what it added: `Unpadded` ends a Handshake packet where
//! its last frame ends, and `needed` leaves out the Initial packet before it and the empty rest of the
//! datagram behind it.

use bytes::BytesMut;
use dragstrip_http3::Reader;
use quinn::crypto::{CryptoError, PacketKey};

use crate::net::datagram::{HANDSHAKE, INITIAL, MOST_OF_AN_ACK, packet};

/// The type of a PADDING frame (RFC 9000 section 19.1).
const PADDING: u64 = 0;
/// Bytes that header protection must find after the packet number (RFC 9001 section 5.4.2).
const LEAST_PAYLOAD: usize = 4;

/// A key of Handshake packets that leaves their padding out.
pub(super) struct Unpadded(pub Box<dyn PacketKey>);

impl PacketKey for Unpadded {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let tag = self.0.tag_len();
        let whole = buf.len() - tag;
        let end = frames_end(&buf[header_len..whole]).map_or(whole, |end| {
            (header_len + end.max(LEAST_PAYLOAD)).min(whole)
        });
        let number_len = usize::from(buf[0] & 0b11) + 1;
        // quinn writes Length in two bytes, right before the packet number.
        let length = (number_len + end - header_len + tag) as u16 | 0b01 << 14;
        let at = header_len - number_len;
        buf[at - 2..at].copy_from_slice(&length.to_be_bytes());
        self.0.encrypt(packet, &mut buf[..end + tag], header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.0.decrypt(packet, header, payload)
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.0.integrity_limit()
    }
}

/// Where the padding at the end begins; None if there are frames that this does not know.
fn frames_end(payload: &[u8]) -> Option<usize> {
    let mut reader = Reader::new(payload);
    let mut end = 0;
    while reader.at() < payload.len() {
        if reader.frame()? != PADDING {
            end = reader.at();
        }
    }
    Some(end)
}

/// Returns the part of a datagram that Chromium would send; None if that is the whole of it.
pub(super) fn needed(datagram: &[u8]) -> Option<&[u8]> {
    let (kind, length) = packet(datagram)?;
    let start = if kind == INITIAL && length <= MOST_OF_AN_ACK {
        length
    } else {
        0
    };
    let (kind, length) = packet(&datagram[start..])?;
    if kind != HANDSHAKE {
        return None;
    }
    let end = start + length;
    let empty = datagram[end..].iter().all(|byte| *byte == 0);
    Some(&datagram[start..if empty { end } else { datagram.len() }])
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    impl PacketKey for Plain {
        fn encrypt(&self, _: u64, buf: &mut [u8], _: usize) {
            let start = buf.len() - 16;
            buf[start..].fill(0xee);
        }
        fn decrypt(&self, _: u64, _: &[u8], _: &mut BytesMut) -> Result<(), CryptoError> {
            Ok(())
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

    /// A packet with connection ids of one byte, a packet number of one, and this payload.
    fn long(kind: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xc0 | kind, 0, 0, 0, 1, 1, 7, 1, 8];
        if kind == INITIAL {
            bytes.push(0); // no token
        }
        let length = (1 + payload.len() + 16) as u16 | 0x4000;
        bytes.extend(length.to_be_bytes());
        bytes.push(0);
        bytes.extend(payload);
        bytes.extend([0; 16]);
        bytes
    }

    /// ACK of packet 0, then a Finished that ends with zeros.
    const FLIGHT: [u8; 17] = [2, 0, 0, 0, 0, 6, 0, 9, 1, 2, 3, 4, 5, 6, 7, 0, 0];

    fn encrypted(payload: &[u8]) -> Vec<u8> {
        let mut bytes = long(HANDSHAKE, payload);
        let header = bytes.len() - 16 - payload.len();
        Unpadded(Box::new(Plain)).encrypt(0, &mut bytes, header);
        bytes
    }

    #[test]
    fn the_finished_goes_alone_and_whole() {
        let handshake = encrypted(&[&FLIGHT[..], &[0; 1000]].concat());
        let alone = encrypted(&FLIGHT);
        let datagram = [long(INITIAL, &FLIGHT[..5]), handshake].concat();
        assert_eq!(needed(&datagram), Some(&alone[..]));
    }

    #[test]
    fn what_follows_the_handshake_packet_stays() {
        let datagram = [encrypted(&FLIGHT), vec![0x41; 50]].concat();
        assert_eq!(needed(&datagram), Some(&datagram[..]));
    }

    #[test]
    fn an_initial_with_crypto_and_a_lone_acknowledgement_stay() {
        let hello = [long(INITIAL, &[6; 300]), encrypted(&FLIGHT)].concat();
        assert_eq!(needed(&hello), None);
        assert_eq!(needed(&long(INITIAL, &[2, 0, 0, 0, 0])), None);
        assert_eq!(needed(&[0x41; 60]), None);
        assert_eq!(needed(&[]), None);
    }

    #[test]
    fn unknown_frames_are_left_as_they_are() {
        assert_eq!(frames_end(&[0x1c, 0, 0]), None);
        assert_eq!(frames_end(&[6, 0, 40, 1]), None);
        assert_eq!(frames_end(&[1, 0, 0]), Some(1));
    }
}

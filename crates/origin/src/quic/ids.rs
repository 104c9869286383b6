//! No connection ids to spare.
//!
//! quinn gives a client another connection id in a NEW_CONNECTION_ID frame and sends the frame again
//! until it is acknowledged. Chromium does not acknowledge a packet that has nothing but such a frame
//! a second time (quiche's `QuicConnection::OnNewConnectionIdFrame`). quinn's probes carry the oldest
//! data first: so once the frame's acknowledgement was lost they carry nothing else, later and later,
//! and a lost answer behind it does not leave for minutes. Nobody moves to another address here, so the
//! frame becomes a PING, which is acknowledged, and padding.

use std::sync::Arc;

use bytes::BytesMut;
use dragstrip_http3::{Reader, WithKeys};
use quinn::ConnectionId;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::crypto::{self, CryptoError, Keys, PacketKey, Session, UnsupportedVersion};
use quinn_proto::transport_parameters::TransportParameters;

/// Frames (RFC 9000 section 19).
const PADDING: u8 = 0x00;
const PING: u8 = 0x01;
const NEW_CONNECTION_ID: u64 = 0x18;

/// rustls' configuration for such connections.
pub(super) struct Config(pub Arc<QuicServerConfig>);

impl crypto::ServerConfig for Config {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: &ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        self.0.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.0.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let inner = self.0.clone().start_session(version, params);
        let mut shaken = false;
        let replace = move |mut keys: Keys| {
            if shaken {
                keys.packet.local = Box::new(NoneToSpare(keys.packet.local));
            }
            shaken = true;
            keys
        };
        Box::new(WithKeys { inner, replace })
    }
}

/// A key of 1-RTT packets that offers no connection id.
struct NoneToSpare(Box<dyn PacketKey>);

impl PacketKey for NoneToSpare {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let end = buf.len() - self.0.tag_len();
        take_back(&mut buf[header_len..end]);
        self.0.encrypt(packet, buf, header_len);
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

fn take_back(payload: &mut [u8]) {
    for (start, end) in offers(payload) {
        payload[start] = PING;
        payload[start + 1..end].fill(PADDING);
    }
}

/// Where NEW_CONNECTION_ID frames begin and end. quinn writes them before data.
fn offers(payload: &[u8]) -> Vec<(usize, usize)> {
    let mut reader = Reader::new(payload);
    let mut found = Vec::new();
    loop {
        let start = reader.at();
        let Some(kind) = reader.frame() else {
            return found;
        };
        if kind == NEW_CONNECTION_ID {
            found.push((start, reader.at()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second id: 8 bytes, and its token.
    fn offer() -> Vec<u8> {
        [&[0x18, 1, 0, 8][..], &[0xaa; 8], &[0xbb; 16]].concat()
    }

    #[test]
    fn an_offer_becomes_a_ping() {
        // HANDSHAKE_DONE, ACK of 3 to 5 and 0 to 1, CRYPTO of 2 bytes, MAX_STREAMS.
        let before = [0x1e, 2, 5, 0, 1, 2, 0, 1, 6, 0, 2, 7, 7, 0x12, 5];
        let after = [0x0b, 0, 0, 0x18, 1]; // a STREAM frame that happens to look like an offer
        let mut payload = [&before[..], &offer(), &offer(), &after].concat();
        take_back(&mut payload);
        let ping = [&[PING][..], &[0; 27]].concat();
        assert_eq!(payload, [&before[..], &ping, &ping, &after].concat());
    }

    #[test]
    fn what_offers_nothing_is_left_as_it_is() {
        let stream = [&[0x08, 0][..], &offer()].concat();
        let unknown = [&[0x40, 0xfe][..], &offer()].concat();
        let cut = offer()[..20].to_vec();
        for payload in [stream, unknown, cut, vec![0; 40], vec![]] {
            let mut taken = payload.clone();
            take_back(&mut taken);
            assert_eq!(taken, payload);
        }
    }
}

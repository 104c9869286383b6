//! Changes quinn's packets before they are encrypted, because quinn lacks settings for that.
//!
//! It removes spare connection ids. quinn gives a client another connection id in a
//! NEW_CONNECTION_ID frame, and repeats the frame until it is acknowledged. Chromium does not
//! acknowledge a packet that has only such a frame a second time (quiche's
//! `QuicConnection::OnNewConnectionIdFrame`). quinn's probes carry the oldest data first. So if the
//! frame's acknowledgement is lost, probes carry only this frame, at growing intervals, and a lost
//! answer behind it is not repeated for minutes. A client that may not change its address needs
//! no other id, so the frame
//! is replaced by a PING, which is acknowledged, and padding.
//!
//! This module also detects packets that only acknowledge, which quinn's controllers do not, and
//! reads what the client counts of ECN.

use std::sync::Arc;

use bytes::BytesMut;
use dragstrip_http3::{PacketKeys, Reader, WithKeys};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::crypto::{self, CryptoError, Keys, PacketKey, Session, UnsupportedVersion};
use quinn::{ConnectionId, Side};
use quinn_proto::transport_parameters::TransportParameters;

use crate::algorithms::Ecn;
use crate::offers::Heard;
use crate::quic::ecn;
use crate::quic::flow::{Flow, Space};
use crate::quic::parameters::offer;

/// Types of frames (RFC 9000 section 19).
const PADDING: u64 = 0x00;
const PING: u8 = 0x01;
const ACK: u64 = 0x02;
const ACK_ECN: u64 = 0x03;
const NEW_CONNECTION_ID: u64 = 0x18;

/// rustls' configuration for such a connection, which also tells what its ends offer each other.
pub(super) struct Config {
    pub rustls: Arc<QuicServerConfig>,
    pub heard: Heard,
    pub flow: Arc<Flow>,
    pub ecn: Ecn,
    /// Whether clients may change their address, and so get spare connection ids.
    pub spares: bool,
}

impl Config {
    /// Lets a key of the client's packets read what they count of our packets.
    fn counts(&self, space: Space) -> impl Fn(Box<dyn PacketKey>) -> Box<dyn PacketKey> + use<> {
        let (flow, ecn) = (self.flow.clone(), self.ecn);
        move |inner| match ecn {
            Ecn::Off => inner,
            Ecn::Classic | Ecn::Scalable => Box::new(Counting {
                inner,
                flow: flow.clone(),
                space,
                swap: ecn == Ecn::Scalable,
            }),
        }
    }
}

impl crypto::ServerConfig for Config {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: &ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        self.rustls.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.rustls.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let inner = self.rustls.clone().start_session(version, params);
        self.heard.ours(offer(params, Side::Server));
        let (flow, spares) = (self.flow.clone(), self.spares);
        let mut shaken = false;
        let (first, later) = (self.counts(Space::Initial), self.counts(Space::Data));
        let (handshake, data) = (self.counts(Space::Handshake), self.counts(Space::Data));
        let initial = move |mut keys: Keys| {
            keys.packet.remote = first(keys.packet.remote);
            keys
        };
        let renew = move |mut keys: PacketKeys| {
            keys.remote = later(keys.remote);
            keys
        };
        let replace = move |mut keys: Keys| {
            let counts: &dyn Fn(_) -> _ = if shaken { &data } else { &handshake };
            keys.packet.remote = counts(keys.packet.remote);
            if shaken {
                keys.packet.local = Box::new(Watched {
                    inner: keys.packet.local,
                    flow: flow.clone(),
                    spares,
                });
            }
            shaken = true;
            keys
        };
        let theirs = self.heard.clone();
        let heard = move |params: &_| theirs.theirs(offer(params, Side::Client));
        Box::new(WithKeys {
            inner,
            initial,
            replace,
            renew,
            heard,
        })
    }
}

/// A key of 1-RTT packets. It offers no connection ids, unless the client gets spare ones, and
/// reports what a packet is for.
struct Watched {
    inner: Box<dyn PacketKey>,
    flow: Arc<Flow>,
    spares: bool,
}

impl PacketKey for Watched {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let end = buf.len() - self.inner.tag_len();
        let payload = &mut buf[header_len..end];
        if !self.spares {
            take_back(payload);
        }
        self.flow.make(only_acknowledges(payload));
        self.inner.encrypt(packet, buf, header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(packet, header, payload)
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

/// A key of the client's packets that tells what they count of our packets.
struct Counting {
    inner: Box<dyn PacketKey>,
    flow: Arc<Flow>,
    space: Space,
    /// Whether our packets are ECT(1), so that the counts of ECT(0) and ECT(1) change places.
    swap: bool,
}

impl PacketKey for Counting {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        self.inner.encrypt(packet, buf, header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(packet, header, payload)?;
        if let Some(counts) = ecn::counts(payload, self.swap) {
            self.flow.count(self.space, counts);
        }
        Ok(())
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

fn take_back(payload: &mut [u8]) {
    for (start, end) in offers(payload) {
        payload[start] = PING;
        payload[start + 1..end].fill(PADDING as u8);
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

/// Whether nothing in the packet asks for an acknowledgement (RFC 9000 section 13.2.1).
fn only_acknowledges(payload: &[u8]) -> bool {
    let mut reader = Reader::new(payload);
    while reader.at() < payload.len() {
        if !matches!(reader.frame(), Some(PADDING | ACK | ACK_ECN)) {
            return false;
        }
    }
    true
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

    #[test]
    fn packets_that_only_acknowledge_are_told_apart() {
        let ack = [2, 5, 0, 1, 2, 0, 1];
        let ecn = [3, 5, 0, 0, 2, 1, 2, 3];
        let padded = [&ack[..], &[0; 9]].concat();
        for payload in [&ack[..], &ecn, &padded] {
            assert!(only_acknowledges(payload), "{payload:?}");
        }
        let ping = [&ack[..], &[PING]].concat();
        let stream = [&ecn[..], &[0x08, 0, 1]].concat();
        let cut = &ack[..4];
        for payload in [&ping[..], &stream, cut, &offer()] {
            assert!(!only_acknowledges(payload), "{payload:?}");
        }
    }
}

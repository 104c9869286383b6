//! A TLS session of QUIC whose packet keys are replaced.

use std::any::Any;

use quinn::crypto::{ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session};
use quinn::{ConnectionId, Side};
use quinn_proto::TransportError;
use quinn_proto::transport_parameters::TransportParameters;

pub type PacketKeys = KeyPair<Box<dyn PacketKey>>;

/// A TLS session whose packet keys are replaced. `initial` gets the keys of Initial packets,
/// `replace` those of Handshake packets first, and then those of 1-RTT packets; `renew` gets those
/// of later key phases. `heard` gets the peer's transport parameters.
pub struct WithKeys<I, F, R, P> {
    pub inner: Box<dyn Session>,
    pub initial: I,
    pub replace: F,
    pub renew: R,
    pub heard: P,
}

impl<I, F, R, P> Session for WithKeys<I, F, R, P>
where
    I: Fn(Keys) -> Keys + Send + Sync + 'static,
    F: FnMut(Keys) -> Keys + Send + Sync + 'static,
    R: FnMut(PacketKeys) -> PacketKeys + Send + Sync + 'static,
    P: Fn(&TransportParameters) + Send + Sync + 'static,
{
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        self.inner.write_handshake(buf).map(&mut self.replace)
    }

    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        (self.initial)(self.inner.initial_keys(dst_cid, side))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let parameters = self.inner.transport_parameters()?;
        parameters.iter().for_each(&self.heard);
        Ok(parameters)
    }

    fn next_1rtt_keys(&mut self) -> Option<PacketKeys> {
        self.inner.next_1rtt_keys().map(&mut self.renew)
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

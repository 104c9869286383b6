//! QUIC's TLS session, with Handshake packets as short as Chromium's (`first_flight`) and with as few
//! acknowledgements (`acks`).

use std::sync::Arc;
use std::time::Instant;

use dragstrip_http3::WithKeys;
use quinn::ConnectError;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::crypto::{self, Keys, Session};
use quinn_proto::transport_parameters::TransportParameters;

use crate::net::acks::Seldom;
use crate::net::first_flight::Unpadded;

/// rustls' configuration for such shortened sessions.
pub(super) struct Config(pub Arc<QuicClientConfig>);

impl crypto::ClientConfig for Config {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = self.0.clone().start_session(version, server_name, params)?;
        let begun = Instant::now();
        let mut rtt = None; // known once the keys of Handshake packets come
        let replace = move |mut keys: Keys| {
            match rtt {
                None => {
                    rtt = Some(begun.elapsed());
                    keys.packet.local = Box::new(Unpadded(keys.packet.local));
                }
                Some(rtt) => keys.packet.remote = Box::new(Seldom::new(keys.packet.remote, rtt)),
            }
            keys
        };
        Ok(Box::new(WithKeys {
            inner,
            initial: |keys| keys,
            replace,
            renew: |keys| keys,
            heard: |_: &TransportParameters| {},
        }))
    }
}

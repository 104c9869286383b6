//! TLS as both transports use it: same ciphers, same chain, tickets kept in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use rustls::crypto::ring::{self, cipher_suite};
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, StoresServerSessions};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};

use crate::certs::{Authority, Chains, Sent};
use crate::tuning::{Tls, TlsVersion};

const SESSIONS: usize = 4096;
/// Tickets given per connection. A TLS 1.3 ticket works once; h1 opens six connections at a time,
/// so two would run out.
const TICKETS: usize = 4;

/// Configurations of one transport; all share one store of sessions.
#[derive(Clone)]
pub(crate) struct Server {
    authority: Arc<Authority>,
    v1_2: ServerConfig,
    v1_3: ServerConfig,
    /// Most bytes of early data that are taken: QUIC has no such limit (RFC 9001 section 4.6.1).
    early_data: u32,
}

impl Server {
    pub fn new(authority: &Arc<Authority>, alpn: &[&str], early_data: u32) -> Result<Self> {
        let sessions = ServerSessionMemoryCache::new(SESSIONS);
        let with = |version| config(authority, alpn, version, sessions.clone());
        Ok(Self {
            authority: authority.clone(),
            v1_2: with(&TLS12)?,
            v1_3: with(&TLS13)?,
            early_data,
        })
    }

    /// Returns the configuration of one connection that may speak HTTP/1.1 and nothing else.
    pub fn tuned_for_h1(&self, tuning: Tls, sent: &Sent) -> ServerConfig {
        let mut config = self.tuned(tuning, sent);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config
    }

    /// Returns the configuration of one connection; `sent` learns the length of its certificate
    /// chain.
    pub fn tuned(&self, tuning: Tls, sent: &Sent) -> ServerConfig {
        let mut config = match tuning.version {
            TlsVersion::V1_2 => self.v1_2.clone(),
            TlsVersion::V1_3 => self.v1_3.clone(),
        };
        config.cert_resolver = Arc::new(Chains::new(&self.authority, tuning.chain_bytes(), sent));
        if !tuning.resumption {
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        if tuning.early_data {
            config.max_early_data_size = self.early_data;
            config.send_half_rtt_data = true;
        }
        config
    }
}

/// The order of preference is ours, so that every client gets the same cipher over TCP and QUIC.
fn config(
    authority: &Arc<Authority>,
    alpn: &[&str],
    version: &'static SupportedProtocolVersion,
    sessions: Arc<dyn StoresServerSessions>,
) -> Result<ServerConfig> {
    let mut provider = ring::default_provider();
    provider.cipher_suites = vec![
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    ];
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[version])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Chains::new(authority, 0, &Sent::default())));
    config.ignore_client_order = true;
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    config.session_storage = sessions;
    config.send_tls13_tickets = TICKETS;
    Ok(config)
}
/// Session storage of one handshake that remembers whether it gave a session away.
///
/// quinn does not say whether a handshake was resumed. rustls takes a stored session out exactly
/// when a client offers its ticket, and resumes it unless the server name or cipher differ, which
/// with one configuration and a ticket per name cannot happen.
#[derive(Debug)]
pub(crate) struct Witness {
    sessions: Arc<dyn StoresServerSessions>,
    taken: AtomicBool,
}

impl Witness {
    pub fn new(sessions: Arc<dyn StoresServerSessions>) -> Arc<Self> {
        Arc::new(Self {
            sessions,
            taken: AtomicBool::new(false),
        })
    }

    pub fn resumed(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }
}

impl StoresServerSessions for Witness {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.sessions.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.sessions.get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let session = self.sessions.take(key);
        self.taken.fetch_or(session.is_some(), Ordering::Relaxed);
        session
    }

    fn can_cache(&self) -> bool {
        self.sessions.can_cache()
    }
}

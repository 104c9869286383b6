//! TLS as both transports use it: same ciphers, same chain, tickets kept in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use rustls::ServerConfig;
use rustls::compress::CompressionCache;
use rustls::crypto::ring::{self, cipher_suite};
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, StoresServerSessions};
use rustls::version::{TLS12, TLS13};

use crate::certs::{Authority, Chain, Chains, KeyShare, Showing};
use crate::tuning::{Tls, TlsVersion};

const SESSIONS: usize = 4096;
/// Tickets given per connection. A TLS 1.3 ticket works once; h1 opens six connections at a time,
/// so two would run out.
const TICKETS: usize = 4;

/// Configurations of one transport; all share one store of sessions.
#[derive(Clone)]
pub(crate) struct Server {
    authority: Arc<Authority>,
    made: BTreeMap<(TlsVersion, KeyShare), ServerConfig>,
    /// Most bytes of early data that are taken: QUIC has no such limit (RFC 9001 section 4.6.1).
    early_data: u32,
}

impl Server {
    pub fn new(authority: &Arc<Authority>, alpn: &[&str], early_data: u32) -> Result<Self> {
        let sessions = ServerSessionMemoryCache::new(SESSIONS);
        let mut made = BTreeMap::new();
        for kind in TlsVersion::ALL {
            for share in KeyShare::ALL {
                let config = config(authority, alpn, kind, share, sessions.clone())?;
                made.insert((kind, share), config);
            }
        }
        Ok(Self {
            authority: authority.clone(),
            made,
            early_data,
        })
    }

    /// Returns the configuration of one connection that may speak HTTP/1.1 and nothing else.
    pub fn tuned_for_h1(&self, tuning: Tls, showing: &Showing) -> ServerConfig {
        let mut config = self.tuned(tuning, showing);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config
    }

    /// The configuration of one connection; `showing` tells of its certificates.
    pub fn tuned(&self, tuning: Tls, showing: &Showing) -> ServerConfig {
        let mut config = self.made[&(tuning.version, tuning.key_share)].clone();
        config.cert_resolver = Arc::new(Chains::new(&self.authority, tuning.chain, showing));
        config.cert_compressors = tuning.certificate_compression.compressors();
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
    version: TlsVersion,
    share: KeyShare,
    sessions: Arc<dyn StoresServerSessions>,
) -> Result<ServerConfig> {
    let mut provider = ring::default_provider();
    provider.kx_groups = share.groups();
    provider.cipher_suites = vec![
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    ];
    // TLS 1.2 knows no hybrid group, so its configuration is never used with one.
    let version = match (version, share) {
        (TlsVersion::V1_2, KeyShare::X25519 | KeyShare::P256) => &TLS12,
        _ => &TLS13,
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[version])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Chains::new(
            authority,
            Chain::default(),
            &Showing::default(),
        )));
    // Each handshake compresses its own, so that it can tell what it sent.
    config.cert_compression_cache = Arc::new(CompressionCache::Disabled);
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

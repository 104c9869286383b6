//! TLS by rustls. A certificate is chosen by name. Sessions are files, so a restart keeps them.
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{
    ClientHello, NoServerSessionStorage, ResolvesServerCert, StoresServerSessions,
};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::ServerConfig;

use crate::pages::{Failure, Server, Settings};

#[derive(Debug)]
struct ByName {
    hosts: HashMap<String, Arc<CertifiedKey>>,
    first: Arc<CertifiedKey>,
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = hello
            .server_name()
            .and_then(|name| self.hosts.get(&name.to_lowercase()));
        Some(Arc::clone(named.unwrap_or(&self.first)))
    }
}

#[derive(Debug)]
struct Sessions(PathBuf);

impl Sessions {
    fn file(&self, key: &[u8]) -> PathBuf {
        let mut name = String::new();
        for byte in key {
            let _ = write!(name, "{byte:02x}");
        }
        self.0.join(name)
    }
}

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        fs::write(self.file(&key), value).is_ok()
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        fs::read(self.file(key)).ok()
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let value = self.get(key);
        let _ = fs::remove_file(self.file(key));
        value
    }

    fn can_cache(&self) -> bool {
        true
    }
}

/// Makes the TLS of an address.
pub fn config(
    server: &Server,
    settings: &Settings,
    by: Arc<CryptoProvider>,
) -> Result<ServerConfig, Failure> {
    let mut hosts = HashMap::new();
    let mut first = None;
    for shown in &server.certificates {
        let chain = CertificateDer::pem_file_iter(&shown.certificate)?.collect::<Result<_, _>>()?;
        let key = PrivateKeyDer::from_pem_file(&shown.key)?;
        let pair = Arc::new(CertifiedKey::new(
            chain,
            by.key_provider.load_private_key(key)?,
        ));
        for host in &shown.hosts {
            hosts.insert(host.to_lowercase(), Arc::clone(&pair));
        }
        first.get_or_insert(pair);
    }
    let first = first.ok_or("an address has no certificate")?;
    let mut made = ServerConfig::builder_with_provider(by)
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ByName { hosts, first }));
    made.alpn_protocols = vec![b"h3".to_vec()];
    if settings.resumption {
        let folder = settings.folder.join("sessions");
        fs::create_dir_all(&folder)?;
        made.session_storage = Arc::new(Sessions(folder));
    } else {
        made.session_storage = Arc::new(NoServerSessionStorage {});
        made.send_tls13_tickets = 0;
    }
    Ok(made)
}

//! The origin as a whole, with its operations.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::certs::Chain;
use crate::lock::unpoisoned;
use crate::log::{Connection, Entries};
use crate::page::recording::Recording;
use crate::page::replay::Replay;
use crate::servers::Servers;
use crate::shared::Shared;
use crate::tcp::{fast_open, plain};
use crate::tuning::Tuning;
use crate::{quic, tcp};

/// The port of https, as URLs have it.
const HTTPS: u16 = 443;

/// What `Origin::page` reports about the recording it now serves.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub name: String,
    pub hosts: Vec<String>,
    pub objects: usize,
    /// Issuer of the certificates with which the origin answers.
    pub authority: String,
}

/// What another server needs to speak for this origin's hosts, in PEM.
#[derive(Debug, Serialize)]
pub struct Certificates {
    /// The private key of all leaves.
    pub key: String,
    /// The chain of each host: leaf and intermediate certificate.
    pub chains: BTreeMap<String, String>,
    /// One chain that covers all hosts, for servers that take a single certificate.
    pub shared: String,
}

/// A running server. It lives as long as the runtime it was bound in.
pub struct Origin {
    shared: Arc<Shared>,
    port: u16,
    /// The additional ports of pages, and whether each answers by TLS.
    others: Mutex<BTreeMap<u16, bool>>,
}

impl Origin {
    /// Listens on every address, TCP and UDP; port 0 takes a free one. IPv6 is left out where the
    /// machine has none.
    pub fn bind(port: u16, log: Option<File>) -> Result<Self> {
        let shared = Arc::new(Shared::new(log)?);
        let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let port = tcp::listen(v4, &shared, true, HTTPS)?
            .with_context(|| format!("{v4}: no IPv4 here"))?;
        let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        quic::listen(v4, &shared, HTTPS)?;
        let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        tcp::listen(v6, &shared, true, HTTPS)?;
        quic::listen(v6, &shared, HTTPS)?;
        Ok(Self {
            shared,
            port,
            others: Mutex::default(),
        })
    }

    /// Answers on another port of a page, either by TLS and QUIC or by neither.
    fn also(&self, port: u16, secure: bool) -> Result<()> {
        for address in [
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
        ] {
            tcp::listen(address, &self.shared, secure, port)?;
            if secure {
                quic::listen(address, &self.shared, port)?;
            }
        }
        Ok(())
    }

    /// Opens all ports of a recording and answers on them from now on.
    fn open_ports(&self, recording: &Recording) -> Result<()> {
        let mut others = unpoisoned(&self.others);
        for (port, how) in recording.ports() {
            for secure in how {
                match others.get(&port) {
                    Some(known) if *known == secure => {}
                    Some(_) => bail!("port {port} answers http and https: no server does both"),
                    None => {
                        self.also(port, secure)?;
                        others.insert(port, secure);
                    }
                }
            }
        }
        Ok(())
    }

    /// Answers http:// URLs on every address; returns the port.
    pub fn http(&self, port: u16) -> Result<u16> {
        let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let port = tcp::listen(v4, &self.shared, false, HTTPS)?.context("no IPv4 here")?;
        let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        tcp::listen(v6, &self.shared, false, HTTPS)?;
        Ok(port)
    }

    /// Answers plain HTTP/1.1 on a Unix socket, which must not exist yet.
    pub fn plain(&self, socket: &Path) -> Result<()> {
        plain::listen(socket, &self.shared)
    }

    /// Chains like those this origin sends. An error if a host is no DNS name.
    pub fn certificates(&self, hosts: &[String], chain: &Chain) -> Result<Certificates> {
        chain.check().context("chain")?;
        let authority = &self.shared.authority;
        let mut made = HashMap::new();
        let mut chains = BTreeMap::new();
        for host in hosts {
            let names = authority.names(host);
            if !made.contains_key(&names) {
                made.insert(names.clone(), authority.files(&names, chain)?.chain);
            }
            chains.insert(host.clone(), made[&names].clone());
        }
        let shared = authority.files(hosts, chain)?;
        Ok(Certificates {
            key: shared.key,
            chains,
            shared: shared.chain,
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The root certificate that most clients must trust.
    pub fn root_pem(&self) -> String {
        self.shared.authority.root_pem()
    }

    /// The root certificates a client must trust, one for each kind of key.
    pub fn roots_pem(&self) -> Result<String> {
        self.shared.authority.roots_pem()
    }

    /// Serves hosts at these addresses and with these certificates from now on, and answers 421 at any
    /// other address.
    pub fn place(&self, servers: Servers) {
        self.shared.authority.share(&servers.certificates);
        *unpoisoned(&self.shared.servers) = servers;
    }

    /// Serves this recording from now on. Issues its certificates first, so that no visit waits for
    /// one. With `think` each answer takes as long as it did when recorded; without, only a long
    /// poll's does.
    pub fn page(&self, path: &Path, think: bool) -> Result<Summary> {
        let mut recording = Recording::open(path)?;
        recording.thinks = think;
        self.open_ports(&recording)
            .with_context(|| path.display().to_string())?;
        let hosts = recording.hosts();
        self.issue(&hosts, &self.shared.tuning())
            .with_context(|| path.display().to_string())?;
        unpoisoned(&self.shared.hosts).clone_from(&hosts);
        let summary = Summary {
            name: recording.name.clone(),
            hosts,
            objects: recording.entries.len(),
            authority: self.shared.authority.name().to_owned(),
        };
        *unpoisoned(&self.shared.replay) = Replay::new(recording);
        Ok(summary)
    }

    fn issue(&self, hosts: &[String], tuning: &Tuning) -> Result<()> {
        for host in hosts {
            self.shared.authority.issue(host, &tuning.tls.chain)?;
        }
        Ok(())
    }

    /// Sets the tuning of connections accepted from now on. An error, and no change, if it is not
    /// available.
    pub fn tune(&self, tuning: Tuning) -> Result<Tuning> {
        tuning.check()?;
        self.issue(&unpoisoned(&self.shared.hosts), &tuning)?;
        for listener in unpoisoned(&self.shared.listeners).iter() {
            fast_open::set(listener, tuning.tcp.fast_open).context("tune.tcp.fast_open")?;
        }
        *unpoisoned(&self.shared.tuning) = tuning.clone();
        Ok(tuning)
    }

    /// Connections accepted from now on write qlog into this folder; None ends that.
    pub fn qlog(&self, folder: Option<PathBuf>) {
        *unpoisoned(&self.shared.qlog) = folder;
    }

    /// Ends every connection, including open streams, and starts repeated entries from the first
    /// again. Session tickets stay valid. Returns the numbers of connections (tcp, quic).
    pub async fn close(&self) -> (usize, usize) {
        let counts = self.shared.connections.close().await;
        unpoisoned(&self.shared.replay).rewind();
        counts
    }

    /// The connections logged since the last `log`, as they stand now; they stay in the log.
    pub fn connections(&self) -> Vec<Connection> {
        self.shared.log.connections()
    }

    /// What was logged since the last call.
    pub fn log(&self) -> Entries {
        self.shared.log.drain()
    }
}

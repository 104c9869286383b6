//! A NAT at the client's end that loses its mappings.
//!
//! Until it first does, every flow keeps its address and port. From each loss on, a flow that sends
//! gets a new mapping (RFC 4787 section 4.1: one for each address and port of the client, whatever
//! it sends to), and what still comes to an old one is dropped.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::frame::{IP, complete, updated};
use crate::ip::{Parts, TCP, UDP};
use crate::model::DropCause;

/// The NAT has no mapping for the packet.
pub const UNMAPPED: DropCause = DropCause::new("nat");

const TCP_FLAGS: usize = 13;
const SYN_ACK: u8 = 0b1_0010;
const SYN: u8 = 0b10;
/// Ports that mappings get one after the other: below those from which clients choose (32768).
const FIRST_PORT: u16 = 20_000;
const LAST_PORT: u16 = 32_767;

/// What the NAT forgets.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rebind {
    pub what: What,
    /// Whether the NAT forgets TCP connections too: packets of connections that opened before are
    /// dropped.
    #[serde(default)]
    pub drops_tcp: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// UDP flows get another port.
    Port,
    /// The client gets another address. UDP flows keep their ports, and so do TCP connections that
    /// are new.
    Address,
}

/// What a NAT did after it had lost its mappings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rebinding {
    pub what: What,
    /// Address and port of UDP flows at the client, and how they appeared to the origin.
    pub mappings: Vec<(SocketAddr, SocketAddr)>,
}

/// The client's end of a packet, and the other.
#[derive(Clone, Copy)]
struct Ends {
    client: SocketAddr,
    origin: SocketAddr,
    tcp: bool,
    opens: bool,
}

/// One direction's view of the NAT.
#[derive(Clone, Default)]
pub struct Nat(Option<Arc<Shared>>);

struct Shared {
    /// The times of the losses, and what the NAT forgets at each.
    losses: Vec<(u64, Rebind)>,
    zero_ns: Mutex<Option<u64>>,
    end_ns: Mutex<Option<u64>>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    ports: u16,
    /// Mappings of UDP, by epoch: out and back.
    out: HashMap<(usize, SocketAddr), SocketAddr>,
    back: HashMap<(usize, SocketAddr), SocketAddr>,
    /// TCP connections that opened after the first loss, each with its epoch and the client's own
    /// address.
    tcp: HashMap<(SocketAddr, SocketAddr), (usize, IpAddr)>,
    /// Mappings by epoch, in the order in which they were made.
    made: BTreeMap<usize, Vec<(SocketAddr, SocketAddr)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Nat {
    /// Makes a NAT. `losses` are times after the steps' zero.
    pub fn new(losses: Vec<(u64, Rebind)>) -> Self {
        let shared = Shared {
            losses,
            zero_ns: Mutex::default(),
            end_ns: Mutex::default(),
            table: Mutex::default(),
        };
        Self((!shared.losses.is_empty()).then(|| Arc::new(shared)))
    }

    /// Sets the time from which the losses count.
    pub fn start(&self, zero_ns: u64) {
        if let Some(shared) = &self.0 {
            *lock(&shared.zero_ns) = Some(zero_ns);
        }
    }

    /// Ends the losses: the NAT forgets nothing after `at_ns`, and TCP keeps all its mappings.
    pub fn end(&self, at_ns: u64) {
        if let Some(shared) = &self.0 {
            *lock(&shared.end_ns) = Some(at_ns);
        }
    }

    /// Whether the NAT has forgotten anything by `at_ns`.
    pub fn forgot(&self, at_ns: u64) -> bool {
        self.0
            .as_ref()
            .is_some_and(|shared| shared.epoch(at_ns) > 0)
    }

    /// Writes a frame of the client as the origin sees it; false if the NAT drops the frame.
    /// `at_ns` is when the frame reached the NAT.
    pub fn out(&self, frame: &mut [u8], at_ns: u64) -> bool {
        let Some((shared, epoch)) = self.epoch(at_ns) else {
            return true;
        };
        let Some(ends) = ends(frame, true) else {
            return true;
        };
        let seen = if ends.tcp {
            shared.tcp_out(&ends, epoch)
        } else {
            Some(shared.udp_out(ends.client, epoch))
        };
        if let Some(seen) = seen {
            write(frame, true, ends.client, seen);
        }
        seen.is_some()
    }

    /// Writes a frame of the origin as the client sees it; false if no mapping is known for it.
    pub fn back(&self, frame: &mut [u8], at_ns: u64) -> bool {
        let Some((shared, epoch)) = self.epoch(at_ns) else {
            return true;
        };
        let Some(ends) = ends(frame, false) else {
            return true;
        };
        let own = if ends.tcp {
            shared.tcp_back(&ends, epoch)
        } else {
            lock(&shared.table).back.get(&(epoch, ends.client)).copied()
        };
        if let Some(own) = own {
            write(frame, false, ends.client, own);
        }
        own.is_some()
    }

    /// Writes a frame that `out` has written as the client sent it.
    pub fn undo(&self, frame: &mut [u8], at_ns: u64) {
        let Some((shared, epoch)) = self.epoch(at_ns) else {
            return;
        };
        let Some(ends) = ends(frame, true) else {
            return;
        };
        let own = if ends.tcp {
            shared.tcp_back(&ends, epoch)
        } else {
            lock(&shared.table).back.get(&(epoch, ends.client)).copied()
        };
        if let Some(own) = own {
            write(frame, true, ends.client, own);
        }
    }

    /// Reports what the NAT did after its loss at `after_ns`; None if there was no such loss.
    pub fn report(&self, after_ns: u64) -> Option<Rebinding> {
        let shared = self.0.as_ref()?;
        let place = (shared.losses.iter()).position(|(at_ns, _)| *at_ns == after_ns)?;
        let made = lock(&shared.table).made.get(&(place + 1)).cloned();
        Some(Rebinding {
            what: shared.losses[place].1.what,
            mappings: made.unwrap_or_default(),
        })
    }

    /// Returns the epoch at `at_ns`; None before the first loss.
    fn epoch(&self, at_ns: u64) -> Option<(&Shared, usize)> {
        let shared = self.0.as_ref()?;
        let epoch = shared.epoch(at_ns);
        (epoch > 0).then_some((shared, epoch))
    }
}

impl Shared {
    /// The number of losses by `at_ns`.
    fn epoch(&self, at_ns: u64) -> usize {
        let Some(zero_ns) = *lock(&self.zero_ns) else {
            return 0;
        };
        let end_ns = lock(&self.end_ns).unwrap_or(u64::MAX);
        let since_ns = at_ns.min(end_ns).checked_sub(zero_ns);
        since_ns.map_or(0, |since_ns| {
            self.losses
                .partition_point(|(loss_ns, _)| *loss_ns <= since_ns)
        })
    }

    /// The client's address as the origin sees it in an epoch.
    fn address(&self, own: IpAddr, epoch: usize) -> IpAddr {
        let changes = (self.losses[..epoch].iter())
            .filter(|(_, loss)| loss.what == What::Address)
            .count() as u16;
        match own {
            _ if changes == 0 => own,
            // RFC 6598: addresses between subscribers and a NAT of their provider.
            IpAddr::V4(_) => Ipv4Addr::from(0x6440_0000 + u32::from(changes)).into(),
            IpAddr::V6(_) => Ipv6Addr::new(0xfd64, 0, 0, 0, 0, 0, 0, changes).into(),
        }
    }

    /// Whether TCP connections that opened in an epoch still have their mapping in a later one.
    fn keeps_tcp(&self, opened: usize, epoch: usize) -> bool {
        let ended = lock(&self.end_ns).is_some();
        ended
            || epoch <= opened
            || !self.losses[opened..epoch]
                .iter()
                .any(|(_, loss)| loss.drops_tcp)
    }

    fn udp_out(&self, own: SocketAddr, epoch: usize) -> SocketAddr {
        let mut table = lock(&self.table);
        if let Some(seen) = table.out.get(&(epoch, own)) {
            return *seen;
        }
        let port = match self.losses[epoch - 1].1.what {
            What::Address => own.port(),
            What::Port => table.port(),
        };
        let seen = SocketAddr::new(self.address(own.ip(), epoch), port);
        table.out.insert((epoch, own), seen);
        table.back.insert((epoch, seen), own);
        table.made.entry(epoch).or_default().push((own, seen));
        seen
    }

    fn tcp_out(&self, ends: &Ends, epoch: usize) -> Option<SocketAddr> {
        let mut table = lock(&self.table);
        if ends.opens {
            let seen = SocketAddr::new(self.address(ends.client.ip(), epoch), ends.client.port());
            (table.tcp).insert((seen, ends.origin), (epoch, ends.client.ip()));
            return Some(seen);
        }
        // The connection may have opened in any epoch; the latest one counts.
        let opened = (0..=epoch).rev().find_map(|then| {
            let seen = SocketAddr::new(self.address(ends.client.ip(), then), ends.client.port());
            let known = table.tcp.get(&(seen, ends.origin));
            known.map(|(opened, _)| (*opened, seen))
        });
        let (opened, seen) = opened.unwrap_or((0, ends.client));
        self.keeps_tcp(opened, epoch).then_some(seen)
    }

    fn tcp_back(&self, ends: &Ends, epoch: usize) -> Option<SocketAddr> {
        let table = lock(&self.table);
        let known = table.tcp.get(&(ends.client, ends.origin));
        let (opened, own) = known.copied().unwrap_or((0, ends.client.ip()));
        let kept = self.keeps_tcp(opened, epoch);
        kept.then_some(SocketAddr::new(own, ends.client.port()))
    }
}

impl Table {
    fn port(&mut self) -> u16 {
        let port = FIRST_PORT + self.ports;
        self.ports = (self.ports + 1) % (LAST_PORT - FIRST_PORT + 1);
        port
    }
}

/// Reads both ends of a frame; None if it is neither TCP nor UDP, or a fragment.
fn ends(frame: &[u8], client_sends: bool) -> Option<Ends> {
    let ip = frame.get(IP..)?;
    let parts = Parts::of(ip)?;
    let segment = parts.whole(ip)?;
    let (tcp, flags) = match parts.protocol {
        TCP => (true, *segment.get(TCP_FLAGS)?),
        UDP => (false, 0),
        _ => return None,
    };
    let port = |place: usize| {
        let bytes = segment.get(place..place + 2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    };
    let source = SocketAddr::new(address(&ip[parts.source])?, port(0)?);
    let destination = SocketAddr::new(address(&ip[parts.destination])?, port(2)?);
    let (client, origin) = if client_sends {
        (source, destination)
    } else {
        (destination, source)
    };
    Some(Ends {
        client,
        origin,
        tcp,
        opens: flags & SYN_ACK == SYN,
    })
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        _ => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Writes the client's end of a frame, and corrects its checksums.
fn write(frame: &mut [u8], client_sends: bool, before: SocketAddr, after: SocketAddr) {
    if before == after {
        return;
    }
    let Some(at) = frame.get(IP..).and_then(Parts::of) else {
        return;
    };
    complete(frame);
    let transport = IP + at.payload;
    let (address, port) = if client_sends {
        (at.source, transport)
    } else {
        (at.destination, transport + 2)
    };
    let old: Vec<u8> = [octets(before.ip()), before.port().to_be_bytes().to_vec()].concat();
    let new: Vec<u8> = [octets(after.ip()), after.port().to_be_bytes().to_vec()].concat();
    let ip_bytes = old.len() - 2;
    frame[IP..][address].copy_from_slice(&new[..ip_bytes]);
    frame[port..port + 2].copy_from_slice(&new[ip_bytes..]);
    if before.is_ipv4() {
        correct(frame, IP + 10, &old[..ip_bytes], &new[..ip_bytes]);
    }
    // RFC 768: over IPv4 a checksum of 0 means none.
    let (field, optional) = match at.protocol {
        TCP => (transport + 16, false),
        _ => (transport + 6, true),
    };
    if optional && frame.get(field..field + 2) == Some(&[0, 0]) {
        return;
    }
    correct(frame, field, &old, &new);
    if optional && frame.get(field..field + 2) == Some(&[0, 0]) {
        frame[field..field + 2].copy_from_slice(&[0xff, 0xff]);
    }
}

fn correct(frame: &mut [u8], field: usize, old: &[u8], new: &[u8]) {
    let Some(bytes) = frame.get(field..field + 2) else {
        return;
    };
    let mut sum = u16::from_be_bytes([bytes[0], bytes[1]]);
    for (old, new) in old.chunks(2).zip(new.chunks(2)) {
        let word = |pair: &[u8]| u16::from_be_bytes([pair[0], pair[1]]);
        sum = updated(sum, word(old), word(new));
    }
    frame[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
#[path = "nat_tests.rs"]
mod tests;

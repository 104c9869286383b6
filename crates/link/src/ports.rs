//! Selects the packets that the link shapes: those of some ports, or all.

use crate::ip::{Parts, TCP, UDP};

/// Ranges of ports, both ends included; none means that every packet is shaped.
#[derive(Clone, Default)]
pub struct Ports(Vec<(u16, u16)>);

impl Ports {
    pub fn new(ranges: Vec<(u16, u16)>) -> Self {
        Self(ranges)
    }

    pub fn some(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether a port at either end of an IP packet is one of these. A fragment is shaped, because
    /// its port may be in another; what is neither TCP nor UDP is not.
    pub fn shape(&self, ip: &[u8]) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let one_of = |port: u16| (self.0.iter()).any(|&(from, to)| (from..=to).contains(&port));
        match read(ip) {
            Kind::Ports(source, destination) => one_of(source) || one_of(destination),
            Kind::Fragment => true,
            Kind::Other => false,
        }
    }
}

enum Kind {
    Ports(u16, u16),
    Fragment,
    Other,
}

fn read(ip: &[u8]) -> Kind {
    let Some(parts) = Parts::of(ip) else {
        return Kind::Other;
    };
    match (
        parts.protocol,
        parts.whole(ip).and_then(|p| p.first_chunk()),
    ) {
        _ if parts.fragment => Kind::Fragment,
        (TCP | UDP, Some(&[a, b, c, d])) => {
            Kind::Ports(u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet from port 40000 to 443.
    fn v4(protocol: u8) -> Vec<u8> {
        let mut ip = vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, protocol, 0, 0];
        ip.extend([10, 64, 0, 1, 10, 64, 1, 1]);
        ip.extend([40000u16.to_be_bytes(), 443u16.to_be_bytes()].concat());
        ip
    }

    fn v6(next: u8) -> Vec<u8> {
        let mut ip = vec![0x60, 0, 0, 0, 0, 8, next, 64];
        ip.extend([[0xfd; 16], [0xfe; 16]].concat());
        ip.extend([40000u16.to_be_bytes(), 443u16.to_be_bytes()].concat());
        ip
    }

    #[test]
    fn either_end_of_tcp_and_udp_counts() {
        for ip in [v4(TCP), v4(UDP), v6(TCP), v6(UDP)] {
            for ranges in [
                vec![(443, 443)],
                vec![(1, 80), (400, 500)],
                vec![(40000, 40000)],
            ] {
                assert!(Ports::new(ranges).shape(&ip));
            }
            assert!(!Ports::new(vec![(444, 39999)]).shape(&ip));
            assert!(Ports::default().shape(&ip));
        }
    }

    #[test]
    fn a_fragment_is_shaped_and_what_has_no_ports_is_not() {
        let ports = Ports::new(vec![(1, 1)]);
        let mut fragment = v4(UDP);
        fragment[7] = 0xb9;
        assert!(ports.shape(&fragment));
        let offset = [0, 0, 8, 0, 0, 0, 9];
        assert!(ports.shape(&crate::ip::tests::v6(&[(44, &offset)], UDP, &[7; 8])));
        assert!(!Ports::new(vec![(0, 65535)]).shape(&v4(1)));
        for bytes in [&[][..], &[0x45], &[0x60; 20], &[0xff; 60]] {
            assert!(!ports.shape(bytes));
        }
    }
}

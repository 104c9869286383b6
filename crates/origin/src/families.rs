//! Address families that a machine can lack.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

/// Whether binding to `address` failed because this machine has no IPv6.
pub(crate) fn no_ipv6(address: SocketAddr, error: &io::Error) -> bool {
    let missing = error.raw_os_error() == Some(97) || error.kind() == ErrorKind::AddrNotAvailable;
    address.is_ipv6() && missing
}

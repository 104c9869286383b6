//! TCP Fast Open on the listening sockets (RFC 7413).

use std::fs;
use std::io;

use anyhow::{Context, Result, ensure};
use socket2::Socket;

/// The setting of this network namespace.
const SETTING: &str = "/proc/sys/net/ipv4/tcp_fastopen";
/// The bit that lets servers take part (ip-sysctl.rst).
const SERVERS: u32 = 0x2;

/// Connections that were opened by data in a SYN and not confirmed yet. As many as may wait for
/// `accept`, so that a page's connections are never refused for their number.
const QUEUE: libc::c_int = 1024;

/// Returns an error if the kernel does not allow TCP Fast Open here.
pub(crate) fn check() -> Result<()> {
    let text = fs::read_to_string(SETTING).context(SETTING)?;
    let setting: u32 = text.trim().parse().context(SETTING)?;
    ensure!(
        setting & SERVERS != 0,
        "tune.tcp.fast_open: net.ipv4.tcp_fastopen is {setting} here and servers need {}; \
         run `sysctl -w net.ipv4.tcp_fastopen={}` in the origin's namespace",
        setting | SERVERS,
        setting | SERVERS
    );
    Ok(())
}

/// Turns TCP Fast Open on or off for SYNs that arrive from now on.
pub(crate) fn set(listener: &Socket, on: bool) -> io::Result<()> {
    let queue = if on { QUEUE } else { 0 };
    dragstrip_socket::set(listener, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, &queue)
}

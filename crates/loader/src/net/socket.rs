//! Opens TCP sockets as Chromium does, with TCP Fast Open, and reads what the kernel says of them.

use std::io;
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::os::fd::AsRawFd;

use dragstrip_socket::TcpInfo;
use socket2::{Domain, Socket, Type};
use tokio::net::{TcpSocket, TcpStream};

use crate::report::FastOpen;

/// linux/tcp.h: send data in the SYN where the kernel has a cookie, else ask for one.
const TCP_FASTOPEN_CONNECT: libc::c_int = 30;
/// linux/tcp.h, `tcp_fastopen_client_fail`.
const TFO_COOKIE_UNAVAILABLE: u8 = 1;

/// Connects. With `fast_open` and a cookie this returns at once, and the first write leaves with the SYN.
pub async fn connect(address: SocketAddr, fast_open: bool) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    if fast_open {
        let on: libc::c_int = 1;
        dragstrip_socket::set(&socket, libc::IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on)?;
    }
    let socket = TcpSocket::from_std_stream(StdTcpStream::from(socket));
    socket.connect(address).await
}

/// The kernel's state of a TCP connection.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub retransmitted: u64,
    pub rtt_us: Option<u64>,
    /// What came of TCP Fast Open, if it was asked for.
    pub fast_open: FastOpen,
}

pub fn kernel(socket: &impl AsRawFd) -> io::Result<Kernel> {
    let info = TcpInfo::of(socket)?;
    let fast_open = if info.syn_data() {
        FastOpen::Accepted
    } else if info.fast_open_failure() <= TFO_COOKIE_UNAVAILABLE {
        FastOpen::NoCookie
    } else {
        FastOpen::Refused
    };
    Ok(Kernel {
        sent_bytes: info.tcpi_bytes_sent.saturating_sub(info.tcpi_bytes_retrans),
        received_bytes: info.tcpi_bytes_received,
        retransmitted: info.tcpi_total_retrans.into(),
        rtt_us: (info.tcpi_rtt != 0).then_some(info.tcpi_rtt.into()),
        fast_open,
    })
}

//! TCP sockets as Chromium opens them, TCP Fast Open, and what the kernel says of them.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::os::fd::AsRawFd;

use socket2::{Domain, Socket, Type};
use tokio::net::{TcpSocket, TcpStream};

use crate::report::FastOpen;

/// linux/tcp.h: send data in the SYN where the kernel has a cookie, else ask for one.
const TCP_FASTOPEN_CONNECT: libc::c_int = 30;
/// linux/tcp.h: the peer acknowledged the data in our SYN.
const TCPI_OPT_SYN_DATA: u8 = 32;
/// linux/tcp.h, `tcp_fastopen_client_fail`.
const TFO_COOKIE_UNAVAILABLE: u8 = 1;

/// Connects. With `fast_open` and a cookie this returns at once, and the first write leaves with the SYN.
pub async fn connect(address: SocketAddr, fast_open: bool) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    if fast_open {
        ask_for_fast_open(&socket)?;
    }
    let socket = TcpSocket::from_std_stream(StdTcpStream::from(socket));
    socket.connect(address).await
}

fn ask_for_fast_open(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option reads one int, which is what `on` is.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            TCP_FASTOPEN_CONNECT,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// What the kernel knows of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub retransmitted: u64,
    pub rtt_us: Option<u64>,
    /// If it was asked for.
    pub fast_open: FastOpen,
}

pub fn kernel(socket: &impl AsRawFd) -> io::Result<Kernel> {
    let info = tcp_info(socket)?;
    // Two bits above `tcpi_delivery_rate_app_limited`, in the byte that libc leaves out.
    let failure = info.delivery_fastopen >> 1 & 0b11;
    let fast_open = if info.common.tcpi_options & TCPI_OPT_SYN_DATA != 0 {
        FastOpen::Accepted
    } else if failure <= TFO_COOKIE_UNAVAILABLE {
        FastOpen::NoCookie
    } else {
        FastOpen::Refused
    };
    let info = info.common;
    Ok(Kernel {
        sent_bytes: info.tcpi_bytes_sent.saturating_sub(info.tcpi_bytes_retrans),
        received_bytes: info.tcpi_bytes_received,
        retransmitted: info.tcpi_total_retrans.into(),
        rtt_us: (info.tcpi_rtt != 0).then_some(info.tcpi_rtt.into()),
        fast_open,
    })
}

struct TcpInfo {
    common: libc::tcp_info,
    /// The byte after `tcpi_snd_wscale`, `tcpi_rcv_wscale`.
    delivery_fastopen: u8,
}

/// Offset of that byte: six of one byte each, and the one with the window scales.
const DELIVERY_FASTOPEN_AT: usize = 7;

fn tcp_info(socket: &impl AsRawFd) -> io::Result<TcpInfo> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes of plain integers into memory of that size;
    // what an older kernel leaves out stays zero.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut length,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: within the zeroed structure, and a byte may have any value.
    let delivery_fastopen = unsafe { *info.as_ptr().cast::<u8>().add(DELIVERY_FASTOPEN_AT) };
    Ok(TcpInfo {
        // SAFETY: all zeros is a valid value, and so is whatever the kernel wrote.
        common: unsafe { info.assume_init() },
        delivery_fastopen,
    })
}

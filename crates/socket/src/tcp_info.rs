//! TCP_INFO, with the one field that libc leaves out.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::ops::Deref;
use std::os::fd::AsRawFd;

/// linux/tcp.h: data in the SYN was acknowledged with it.
const TCPI_OPT_SYN_DATA: u8 = 32;
/// linux/tcp.h: six fields of one byte each and the window scales come before
/// `tcpi_delivery_rate_app_limited` and `tcpi_fastopen_client_fail`, which share a byte.
const DELIVERY_AND_FAST_OPEN_AT: usize = 7;

/// The kernel's state of a TCP connection. A field that an older kernel lacks is 0.
pub struct TcpInfo {
    known: libc::tcp_info,
    delivery_and_fast_open: u8,
}

impl Deref for TcpInfo {
    type Target = libc::tcp_info;

    fn deref(&self) -> &Self::Target {
        &self.known
    }
}

impl TcpInfo {
    pub fn of(socket: &impl AsRawFd) -> io::Result<Self> {
        let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
        let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes of plain integers into memory of that
        // size; what an older kernel leaves out stays zero.
        let done = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: within the zeroed structure, and a byte may have any value.
        let shared = unsafe { *info.as_ptr().cast::<u8>().add(DELIVERY_AND_FAST_OPEN_AT) };
        Ok(Self {
            // SAFETY: all zeros is a valid value, and so is whatever the kernel wrote.
            known: unsafe { info.assume_init() },
            delivery_and_fast_open: shared,
        })
    }

    /// Whether the data in the SYN was taken (TCP Fast Open). Either end may ask.
    pub fn syn_data(&self) -> bool {
        self.tcpi_options & TCPI_OPT_SYN_DATA != 0
    }

    /// Returns why a client's SYN took no data: linux/tcp.h, `tcp_fastopen_client_fail`.
    pub fn fast_open_failure(&self) -> u8 {
        self.delivery_and_fast_open >> 1 & 0b11
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_is_known_and_a_file_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = TcpInfo::of(&stream).unwrap();
        assert!(info.tcpi_snd_mss > 0 && info.tcpi_snd_cwnd > 0);
        assert!(!info.syn_data());

        let file = std::fs::File::open("/dev/null").unwrap();
        let error = TcpInfo::of(&file).err().unwrap();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTSOCK));
    }

    #[test]
    fn an_option_is_set_or_its_error_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let on: libc::c_int = 1;
        let (tcp, nodelay) = (libc::IPPROTO_TCP, libc::TCP_NODELAY);
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(!stream.nodelay().unwrap());
        crate::set(&stream, tcp, nodelay, &on).unwrap();
        assert!(stream.nodelay().unwrap());
        let error = crate::set(&stream, tcp, 9999, &on).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT));
    }
}

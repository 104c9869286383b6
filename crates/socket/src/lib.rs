//! Socket options and statistics of the kernel for which no library has a safe call.

mod tcp_info;

use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;

use libc::{c_int, socklen_t};

pub use tcp_info::TcpInfo;

/// Sets a socket option. `value` is of the option's type in C.
pub fn set<T: Copy>(
    socket: &impl AsRawFd,
    level: c_int,
    option: c_int,
    value: &T,
) -> io::Result<()> {
    let (at, length) = (std::ptr::from_ref(value).cast(), size_of::<T>());
    // SAFETY: the kernel reads at most `length` bytes, and `value` has that many during the call.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, at, length as socklen_t) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

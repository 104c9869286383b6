//! Wraps the system calls for sending on packet sockets. Each error says what was attempted.

use std::ffi::CString;
use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use anyhow::{Context, Result, bail, ensure};
use libc::c_int;

/// `struct virtio_net_hdr`: in front of every frame on our sockets it carries what the kernel
/// still owes the frame (checksum, segmentation), so that any frame can be forwarded as it came.
pub const VNET_HEADER: usize = 10;

/// A network interface of this namespace.
#[derive(Clone, Debug)]
pub struct Interface {
    pub name: String,
    index: c_int,
}

impl Interface {
    pub fn find(name: &str) -> Result<Self> {
        let c_name = CString::new(name).context("an interface name has no zero byte")?;
        // SAFETY: `c_name` is a C string that outlives the call.
        let index = unsafe { libc::if_nametoindex(c_name.as_ptr()) };
        ensure!(
            index > 0,
            "there is no interface {name:?} in this network namespace: see `ip link`"
        );
        Ok(Self {
            name: name.to_owned(),
            index: index.cast_signed(),
        })
    }
}

/// A raw packet socket that receives nothing until it is bound.
pub fn packet_socket() -> Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: a plain system call; on success it returns a descriptor that nothing else owns.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd >= 0 {
        return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::EPERM) {
        bail!("no right to open a packet socket: run as root or with CAP_NET_RAW");
    }
    Err(error).context("cannot open a packet socket")
}

/// Sets a socket option; `what` says in the error what the option does.
pub fn set_option<T: Copy>(
    fd: &OwnedFd,
    level: c_int,
    name: c_int,
    value: &T,
    what: &str,
) -> Result<()> {
    dragstrip_socket::set(fd, level, name, value).with_context(|| format!("cannot {what}"))
}

/// Binds the socket to an interface; with `protocol` 0 it receives nothing.
pub fn bind(fd: &OwnedFd, interface: &Interface, protocol: c_int) -> Result<()> {
    // SAFETY: all-zero is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = interface.index;
    let at = (&raw const address).cast();
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: `at` points to a sockaddr_ll of that length.
    match unsafe { libc::bind(fd.as_raw_fd(), at, length) } {
        0 => pending_error(fd, interface),
        _ => Err(io::Error::last_os_error())
            .with_context(|| format!("cannot bind to interface {:?}", interface.name)),
    }
}

/// The error the kernel keeps for a socket, such as its interface going down.
pub fn pending_error(fd: &OwnedFd, interface: &Interface) -> Result<()> {
    let mut error: c_int = 0;
    let mut length = size_of_val(&error) as libc::socklen_t;
    let at = (&raw mut error).cast();
    // SAFETY: `at` points to `length` writable bytes.
    unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            at,
            &raw mut length,
        )
    };
    match error {
        0 => Ok(()),
        libc::ENETDOWN => bail!(
            "interface {0:?} is down: `ip link set {0} up` before the link starts",
            interface.name
        ),
        _ => Err(io::Error::from_raw_os_error(error))
            .with_context(|| format!("interface {:?} failed", interface.name)),
    }
}

/// Frames given to the kernel by one call.
pub const BATCH: usize = 16;

/// What happened to the frames that were given to the kernel.
pub enum Sent {
    /// This number of frames, from the first one, are on their way.
    Some(usize),
    /// None now, because the kernel's own queue is full. The first frame may be sent again.
    Busy,
    /// The kernel refuses the first frame, for example because it is too long for the interface.
    Refused,
}

/// Sends frames out of an interface, past its queueing discipline.
pub struct Outlet {
    fd: OwnedFd,
}

impl Outlet {
    pub fn open(interface: &Interface) -> Result<Self> {
        let fd = packet_socket()?;
        for (option, what) in [
            (libc::PACKET_QDISC_BYPASS, "bypass the queueing discipline"),
            (libc::PACKET_VNET_HDR, "send frames with offload headers"),
        ] {
            set_option(&fd, libc::SOL_PACKET, option, &1, what)?;
        }
        bind(&fd, interface, 0)?;
        Ok(Self { fd })
    }

    /// Sends up to [`BATCH`] frames, in order. Each begins with its [`VNET_HEADER`].
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> Sent {
        // SAFETY: all-zero is a valid iovec and a valid mmsghdr.
        let (mut parts, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { std::mem::zeroed() };
        let mut count = 0;
        for ((frame, part), message) in frames.zip(&mut parts).zip(&mut messages) {
            part.iov_base = frame.as_ptr().cast_mut().cast();
            part.iov_len = frame.len();
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        let (fd, at) = (self.fd.as_raw_fd(), messages.as_mut_ptr());
        // SAFETY: the first `count` messages point to one readable frame each; none is written.
        let sent = unsafe { libc::sendmmsg(fd, at, count, 0) };
        if sent >= 0 {
            return Sent::Some(sent as usize);
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR) => Sent::Busy,
            _ => Sent::Refused,
        }
    }
}

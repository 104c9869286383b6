//! Receives the frames of an interface through a memory ring shared with the kernel (TPACKET_V2),
//! each with the time at which the kernel received it. Linux,
//! Documentation/networking/packet_mmap.rst.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use libc::{c_int, tpacket_req, tpacket_stats, tpacket2_hdr};

use crate::socket::{Interface, VNET_HEADER, bind, packet_socket, pending_error, set_option};

/// Frames of the ring: about 100 ms at 1 Gbit/s, longer than real-time throttling stops a thread.
const SLOTS: usize = 8192;
/// Header of a slot and link-layer header, rounded up.
const SLOT_OVERHEAD: usize = 128;
const BLOCK_BYTES: usize = 1 << 18;
/// Room in the socket's queue for frames that are too long for a slot.
const QUEUE_BYTES: c_int = 8 << 20;
const LONGEST_FRAME: usize = VNET_HEADER + (1 << 18);

/// A frame in the ring, valid until the next one is taken.
pub struct Frame<'a> {
    /// [`VNET_HEADER`] bytes, then the Ethernet frame.
    pub bytes: &'a [u8],
    /// When the kernel received the frame, on CLOCK_REALTIME.
    pub stamp_ns: u64,
}

pub struct Ring {
    fd: OwnedFd,
    interface: Interface,
    memory: NonNull<u8>,
    slot_bytes: usize,
    next: usize,
    long_frame: Vec<u8>,
    truncated: u64,
}

// SAFETY: the mapping belongs to the ring alone and is not tied to a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Opens a ring that receives every frame that comes in at the interface, but none that goes
    /// out.
    pub fn open(interface: &Interface, mtu: usize) -> Result<Self> {
        let slot_bytes = (mtu + SLOT_OVERHEAD).next_power_of_two();
        ensure!(
            slot_bytes <= BLOCK_BYTES,
            "an MTU of {mtu} is too large: give at most {}",
            BLOCK_BYTES - SLOT_OVERHEAD
        );
        let request = tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: (SLOTS * slot_bytes / BLOCK_BYTES) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: SLOTS as u32,
        };
        let fd = packet_socket()?;
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        for (level, option, value, what) in [
            (
                libc::SOL_PACKET,
                libc::PACKET_VERSION,
                version,
                "choose the ring's version",
            ),
            (
                libc::SOL_PACKET,
                libc::PACKET_VNET_HDR,
                1,
                "receive offload headers",
            ),
            (
                libc::SOL_PACKET,
                libc::PACKET_IGNORE_OUTGOING,
                1,
                "ignore what the link itself sends",
            ),
            (
                libc::SOL_PACKET,
                libc::PACKET_COPY_THRESH,
                1,
                "receive frames longer than a slot",
            ),
            // The ring has stamps anyway; with this they are taken where the frame comes in.
            (
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPNS,
                1,
                "stamp frames on arrival",
            ),
            (
                libc::SOL_SOCKET,
                libc::SO_RCVBUF,
                QUEUE_BYTES,
                "size the receive queue",
            ),
        ] {
            set_option(&fd, level, option, &value, what)?;
        }
        let what = "set up the packet ring: is there memory for it";
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request, what)?;
        let memory = map(&fd, SLOTS * slot_bytes)?;
        let ring = Self {
            fd,
            interface: interface.clone(),
            memory,
            slot_bytes,
            next: 0,
            long_frame: vec![0; LONGEST_FRAME],
            truncated: 0,
        };
        bind(&ring.fd, interface, libc::ETH_P_ALL)?;
        Ok(ring)
    }

    /// Whether a frame is waiting.
    pub fn ready(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// When the kernel received the next waiting frame, CLOCK_REALTIME; None if none waits.
    pub fn stamp_ns(&self) -> Option<u64> {
        if !self.ready() {
            return None;
        }
        // SAFETY: the slot is ours until its status is given back; it begins with its header.
        let header = unsafe { self.slot().cast::<tpacket2_hdr>().read_unaligned() };
        Some(u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec))
    }

    /// Hands the next waiting frame to `read` and gives its slot back to the kernel.
    pub fn take<T>(&mut self, mut read: impl FnMut(Frame<'_>) -> T) -> Option<T> {
        loop {
            let status = self.status().load(Ordering::Acquire);
            if status & libc::TP_STATUS_USER == 0 {
                return None;
            }
            // SAFETY: the slot is ours until its status is given back; the kernel keeps its
            // header, the offload header and the frame within it.
            let (header, inside) = unsafe {
                let slot = self.slot();
                let header = slot.cast::<tpacket2_hdr>().read_unaligned();
                let start = usize::from(header.tp_mac) - VNET_HEADER;
                let length = header.tp_snaplen as usize + VNET_HEADER;
                (header, slice::from_raw_parts(slot.add(start), length))
            };
            let bytes = if status & libc::TP_STATUS_COPY != 0 {
                let length = receive(&self.fd, &mut self.long_frame);
                length.map(|length| &self.long_frame[..length])
            } else {
                Some(inside).filter(|_| header.tp_snaplen == header.tp_len)
            };
            let stamp_ns = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
            let result = bytes.map(|bytes| read(Frame { bytes, stamp_ns }));
            self.status()
                .store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % SLOTS;
            match result {
                Some(result) => return Some(result),
                None => self.truncated += 1,
            }
        }
    }

    /// Number of frames since the last call for which the kernel had no room.
    pub fn drops(&mut self) -> u64 {
        let mut stats = tpacket_stats {
            tp_packets: 0,
            tp_drops: 0,
        };
        let mut length = size_of_val(&stats) as libc::socklen_t;
        let at = (&raw mut stats).cast();
        let option = libc::PACKET_STATISTICS;
        // SAFETY: `at` points to `length` writable bytes.
        unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                option,
                at,
                &raw mut length,
            )
        };
        u64::from(stats.tp_drops) + std::mem::take(&mut self.truncated)
    }

    /// The descriptor to poll.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Returns an error if the interface has failed.
    pub fn check(&self) -> Result<()> {
        pending_error(&self.fd, &self.interface)
    }

    fn slot(&self) -> *mut u8 {
        // SAFETY: `next` is below SLOTS, so this stays within the mapping.
        unsafe { self.memory.as_ptr().add(self.next * self.slot_bytes) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: every slot begins with tp_status, aligned, and both sides use it atomically.
        unsafe { AtomicU32::from_ptr(self.slot().cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let length = SLOTS * self.slot_bytes;
        // SAFETY: this is the mapping made in `open`, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), length) };
    }
}

fn map(fd: &OwnedFd, length: usize) -> Result<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh shared mapping of the ring; the kernel chooses where.
    let at = unsafe {
        libc::mmap(
            ptr::null_mut(),
            length,
            access,
            libc::MAP_SHARED,
            fd.as_raw_fd(),
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error()).context("cannot map the packet ring");
    }
    NonNull::new(at.cast()).context("the packet ring was mapped at address zero")
}

fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> Option<usize> {
    let at = buffer.as_mut_ptr().cast();
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC; // a frame's own length, however long
    // SAFETY: `at` points to `buffer.len()` writable bytes.
    let length = unsafe { libc::recv(fd.as_raw_fd(), at, buffer.len(), flags) };
    usize::try_from(length)
        .ok()
        .filter(|&length| length <= buffer.len())
}

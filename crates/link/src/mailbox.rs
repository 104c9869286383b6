//! Wakes the forwarding thread when another thread has a task for it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, ensure};

pub struct Mailbox {
    full: AtomicBool,
    event: OwnedFd,
}

impl Mailbox {
    pub fn open() -> Result<Self> {
        // SAFETY: a plain system call; on success it returns a descriptor that nothing else owns.
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        ensure!(
            event >= 0,
            "cannot make an eventfd: {}",
            io::Error::last_os_error()
        );
        Ok(Self {
            full: AtomicBool::new(false),
            // SAFETY: the descriptor is open, and nothing else owns it.
            event: unsafe { OwnedFd::from_raw_fd(event) },
        })
    }

    /// Says that there is a task, and wakes the sleeper.
    pub fn fill(&self) {
        self.full.store(true, Ordering::Release);
        self.wake();
    }

    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Takes what `fill` said; false if nothing was said since.
    pub fn empty(&self) -> bool {
        self.full.swap(false, Ordering::Acquire)
    }

    fn wake(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: writes eight readable bytes.
        unsafe { libc::write(self.event.as_raw_fd(), one.as_ptr().cast(), 8) };
    }

    /// Sleeps until the mailbox is filled or `other` can be read. Returns true if the timeout came
    /// first.
    ///
    /// A sleeper takes the event itself. A task may be taken before its event is there, because
    /// the thread that fills a mailbox can be interrupted in between. An event that stays would end
    /// each sleep at once.
    pub fn sleep(&self, other: Option<&OwnedFd>, timeout_ns: Option<u64>) -> bool {
        let mut polled = [Some(&self.event), other].map(|fd| libc::pollfd {
            fd: fd.map_or(-1, AsRawFd::as_raw_fd), // poll ignores -1
            events: libc::POLLIN,
            revents: 0,
        });
        let timeout = timeout_ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000).cast_signed(),
            tv_nsec: (ns % 1_000_000_000).cast_signed(),
        });
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: `polled` and `timeout` outlive the call; no signal mask is given.
        let timed_out = unsafe { libc::ppoll(polled.as_mut_ptr(), 2, timeout, ptr::null()) == 0 };
        if polled[0].revents != 0 {
            let mut count = [0u8; 8];
            // SAFETY: reads into eight writable bytes.
            unsafe { libc::read(self.event.as_raw_fd(), count.as_mut_ptr().cast(), 8) };
        }
        timed_out
    }
}

#[cfg(test)]
mod tests {
    use super::Mailbox;

    #[test]
    fn a_full_mailbox_ends_one_sleep() {
        let mailbox = Mailbox::open().unwrap();
        assert!(mailbox.sleep(None, Some(0)));
        mailbox.fill();
        assert!(!mailbox.sleep(None, Some(0)));
        assert!(mailbox.empty() && !mailbox.empty());
        assert!(mailbox.sleep(None, Some(0)));
    }

    #[test]
    fn an_event_that_comes_after_its_task_was_taken_ends_one_sleep() {
        let mailbox = Mailbox::open().unwrap();
        mailbox
            .full
            .store(true, std::sync::atomic::Ordering::Release);
        assert!(mailbox.empty());
        mailbox.wake();
        assert!(!mailbox.sleep(None, Some(0)));
        assert!(mailbox.sleep(None, Some(0)));
    }
}

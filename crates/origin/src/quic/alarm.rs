//! A clock that is exact to microseconds. tokio's ticks every millisecond.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::unix::AsyncFd;

/// A timer of the kernel (timerfd_create(2)).
pub(crate) struct Alarm {
    timer: AsyncFd<File>,
    due: Option<Instant>,
}

impl Alarm {
    pub fn new() -> io::Result<Self> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: takes two numbers.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just made it, and nothing else has it.
        let timer = unsafe { File::from_raw_fd(fd) };
        // SAFETY: the timer keeps its descriptor open as long as it is registered.
        let timer = unsafe { AsyncFd::register(timer)? };
        Ok(Self { timer, due: None })
    }

    /// Ready when `due` has come.
    pub fn poll(&mut self, due: Instant, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.due != Some(due) {
            self.set(due)?;
        }
        loop {
            let mut guard = ready!(self.timer.poll_read_ready(cx))?;
            let read = guard.try_io(|timer| timer.get_ref().read(&mut [0; 8]));
            if let Ok(read) = read {
                read?;
                self.due = None;
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn set(&mut self, due: Instant) -> io::Result<()> {
        // Zero would switch it off.
        let left = due
            .saturating_duration_since(Instant::now())
            .as_nanos()
            .max(1);
        let time = libc::itimerspec {
            it_interval: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: libc::timespec {
                tv_sec: (left / 1_000_000_000) as libc::time_t,
                tv_nsec: (left % 1_000_000_000) as libc::c_long,
            },
        };
        let fd = std::os::fd::AsRawFd::as_raw_fd(self.timer.get_ref());
        // SAFETY: reads one itimerspec, which lives during the call, and writes nothing.
        match unsafe { libc::timerfd_settime(fd, 0, &raw const time, std::ptr::null_mut()) } {
            0 => {
                self.due = Some(due);
                Ok(())
            }
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Alarm")
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn it_is_never_early_and_can_be_set_again() {
        let mut alarm = Alarm::new().unwrap();
        for us in [300, 0, 1200] {
            let due = Instant::now() + Duration::from_micros(us);
            poll_fn(|cx| alarm.poll(due, cx)).await.unwrap();
            assert!(Instant::now() >= due);
        }
        // A time that was given up for a sooner one.
        let late = Instant::now() + Duration::from_hours(1);
        poll_fn(|cx| {
            assert!(alarm.poll(late, cx).is_pending());
            Poll::Ready(())
        })
        .await;
        let soon = Instant::now();
        poll_fn(|cx| alarm.poll(soon, cx)).await.unwrap();
    }
}

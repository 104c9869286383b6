//! Makes a thread punctual, as far as the kernel allows it.

/// Above every ordinary process, below what a machine runs for its own good.
const FIFO_PRIORITY: i32 = 10;

/// Puts the calling thread under SCHED_FIFO; returns false if that is not allowed.
pub fn make_thread_realtime() -> bool {
    let param = libc::sched_param {
        sched_priority: FIFO_PRIORITY,
    };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: plain system calls; `param` outlives them. Timer slack is ignored under FIFO.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::sched_setscheduler(0, policy, &raw const param) == 0
    }
}

/// Keeps in memory what is there now. MCL_FUTURE is not used: under a lock limit it would make
/// later allocations fail.
pub fn lock_memory() {
    // SAFETY: a plain system call; that it may be refused does no harm.
    unsafe { libc::mlockall(libc::MCL_CURRENT) };
}

use crate::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// One thread waits, any thread wakes it; a wake-up before the wait is kept.
///
/// # Memory ordering
/// `unpark` releases and a `park` that consumed its token acquires: what was
/// written before `unpark` is seen after `park`.
#[derive(Debug)]
pub struct Parker {
    state: AtomicU32,
}

impl Parker {
    /// Creates a parker without a token.
    #[inline]
    pub const fn new() -> Self {
        Parker {
            state: AtomicU32::new(EMPTY),
        }
    }

    /// Waits for a token, at most `timeout`. True if a token was consumed. May
    /// return false early.
    #[inline]
    pub fn park(&self, timeout: Option<Duration>) -> bool {
        if self.state.load(Ordering::Relaxed) == NOTIFIED {
            return self.take();
        }
        if timeout == Some(Duration::ZERO) {
            return false;
        }
        if self
            .state
            .compare_exchange(EMPTY, PARKED, Ordering::Acquire, Ordering::Acquire)
            .is_err()
        {
            return self.take();
        }
        wait(&self.state, PARKED, timeout);
        self.take()
    }

    /// Leaves a token, and wakes the thread if it waits.
    #[inline]
    pub fn unpark(&self) {
        if self.state.swap(NOTIFIED, Ordering::Release) == PARKED {
            wake_one(&self.state);
        }
    }

    /// Returns whether `park` would return at once.
    #[inline]
    pub fn is_notified(&self) -> bool {
        self.state.load(Ordering::Relaxed) == NOTIFIED
    }

    #[inline]
    fn take(&self) -> bool {
        self.state.swap(EMPTY, Ordering::Acquire) == NOTIFIED
    }
}

fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let spec = timeout.map(|t| libc::timespec {
        tv_sec: libc::time_t::try_from(t.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: t.subsec_nanos().into(),
    });
    let spec_ptr = spec.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word is a live, aligned u32 for the whole call (we hold a reference
    // to it) and the kernel only reads the timespec, which outlives the call. Every
    // error (EAGAIN, EINTR, ETIMEDOUT) means "look at the word again", which callers do.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            spec_ptr,
        );
    }
}

fn wake_one(word: &AtomicU32) {
    // SAFETY: FUTEX_WAKE dereferences nothing in user space; the address only names
    // the wait queue, so even a parker freed meanwhile would be harmless here.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            1,
        );
    }
}

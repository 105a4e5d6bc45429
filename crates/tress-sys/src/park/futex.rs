//! A word that is a futex: the kernel finds the thread by the word's address.

use crate::atomic::AtomicU32;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Bed;

impl Bed {
    pub(super) fn new() -> Self {
        Bed
    }

    /// Sleeps until it is roused, at most `timeout`, unless the word is not `expected` any more. May return early.
    pub(super) fn sleep(&self, word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
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

    /// Ends the sleep of the thread, for a caller that has changed the word.
    pub(super) fn rouse(&self, word: &AtomicU32) {
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
}

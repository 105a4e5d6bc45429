//! Waiting for a condition that somebody else makes true.
//!
//! A [`Bell`] stands beside state that it does not know. Whoever changes the state rings; whoever
//! waits looks at the state again. The bell makes sure that no change falls between the look and the
//! wait: a listener announces itself *before* its last look, and the ringer changes the state *before*
//! it asks whether anybody is announced, with a full fence in between on both sides. Either the look
//! sees the change, or the ringer sees the listener.

use super::wait_list::{FIRST_OUTCOME, IDLE, WAITING, WaitList, Waiter, WakeBatch};
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::{Mutex, full_fence};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Outcome of a wait.
const RUNG: u32 = FIRST_OUTCOME;

/// See the module documentation.
pub(crate) struct Bell {
    /// Is anybody in the line? Written under the lock.
    listening: AtomicBool,
    line: Mutex<Line>,
}

struct Line {
    /// How often the bell was rung for somebody. A waiter remembers it from when it got in line.
    rings: u64,
    waiters: WaitList<u64>,
}

impl Bell {
    pub(crate) fn new() -> Bell {
        Bell {
            listening: AtomicBool::new(false),
            line: Mutex::new(Line {
                rings: 0,
                waiters: WaitList::new(),
            }),
        }
    }

    /// Wakes everybody who waits, after the state was changed.
    #[inline]
    pub(crate) fn ring(&self) {
        // Pairs with the one in `Listener::poll_until`.
        full_fence();
        if self.listening.load(Ordering::Relaxed) {
            self.wake_all();
        }
    }

    /// As `ring`, for a caller that knows that somebody listens, by state of its own.
    #[cold]
    pub(crate) fn wake_all(&self) {
        let mut woken = WakeBatch::new();
        let mut line = self.line.lock();
        line.rings += 1;
        // Those who get in line while we are at it have seen the change, and wait for another.
        let rings = line.rings;
        while line.waiters.with_front(|got_in| *got_in < rings) == Some(true) {
            if let Some((waker, _)) = line.waiters.settle_front(RUNG) {
                woken.push(waker);
            }
            if woken.is_full() {
                drop(line);
                woken.wake_all();
                line = self.line.lock();
            }
        }
        self.line_changed(&line);
        drop(line);
        woken.finish();
    }

    fn line_changed(&self, line: &Line) {
        if line.waiters.is_empty() {
            self.listening.store(false, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bell")
            .field("listening", &self.listening.load(Ordering::Relaxed))
            .finish()
    }
}

/// One who waits for a bell. Lives, pinned, in a future.
pub(crate) struct Listener<'a> {
    bell: &'a Bell,
    waiter: Waiter<u64>,
}

impl<'a> Listener<'a> {
    #[inline(always)]
    pub(crate) fn new(bell: &'a Bell) -> Listener<'a> {
        Listener {
            bell,
            waiter: Waiter::new(),
        }
    }

    /// Ready when `look` finds what it looks for; it is called again after each ring.
    ///
    /// `look` may be called with a lock held: it must not run foreign code.
    #[inline]
    pub(crate) fn poll_until<R>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut look: impl FnMut() -> Option<R>,
    ) -> Poll<R> {
        if let Some(found) = look() {
            return Poll::Ready(found);
        }
        let this = self.into_ref().get_ref();
        // SAFETY: we are the waiter's future, and WAITING says that it is linked.
        if this.waiter.phase() == WAITING && unsafe { this.waiter.wakes(cx.waker()) } {
            return Poll::Pending;
        }
        this.get_in_line(cx, look)
    }

    fn get_in_line<R>(&self, cx: &mut Context<'_>, mut look: impl FnMut() -> Option<R>) -> Poll<R> {
        let waker = cx.waker().clone();
        let mut line = self.bell.line.lock();
        match self.waiter.phase() {
            WAITING => {
                // SAFETY: in the list, by its phase under the lock; we are its future.
                let old = unsafe { line.waiters.replace_waker(&self.waiter, waker) };
                drop(line);
                drop(old);
                return Poll::Pending;
            }
            IDLE => {}
            // Rung, and either it was not for us or the look came before.
            _ => self.waiter.set_phase(IDLE),
        }
        self.bell.listening.store(true, Ordering::Relaxed);
        // Pairs with the one in `ring`.
        full_fence();
        if let Some(found) = look() {
            self.bell.line_changed(&line);
            return Poll::Ready(found);
        }
        let rings = line.rings;
        // SAFETY: in no list, by its phase; we are its future, which is pinned (`poll_until` is the
        // only way here) and takes it out of the list when dropped. The bell has one list.
        unsafe { line.waiters.push_back(&self.waiter, Some(waker), rings) };
        Poll::Pending
    }

    #[cold]
    fn leave(&self) {
        let mut line = self.bell.line.lock();
        if self.waiter.phase() == WAITING {
            // SAFETY: in the list, by its phase under the lock; we are its future.
            let (waker, _) = unsafe { line.waiters.remove(&self.waiter) };
            self.bell.line_changed(&line);
            drop(line);
            drop(waker);
        }
    }
}

impl Drop for Listener<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.waiter.phase() == WAITING {
            self.leave();
        }
    }
}

impl fmt::Debug for Listener<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

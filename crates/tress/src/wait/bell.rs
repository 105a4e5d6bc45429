//! Waiting for a condition that another thread makes true.
//!
//! A [`Bell`] stands beside state that it does not know. A thread that changes the state rings it, and
//! every listener looks at the state again. No change can fall between the look and the wait: a listener
//! announces itself *before* its last look, and the ringing thread changes the state *before* it checks
//! whether a listener has announced itself, with a full fence in between on both sides. Either the look
//! sees the change, or the ringing thread sees the listener.

use super::batch::WakeBatch;
use super::list::{FIRST_OUTCOME, IDLE, WAITING, WaitList, Waiter};
use crate::sight::{self, Tag, WaitKind};
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::{Mutex, full_fence};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Outcome of a wait: the bell was rung.
const RUNG: u32 = FIRST_OUTCOME;

/// Wakes those that wait for a change of the state beside it. See the module documentation.
pub(crate) struct Bell {
    /// True if there are waiters in the line. Written under the lock.
    listening: AtomicBool,
    line: Mutex<Line>,
    tag: Tag,
}

struct Line {
    /// How often the bell was rung while there were waiters. A waiter remembers the number at which it got
    /// in line.
    rings: u64,
    waiters: WaitList<u64>,
}

impl Bell {
    /// Creates a bell whose listeners wait for what `kind` says.
    #[track_caller]
    pub(crate) fn new(kind: WaitKind) -> Bell {
        Bell {
            listening: AtomicBool::new(false),
            line: Mutex::new(Line {
                rings: 0,
                waiters: WaitList::new(),
            }),
            tag: Tag::new(kind),
        }
    }

    /// Wakes all listeners. To be called after the state was changed.
    #[inline]
    pub(crate) fn ring(&self) {
        // Pairs with the one in `Listener::poll_until`.
        full_fence();
        if self.listening.load(Ordering::Relaxed) {
            self.wake_all();
        }
    }

    /// Does what `ring` does, for a caller that knows from state of its own that there are listeners.
    #[cold]
    pub(crate) fn wake_all(&self) {
        let mut woken = WakeBatch::new();
        let mut line = self.line.lock();
        line.rings += 1;
        // Waiters that get in line during this loop have seen the change, and wait for another one.
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

/// A wait for a bell. It lives, pinned, in a future.
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

    /// Becomes ready when `look` returns something; `look` is called again after each ring.
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
            this.waits(false);
            return Poll::Pending;
        }
        this.get_in_line(cx, look)
    }

    /// Notes that the running task waits.
    #[inline(always)]
    fn waits(&self, begins: bool) {
        self.bell.tag.waits(begins, sight::address(self.bell));
    }

    fn get_in_line<R>(&self, cx: &mut Context<'_>, mut look: impl FnMut() -> Option<R>) -> Poll<R> {
        let waker = cx.waker().clone();
        let mut begins = false;
        let mut line = self.bell.line.lock();
        match self.waiter.phase() {
            WAITING => {
                // SAFETY: in the list, by its phase under the lock; we are its future.
                let old = unsafe { line.waiters.replace_waker(&self.waiter, waker) };
                drop(line);
                drop(old);
                self.waits(false);
                return Poll::Pending;
            }
            IDLE => begins = true,
            // Rung, but either `look` found nothing then, or it was called before the ring.
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
        drop(line);
        self.waits(begins);
        Poll::Pending
    }

    #[cold]
    fn leave(&self) {
        self.bell.tag.gives_up(sight::address(self.bell));
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

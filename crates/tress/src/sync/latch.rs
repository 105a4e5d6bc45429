//! A flag that is set once, and the tasks that wait for it: the base of `SetOnce` and
//! `CancellationToken`.
//!
//! # Why no wake-up is lost
//! A waiter looks at the flag with the lock held, and is linked before the lock is released. The
//! setter sets the flag with the lock held, or takes the lock after it, and wakes all waiters that
//! are linked. By the lock, the one that comes second sees the first.

use crate::sight::{self, Tag, WaitKind};
use crate::sys::Mutex;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::task::coop;
use crate::wait::{FIRST_OUTCOME, IDLE, WAITING, WaitList, Waiter, WakeBatch};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Outcome of a waiter: the flag is set.
const SET: u32 = FIRST_OUTCOME;

#[derive(Debug)]
pub(crate) struct Latch {
    set: AtomicBool,
    waiters: Mutex<WaitList<()>>,
    tag: Tag,
}

impl Latch {
    const_fn! {
        /// Creates one whose waiters wait for what `kind` says.
        #[track_caller]
        pub(crate) fn new(set: bool, kind: WaitKind) -> Self {
            Latch {
                set: AtomicBool::new(set),
                waiters: Mutex::new(WaitList::new()),
                tag: Tag::new(kind),
            }
        }
    }

    /// Returns `true` if the flag is set.
    ///
    /// Acquire: a thread that sees the flag sees what was written before it was set.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// Calls `first` with the lock held, sets the flag, and wakes all waiters. Returns `false`, without
    /// calling `first`, if the flag is set already.
    pub(crate) fn set_after(&self, first: impl FnOnce()) -> bool {
        let waiters = self.waiters.lock();
        if self.is_set() {
            return false;
        }
        first();
        self.set_silently();
        drop(waiters);
        let mut batch = WakeBatch::new();
        self.wake(&mut batch);
        batch.finish();
        true
    }

    /// Sets the flag without waking the waiters: a call of `wake` must follow.
    pub(crate) fn set_silently(&self) {
        self.set.store(true, Ordering::Release);
    }

    /// Takes the flag back. The exclusive borrow proves that no other thread sees it.
    pub(crate) fn unset(&mut self) {
        self.set.store(false, Ordering::Relaxed);
    }

    /// Wakes all waiters after the flag was set. No waiter is added from then on.
    pub(crate) fn wake(&self, batch: &mut WakeBatch) {
        loop {
            let mut waiters = self.waiters.lock();
            while !batch.is_full() {
                let Some((waker, ())) = waiters.settle_front(SET) else {
                    return;
                };
                batch.push(waker);
            }
            drop(waiters);
            batch.wake_all();
        }
    }

    /// Polls for the flag, and links the waiter if it is not set.
    ///
    /// # Safety
    /// The caller is the waiter's future. It is pinned, and calls `cancel` before it goes.
    #[inline]
    pub(crate) unsafe fn poll(&self, waiter: &Waiter<()>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_set() {
            return Poll::Ready(());
        }
        let begins = waiter.phase() == IDLE;
        // SAFETY: by the caller's promise.
        let polled = unsafe { self.get_in_line(waiter, cx) };
        if polled.is_pending() {
            self.tag.waits(begins, sight::address(self));
        }
        polled
    }

    /// # Safety
    /// As for `poll`.
    #[cold]
    unsafe fn get_in_line(&self, waiter: &Waiter<()>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: we act for the waiter's future; asked only if it has been linked.
        if waiter.phase() == WAITING && unsafe { waiter.wakes(cx.waker()) } {
            return Poll::Pending;
        }
        let waker = cx.waker().clone();
        let mut waiters = self.waiters.lock();
        if self.is_set() {
            // Unlock first: dropping the waker runs foreign code.
            drop(waiters);
            return Poll::Ready(());
        }
        let mut old = None;
        match waiter.phase() {
            // SAFETY: it is linked, and we act for its future.
            WAITING => old = unsafe { waiters.replace_waker(waiter, waker) },
            // SAFETY: it is not linked; it is pinned and taken out in time, by the caller's promise.
            _ => unsafe { waiters.push_back(waiter, Some(waker), ()) },
        }
        drop(waiters);
        drop(old);
        Poll::Pending
    }

    /// Unlinks the waiter of a future that goes away.
    ///
    /// # Safety
    /// The caller is the waiter's future.
    #[inline]
    pub(crate) unsafe fn cancel(&self, waiter: &Waiter<()>) {
        if !matches!(waiter.phase(), IDLE | SET) {
            // SAFETY: by the caller's promise.
            unsafe { self.cancel_waiting(waiter) };
        }
    }

    /// # Safety
    /// As for `cancel`.
    #[cold]
    unsafe fn cancel_waiting(&self, waiter: &Waiter<()>) {
        self.tag.gives_up(sight::address(self));
        let mut waiters = self.waiters.lock();
        if waiter.phase() == WAITING {
            // SAFETY: it is linked, and we act for its future.
            let (waker, ()) = unsafe { waiters.remove(waiter) };
            drop(waiters);
            drop(waker);
        }
    }
}

/// Waits until the flag is set.
#[must_use = "futures do nothing unless awaited"]
#[derive(Debug)]
pub(crate) struct Wait<'a> {
    latch: &'a Latch,
    waiter: Waiter<()>,
}

impl Latch {
    #[inline]
    pub(crate) fn wait(&self) -> Wait<'_> {
        Wait {
            latch: self,
            waiter: Waiter::new(),
        }
    }
}

impl Wait<'_> {
    /// Does the same as `poll`, without regard to the task's budget.
    #[inline]
    pub(crate) fn poll_unbudgeted(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.as_ref().get_ref();
        // SAFETY: the waiter is pinned with us, and we cancel when dropped.
        unsafe { this.latch.poll(&this.waiter, cx) }
    }
}

impl Future for Wait<'_> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let progress = ready!(coop::poll_proceed(cx));
        ready!(self.poll_unbudgeted(cx));
        progress.made_progress();
        Poll::Ready(())
    }
}

impl Drop for Wait<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: we are the waiter's future.
        unsafe { self.latch.cancel(&self.waiter) };
    }
}

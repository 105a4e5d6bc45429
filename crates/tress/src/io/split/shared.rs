//! A stream that two halves poll in turn.

use crate::io::wake::wake_all;
use crate::sys::atomic::{AtomicU64, Ordering};
use crate::sys::{Mutex, MutexGuard};
use crate::task::Home;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Bit of `busy`: a half waits until the poll that is under way is over.
const CALLED: u64 = 1;

/// A stream behind a lock, which its halves poll with the lock held.
///
/// The stream is foreign code, and so are the wakers that it wakes, clones and drops. Either may call back
/// and poll the other half on the thread that holds the lock. That half does not wait for the lock, which
/// would be a deadlock, but is pending until the lock is free.
#[derive(Debug)]
pub(super) struct Shared<T> {
    /// Twice the number of the thread that polls the stream, with or without `CALLED`, or 0.
    busy: AtomicU64,
    /// Wakers of the halves that were polled meanwhile, by half. None stays there unless `CALLED` is set.
    waiting: Mutex<[Option<Waker>; 2]>,
    stream: Mutex<T>,
}

/// One of the two halves.
#[derive(Clone, Copy, Debug)]
pub(super) enum Half {
    Read,
    Write,
}

impl<T> Shared<T> {
    pub(super) fn new(stream: T) -> Shared<T> {
        Shared {
            busy: AtomicU64::new(0),
            waiting: Mutex::new([None, None]),
            stream: Mutex::new(stream),
        }
    }

    pub(super) fn into_inner(self) -> T {
        self.stream.into_inner()
    }

    /// Polls the stream, and excludes the other half meanwhile.
    pub(super) fn poll<R>(
        &self,
        half: Half,
        cx: &mut Context<'_>,
        f: impl FnOnce(Pin<&mut T>, &mut Context<'_>) -> Poll<R>,
    ) -> Poll<R> {
        let here = Home::here().number() << 1;
        // Only this thread stores its number there, so a relaxed load sees it if it is there.
        while self.busy.load(Ordering::Relaxed) & !CALLED == here {
            if self.call(half, cx.waker(), here) {
                return Poll::Pending;
            }
        }
        let stream = self.stream.lock();
        self.busy.store(here, Ordering::Relaxed);
        let mut turn = Turn {
            shared: self,
            stream: Some(stream),
        };
        let stream = turn.stream.as_deref_mut().expect("until it is dropped");
        // SAFETY: the stream is in an `Arc` that only the two halves know. It is moved out of it only by
        // `unsplit`, for types that need no pinning, and dropped in place otherwise.
        f(unsafe { Pin::new_unchecked(stream) }, cx)
    }

    /// Registers a half to be woken when this thread's turn is over. Returns `false` if it is over already:
    /// a turn that a coroutine began on this thread may end on another one.
    fn call(&self, half: Half, waker: &Waker, here: u64) -> bool {
        // This runs foreign code, so no lock may be held.
        let waker = waker.clone();
        let old = self.waiting.lock()[half as usize].replace(waker);
        drop(old);
        let mut busy = self.busy.load(Ordering::Relaxed);
        while busy & !CALLED == here {
            // Either the end of the turn sees the waker, or this sees that the turn has ended: both change
            // the same word.
            let (from, to) = (busy, here | CALLED);
            match self
                .busy
                .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(changed) => busy = changed,
            }
        }
        let unused = self.waiting.lock()[half as usize].take();
        drop(unused);
        false
    }
}

/// A poll of the stream by one half.
struct Turn<'a, T> {
    shared: &'a Shared<T>,
    stream: Option<MutexGuard<'a, T>>,
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        let was = self.shared.busy.swap(0, Ordering::AcqRel);
        self.stream = None;
        if was & CALLED != 0 {
            let waiting = mem::take(&mut *self.shared.waiting.lock());
            wake_all(waiting);
        }
    }
}

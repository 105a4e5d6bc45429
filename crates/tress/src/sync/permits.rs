//! A counter of permits with a fair queue: what `Semaphore`, `Mutex`, `RwLock` and `OnceCell` are
//! made of.
//!
//! # The word
//! ```text
//!  63                              2     1        0
//! +----------------------------------+---------+--------+
//! |        permits to be had         | WAITERS | CLOSED |
//! +----------------------------------+---------+--------+
//! ```
//! - `WAITERS`: the queue is not empty. Set and cleared only with the queue's lock held, so under the
//!   lock it says exactly whether the queue is empty. While it is set, no permits are taken from the
//!   word: they belong to the waiters.
//! - `CLOSED`: no permit will be given out any more. Never cleared.
//!
//! One exception: [`take_last_only`](Permits::take_last_only) takes the only permit by setting `WAITERS`
//! without the lock, when the queue is empty, and its owner closes the counter a few instructions later
//! by a plain store. A thread that sees, under the lock, `WAITERS` and an empty queue waits for that
//! store.
//!
//! Without waiters, taking permits is one compare-exchange and giving them back one addition; the
//! lock is not touched.
//!
//! # The queue
//! First come, first served: the waiter at the head gathers permits, as they come back, until it has
//! all that it wants, so a large request is not starved by small ones behind it. A thread that gives
//! permits back while there are waiters hands them to the queue, under its lock. A waiter that has
//! all its permits *owns* them from that moment, before it has been polled; a future that is dropped
//! passes on what it owns or has gathered, and so does one that finds the counter closed when it is
//! polled next.
//!
//! # Why no wake-up is lost
//! A waiter sets `WAITERS` by a compare-exchange on the word in which the permits are, after having
//! seen there that they do not suffice; giving back is a read-modify-write of the same word. So
//! either the addition comes first and the waiter's compare-exchange fails and sees it, or it comes
//! second and returns `WAITERS`, upon which the giver takes the lock and hands out what is in the
//! word. The lock is held from before the flag is set until the waiter is linked.
//!
//! # Memory ordering
//! Taking acquires and giving back releases, and all changes of the word are read-modify-writes, so
//! a taker sees what earlier holders of the permits did. Permits that travel through the
//! queue are published by its lock and by the outcome stored into the waiter.

use super::contention::SpinWorth;
use crate::sight::{self, Site, WaitKind};
use crate::spans::{Lock, Op, Tally};
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::{Mutex, MutexGuard, thread};
use crate::task::coop;
use crate::wait::{Backoff, FIRST_OUTCOME, IDLE, WAITING, WaitList, Waiter, WakeBatch};
use crate::words;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

const CLOSED: usize = 1;
const WAITERS: usize = 2;
const FLAGS: usize = WAITERS | CLOSED;
const SHIFT: u32 = 2;
const ONE: usize = 1 << SHIFT;

/// The number of processor pauses after an attempt that lost against another core.
// D-SYNC-05
const PAUSES: u32 = 2;

/// Outcome of a waiter: it owns what it asked for.
const GRANTED: u32 = FIRST_OUTCOME;
/// Outcome of a waiter: closed.
const REFUSED: u32 = FIRST_OUTCOME + 1;

pub(crate) struct Permits {
    /// What subscribers see of it.
    pub(super) seen: Lock,
    word: AtomicUsize,
    queue: Mutex<WaitList<Request>>,
    worth: SpinWorth,
    /// What those in the queue wait for. [`WaitKind::RwLockRead`] stands for both locks.
    kind: WaitKind,
    /// Where it was created.
    site: Site,
}

/// The request of a waiter in the queue.
#[derive(Clone, Copy)]
struct Request {
    total: usize,
    /// Above zero while the waiter is in the queue.
    missing: usize,
}

/// The reason why permits are not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Closed,
    TooFew,
}

/// The counter is closed: no permit is given out any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed;

impl Permits {
    /// The maximum number of permits: one bit less than the word could hold, so that a sum of two valid
    /// counts fits.
    pub(crate) const MAX: usize = usize::MAX >> 3;

    const_fn! {
        #[track_caller]
        pub(crate) fn new(permits: usize) -> Self {
            assert!(
                permits <= Self::MAX,
                "{}", words::TOO_MANY_PERMITS
            );
            Permits {
                seen: Lock::unseen(),
                word: AtomicUsize::new(permits << SHIFT),
                queue: Mutex::new(WaitList::new()),
                worth: SpinWorth::new(),
                kind: WaitKind::Semaphore,
                site: Location::caller(),
            }
        }
    }

    const_fn! {
        #[track_caller]
        pub(crate) fn new_closed() -> Self {
            Permits {
                seen: Lock::unseen(),
                word: AtomicUsize::new(CLOSED),
                queue: Mutex::new(WaitList::new()),
                worth: SpinWorth::new(),
                kind: WaitKind::Semaphore,
                site: Location::caller(),
            }
        }
    }

    /// Lets subscribers see the counter, as part of a lock.
    #[inline]
    pub(super) fn seen_as(mut self, lock: Lock) -> Self {
        self.seen = lock;
        self
    }

    /// Says what those that wait for permits wait for, if it is no semaphore.
    #[inline]
    pub(super) const fn known_as(mut self, kind: WaitKind) -> Self {
        self.kind = kind;
        self
    }

    /// Opens a counter that was closed, with the given number of permits and an empty queue.
    pub(super) fn renew(&mut self, permits: usize) {
        let (kind, site) = (self.kind, self.site);
        *self = Permits::new(permits).known_as(kind);
        self.site = site;
    }

    /// Notes that the running task holds permits, along with others. To be called after they were taken.
    #[inline(always)]
    pub(super) fn held(&self) {
        sight::acquired(sight::address(self));
    }

    /// Notes that the running task holds the only permit, or all of them.
    #[inline(always)]
    pub(super) fn held_alone(&self) {
        sight::acquired_alone(sight::address(self));
    }

    /// Notes that permits are not held any more. To be called before they are given back.
    #[inline(always)]
    pub(super) fn let_go(&self) {
        sight::released(sight::address(self));
    }

    /// Returns what a request for `n` permits waits for.
    fn kind_of(&self, n: usize) -> WaitKind {
        match self.kind {
            WaitKind::RwLockRead if n > 1 => WaitKind::RwLockWrite,
            kind => kind,
        }
    }

    pub(crate) fn available(&self) -> usize {
        self.word.load(Ordering::Acquire) >> SHIFT
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.word.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Returns `word` after `n` permits were taken from it, if that is possible.
    #[inline(always)]
    fn take_from(word: usize, n: usize) -> Result<usize, Refusal> {
        if word & CLOSED != 0 {
            return Err(Refusal::Closed);
        }
        // A request for no permits need not wait behind others.
        if (word & WAITERS != 0 && n != 0) || word >> SHIFT < n {
            return Err(Refusal::TooFew);
        }
        Ok(word - (n << SHIFT))
    }

    /// Takes `n` permits if they are available and the queue is empty.
    #[inline]
    pub(crate) fn try_take(&self, n: usize) -> Result<(), Refusal> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let next = Self::take_from(word, n)?;
            match self
                .word
                .compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return Ok(()),
                Err(actual) => {
                    // Another core uses the word. Left in peace for a moment it gets more done with it than
                    // if the cache line went back and forth each time.
                    Backoff::give_way(PAUSES);
                    word = actual;
                }
            }
        }
    }

    /// Takes the only permit there is, for a caller that does not give it back, but calls
    /// [`close_last`](Permits::close_last) at once: after nothing that can wait or panic.
    #[inline]
    pub(crate) fn take_last_only(&self) -> Result<(), Refusal> {
        match self
            .word
            .compare_exchange(ONE, WAITERS, Ordering::Acquire, Ordering::Relaxed)
        {
            Ok(_) => Ok(()),
            Err(word) if word & CLOSED != 0 => Err(Refusal::Closed),
            Err(_) => Err(Refusal::TooFew),
        }
    }

    /// Closes the counter whose only permit was taken by [`take_last_only`](Permits::take_last_only).
    #[inline]
    pub(crate) fn close_last(&self) {
        // No other thread changes the word in this state: there is nothing to take, nothing to give
        // back, and a thread that would join the queue waits for this store.
        self.word.store(CLOSED, Ordering::Release);
    }

    /// Takes `n` permits, waiting for them in the queue.
    ///
    /// Dropping the future loses nothing but the place in the queue.
    #[inline]
    pub(crate) fn take(&self, n: usize) -> Take<'_> {
        assert!(n <= Self::MAX, "{}", words::TOO_MANY_PERMITS);
        Take {
            permits: self,
            n,
            waiter: Waiter::new(),
            op: self.seen.acquire(n),
        }
    }

    /// Gives back `n` permits that were taken.
    #[inline]
    pub(crate) fn give_back(&self, n: usize) {
        let word = self.word.fetch_add(n << SHIFT, Ordering::Release);
        if (word >> SHIFT) + n > Self::MAX {
            too_many();
        }
        if word & WAITERS != 0 {
            self.hand_out(0);
        } else {
            self.seen.came(n);
        }
    }

    /// Gives back the only permit there is.
    #[inline]
    pub(crate) fn give_back_only(&self) {
        // Load first: an exchange that fails costs as much as one that succeeds.
        if self.word.load(Ordering::Relaxed) != 0
            || self
                .word
                .compare_exchange(0, ONE, Ordering::Release, Ordering::Relaxed)
                .is_err()
        {
            self.hand_out(1);
        } else {
            self.seen.came(1);
        }
    }

    /// Adds new permits.
    ///
    /// # Panics
    /// Panics if there would be more than `MAX`; none is added then.
    #[track_caller]
    pub(crate) fn add(&self, n: usize) {
        if n == 0 {
            return;
        }
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if n > Self::MAX || (word >> SHIFT) + n > Self::MAX {
                too_many();
            }
            if word & WAITERS != 0 {
                return self.hand_out(n);
            }
            match self.word.compare_exchange_weak(
                word,
                word + (n << SHIFT),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return self.seen.came(n),
                Err(actual) => word = actual,
            }
        }
    }

    /// Removes up to `n` permits for good, and returns how many.
    pub(crate) fn remove(&self, n: usize) -> usize {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            // While there are waiters, permits in the word are on their way to them.
            if word & FLAGS == WAITERS {
                return 0;
            }
            let removed = n.min(word >> SHIFT);
            if removed == 0 {
                return 0;
            }
            match self.word.compare_exchange_weak(
                word,
                word - (removed << SHIFT),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return removed,
                Err(actual) => word = actual,
            }
        }
    }

    /// Closes the counter: refuses all requests from now on, those in the queue included.
    pub(crate) fn close(&self) {
        let mut batch = WakeBatch::new();
        let mut came = Tally::default();
        let mut queue = self.queue.lock();
        let mut word = self.word.fetch_or(CLOSED, Ordering::AcqRel);
        // Read the flag anew after each batch: other threads may cancel, or close as well.
        while word & WAITERS != 0 {
            let mut gathered = 0;
            while !batch.is_full() {
                let Some((waker, request)) = queue.settle_front(REFUSED) else {
                    break;
                };
                gathered += request.total - request.missing;
                batch.push(waker);
            }
            self.return_closed(&queue, gathered);
            came.add(gathered);
            drop(queue);
            batch.wake_all();
            queue = self.queue.lock();
            word = self.word.load(Ordering::Relaxed);
        }
        drop(queue);
        self.seen.came_in_all(came);
        batch.finish();
    }

    /// Puts `n` permits back into the word of a closed counter, with the lock held.
    fn return_closed(&self, queue: &WaitList<Request>, n: usize) {
        let waiters = self.word.load(Ordering::Relaxed) & WAITERS;
        let cleared = if queue.is_empty() { waiters } else { 0 };
        self.word
            .fetch_add((n << SHIFT).wrapping_sub(cleared), Ordering::AcqRel);
    }

    /// Hands `n` permits, and those in the word, to the waiters.
    #[cold]
    #[inline(never)]
    fn hand_out(&self, n: usize) {
        self.hand_out_locked(self.queue.lock(), n);
    }

    /// Does the same as `hand_out`, with the lock, and releases it.
    #[inline]
    fn hand_out_locked<'a>(&'a self, mut queue: MutexGuard<'a, WaitList<Request>>, mut n: usize) {
        let mut batch = WakeBatch::new();
        let mut came = Tally::default();
        while !self.serve(&mut queue, &mut n, &mut batch, &mut came) {
            drop(queue);
            batch.wake_all();
            queue = self.queue.lock();
        }
        drop(queue);
        self.seen.came_in_all(came);
        batch.finish();
    }

    /// Serves waiters from the head, with the lock held. Returns `false` if the batch is full: the caller
    /// wakes it and calls again.
    #[inline]
    fn serve(
        &self,
        queue: &mut WaitList<Request>,
        n: &mut usize,
        batch: &mut WakeBatch,
        came: &mut Tally,
    ) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        if word & CLOSED != 0 {
            came.add(*n);
            self.return_closed(queue, mem::take(n));
            return true;
        }
        if word & WAITERS == 0 {
            if *n != 0 {
                came.add(*n);
                self.word
                    .fetch_add(mem::take(n) << SHIFT, Ordering::Release);
            }
            return true;
        }
        if word >> SHIFT != 0 {
            // Added by a thread that then saw `WAITERS`; it will find nothing left to do.
            *n += self.word.fetch_and(FLAGS, Ordering::AcqRel) >> SHIFT;
        }
        loop {
            let Some(served) = queue.with_front(|request| {
                let given = request.missing.min(*n);
                if given == request.missing && batch.is_full() {
                    return None;
                }
                request.missing -= given;
                *n -= given;
                Some(request.missing == 0)
            }) else {
                // The queue is empty: what remains is available to all, and the flag goes.
                came.add(*n);
                let remaining = mem::take(n) << SHIFT;
                self.word
                    .fetch_add(remaining.wrapping_sub(WAITERS), Ordering::AcqRel);
                return true;
            };
            match served {
                None => return false,
                Some(false) => return true,
                Some(true) => {
                    if let Some((waker, _)) = queue.settle_front(GRANTED) {
                        self.worth.handed_over();
                        batch.push(waker);
                    }
                }
            }
        }
    }

    /// Puts a waiter into the queue, unless its permits are available.
    ///
    /// # Safety
    /// As for `WaitList::push_back`; the caller is the waiter's future.
    unsafe fn enqueue(
        &self,
        waiter: &Waiter<Request>,
        n: usize,
        waker: Waker,
    ) -> Result<Enqueued, Closed> {
        let mut queue = self.queue.lock();
        let mut word = self.word.load(Ordering::Relaxed);
        while word & FLAGS == WAITERS && queue.is_empty() {
            // Taken by `take_last_only`: it will be closed in a moment.
            thread::yield_now();
            word = self.word.load(Ordering::Relaxed);
        }
        let gathered = loop {
            let (next, gathered) = match Self::take_from(word, n) {
                Ok(next) => (next, n),
                Err(Refusal::Closed) => {
                    // Unlock first: dropping the waker runs foreign code.
                    drop(queue);
                    return Err(Closed);
                }
                Err(Refusal::TooFew) if word & WAITERS != 0 => break 0,
                Err(Refusal::TooFew) => (WAITERS, word >> SHIFT),
            };
            match self
                .word
                .compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) if gathered == n => {
                    drop(queue);
                    return Ok(Enqueued::Taken);
                }
                Ok(_) => break gathered,
                Err(actual) => word = actual,
            }
        };
        let request = Request {
            total: n,
            missing: n - gathered,
        };
        // SAFETY: by the caller's promise; this is the lock that guards the queue.
        unsafe { queue.push_back(waiter, Some(waker), request) };
        drop(queue);
        Ok(Enqueued::InLine { gathered })
    }
}

impl Drop for Permits {
    #[inline]
    fn drop(&mut self) {
        sight::forget_lock(sight::address(self));
    }
}

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Ordering::Relaxed);
        f.debug_struct("Permits")
            .field("available", &(word >> SHIFT))
            .field("closed", &(word & CLOSED != 0))
            .field("waiters", &(word & WAITERS != 0))
            .finish()
    }
}

#[cold]
#[track_caller]
fn too_many() -> ! {
    panic!(
        "the semaphore would have more than MAX_PERMITS ({}) permits; \
         add fewer, or release what was acquired first",
        Permits::MAX
    );
}

enum Enqueued {
    /// With the permits that there were.
    InLine {
        gathered: usize,
    },
    Taken,
}

/// Future returned by [`Permits::take`]: takes permits, waiting for them in the queue.
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct Take<'a> {
    permits: &'a Permits,
    n: usize,
    waiter: Waiter<Request>,
    op: Op,
}

impl Future for Take<'_> {
    type Output = Result<(), Closed>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_ref().get_ref();
        let _entered = this.op.enter();
        if this.waiter.phase() == IDLE && this.permits.try_take(this.n).is_ok() {
            return this.taken(cx);
        }
        this.poll_slow(cx)
    }
}

impl<'a> Take<'a> {
    /// Takes permits, then calls `f`.
    ///
    /// An `async fn` could do the same. This has no state machine of its own, which matters because every
    /// lock goes through it.
    #[inline]
    pub(crate) fn then<G, F>(self, f: F) -> TakeThen<'a, F>
    where
        F: Fn(Result<(), Closed>) -> G,
    {
        TakeThen { take: self, f }
    }

    /// Completes a poll that has taken the permits, unless the task's budget is used up.
    #[inline(always)]
    fn taken(&self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        let undo = || self.permits.give_back(self.n);
        let left = || self.permits.seen.left(self.n);
        self.op.obtained(self.n, left, undo);
        match coop::poll_proceed(cx) {
            Poll::Ready(progress) => {
                progress.made_progress();
                self.op.acquired(undo);
                Poll::Ready(Ok(()))
            }
            Poll::Pending => {
                // A task that may not go on yet leaves the permits to others. If it kept them while it
                // pauses, all others would queue up behind it.
                self.permits.give_back(self.n);
                self.op.waits();
                Poll::Pending
            }
        }
    }

    /// Handles all polls but a first one that finds its permits available.
    ///
    /// The caller is a poll of this future, which is therefore pinned.
    #[cold]
    #[inline(never)]
    fn poll_slow(&self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        let outcome = match self.waiter.phase() {
            IDLE => return self.poll_first(cx),
            WAITING => match self.poll_in_line(cx) {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => {
                    self.waits(false);
                    self.op.waits();
                    return Poll::Pending;
                }
            },
            outcome => outcome,
        };
        ready!(coop::poll_proceed(cx)).made_progress();
        self.waiter.set_phase(IDLE);
        if outcome != GRANTED {
            return Poll::Ready(Err(Closed));
        }
        if self.permits.is_closed() {
            // Closed between the grant and this poll: no permits are given out after that.
            self.permits.give_back(self.n);
            return Poll::Ready(Err(Closed));
        }
        let undo = || self.permits.give_back(self.n);
        self.op.obtained(self.n, || (), undo);
        self.op.acquired(undo);
        Poll::Ready(Ok(()))
    }

    fn poll_first(&self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        if self.take_by_spinning() {
            return self.taken(cx);
        }
        let waker = cx.waker().clone();
        // SAFETY: the waiter is not linked. It is pinned with this future, whose destructor takes
        // it out of the queue.
        match unsafe { self.permits.enqueue(&self.waiter, self.n, waker) } {
            Ok(Enqueued::InLine { gathered }) => {
                // If a subscriber panics the future is dropped, and leaves the queue.
                if gathered > 0 {
                    self.permits.seen.left(gathered);
                }
                self.waits(true);
                self.op.waits();
                Poll::Pending
            }
            Ok(Enqueued::Taken) => self.taken(cx),
            Err(Closed) => {
                self.waiter.set_phase(REFUSED);
                self.poll_slow(cx)
            }
        }
    }

    /// Notes that the running task waits for the permits.
    #[inline(always)]
    fn waits(&self, begins: bool) {
        let permits = self.permits;
        let (kind, resource) = (permits.kind_of(self.n), sight::address(permits));
        sight::waits_if(begins, kind, resource, Some(permits.site));
    }

    /// Makes sure that the right waker is in place. Ready with the outcome if there is one by now.
    fn poll_in_line(&self, cx: &mut Context<'_>) -> Poll<u32> {
        // SAFETY: we are the waiter's future, and have linked it.
        if unsafe { self.waiter.wakes(cx.waker()) } {
            return Poll::Pending;
        }
        let waker = cx.waker().clone();
        let mut queue = self.permits.queue.lock();
        match self.waiter.phase() {
            WAITING => {
                // SAFETY: it is in the queue, and we are its future.
                let old = unsafe { queue.replace_waker(&self.waiter, waker) };
                drop(queue);
                drop(old);
                Poll::Pending
            }
            outcome => {
                drop(queue);
                Poll::Ready(outcome)
            }
        }
    }

    fn take_by_spinning(&self) -> bool {
        let permits = self.permits;
        permits.worth.spin(|| {
            let word = permits.word.load(Ordering::Relaxed);
            match Permits::take_from(word, self.n) {
                Ok(next) => Some(
                    permits
                        .word
                        .compare_exchange(word, next, Ordering::Acquire, Ordering::Relaxed)
                        .is_ok(),
                ),
                // Waiters come first.
                Err(_) if word & FLAGS != 0 => None,
                Err(_) => Some(false),
            }
        })
    }

    /// Leaves the queue, or gives back what was granted and not collected.
    #[cold]
    #[inline(never)]
    fn cancel(&self) {
        sight::gives_up(self.permits.kind_of(self.n), sight::address(self.permits));
        if self.waiter.phase() == WAITING {
            let mut queue = self.permits.queue.lock();
            if self.waiter.phase() == WAITING {
                // SAFETY: it is in the queue, and we are its future.
                let (waker, request) = unsafe { queue.remove(&self.waiter) };
                // Even if nothing was gathered, the flag may have to go.
                self.permits
                    .hand_out_locked(queue, request.total - request.missing);
                drop(waker);
                return;
            }
        }
        if self.waiter.phase() == GRANTED {
            self.permits.give_back(self.n);
        }
    }
}

impl Drop for Take<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.waiter.phase() != IDLE {
            self.cancel();
        }
    }
}

/// Future returned by [`Take::then`]: takes permits, then calls a function.
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct TakeThen<'a, F> {
    take: Take<'a>,
    f: F,
}

impl<G, F> Future for TakeThen<'_, F>
where
    F: Fn(Result<(), Closed>) -> G,
{
    type Output = G;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<G> {
        // SAFETY: `take` is pinned with us: it is not moved out, and we have no destructor. `f` is
        // not pinned, and only called.
        let (take, f) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.take), &this.f)
        };
        take.poll(cx).map(f)
    }
}

impl fmt::Debug for Take<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Take")
            .field("n", &self.n)
            .field("waiter", &self.waiter)
            .finish()
    }
}

//! # The word
//! ```text
//!  63                                2  1       0
//! +------------------------------------+---------+
//! |     calls of `notify_waiters`      |  state  |
//! +------------------------------------+---------+
//! ```
//! - `EMPTY`: there is no waiter and no stored notification.
//! - `KEPT`: there is no waiter, and one notification is stored for the next one.
//! - `WAITING`: there are waiters in the queue.
//!
//! Any thread may turn `EMPTY` into `KEPT` and back by a compare-exchange; `WAITING` is entered and left
//! only with the queue's lock held.
//!
//! # `notify_waiters` and the two lists
//! A future remembers the number of calls at its creation; a different number means that it was
//! notified, whatever else happened to it. If there are waiters, `notify_waiters` moves them, under
//! the lock, from `waiting` to `leaving`, and counts up in the same step. From then on they are
//! notified, later waiters are not, and `notify_one` does not find them any more. They are then woken
//! in batches. A waiter thus is in `waiting` if and only if its number is the current one.
//!
//! # Why no wake-up is lost
//! All is decided by read-modify-writes of one word. A waiter that joins the queue has replaced `EMPTY`
//! by `WAITING` with a compare-exchange, which fails if a notification was stored or the number changed.

use crate::sight::{self, Tag, WaitKind};
use crate::sys::Mutex;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::wait::{FIRST_OUTCOME, IDLE, WAITING as IN_LINE, WaitList, Waiter, WakeBatch};
use std::fmt;
use std::sync::Arc;
use std::task::{Poll, Waker};

pub(crate) mod futures;
#[cfg(all(test, loom))]
mod model;

use futures::{Notified, OwnedNotified};

const EMPTY: usize = 0;
const WAITING: usize = 1;
const KEPT: usize = 2;
const STATE: usize = 0b11;
/// One call of `notify_waiters`.
const CALL: usize = 0b100;

/// Outcome of a waiter: `notify_one` chose it.
const BY_ONE: u32 = FIRST_OUTCOME;
/// Outcome of a waiter: `notify_last` chose it.
const BY_LAST: u32 = FIRST_OUTCOME + 1;
/// Outcome of a waiter: `notify_waiters` woke it.
const BY_ALL: u32 = FIRST_OUTCOME + 2;
/// Phase of a waiter whose future has returned: nothing to pass on.
const DONE: u32 = FIRST_OUTCOME + 3;

/// Notifies one waiting task, or all of them, that something has happened.
///
/// A notification carries no data. What happened is found elsewhere, behind a lock or in an atomic,
/// and the `Notify` only says when to look.
///
/// - [`notify_one`](Notify::notify_one) wakes the task that has waited longest. If no task waits,
///   the notification is stored, and the next [`notified().await`](Notify::notified) returns at
///   once. At most one notification is stored.
/// - [`notify_last`](Notify::notify_last) does the same, but wakes the task that began to wait
///   last.
/// - [`notify_waiters`](Notify::notify_waiters) wakes all tasks that wait now, and stores nothing.
///
/// Notifications can be missed if a task looks at its condition first and begins to wait
/// afterwards: with `notify_waiters`, and with several waiting tasks. [`Notified::enable`] shows
/// how to wait without such a gap.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress::sync::Notify;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let notify = Arc::new(Notify::new());
/// let task = {
///     let notify = notify.clone();
///     tress::spawn(async move { notify.notified().await })
/// };
/// // The notification is not lost, whether the task waits already or not.
/// notify.notify_one();
/// task.await.unwrap();
/// # });
/// ```
///
/// A queue with one consumer, made of a `VecDeque` and a `Notify`:
///
/// ```
/// use std::collections::VecDeque;
/// use std::sync::Mutex;
/// use tress::sync::Notify;
///
/// struct Queue<T> {
///     items: Mutex<VecDeque<T>>,
///     filled: Notify,
/// }
///
/// impl<T> Queue<T> {
///     fn push(&self, item: T) {
///         self.items.lock().unwrap().push_back(item);
///         self.filled.notify_one();
///     }
///
///     async fn pop(&self) -> T {
///         loop {
///             if let Some(item) = self.items.lock().unwrap().pop_front() {
///                 return item;
///             }
///             // A push after the look above has left a notification.
///             self.filled.notified().await;
///         }
///     }
/// }
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// # let queue = Queue { items: Mutex::default(), filled: Notify::new() };
/// # queue.push(1);
/// # queue.push(2);
/// # assert_eq!((queue.pop().await, queue.pop().await), (1, 2));
/// # });
/// ```
pub struct Notify {
    word: AtomicUsize,
    queue: Mutex<Queue>,
    tag: Tag,
}

/// The waiters, each with the number of calls that its future remembers.
struct Queue {
    waiting: WaitList<usize>,
    leaving: WaitList<usize>,
}

impl Queue {
    const fn new() -> Self {
        Queue {
            waiting: WaitList::new(),
            leaving: WaitList::new(),
        }
    }
}

/// The waiter that a single notification goes to.
#[derive(Clone, Copy)]
enum Choice {
    /// The waiter that has waited longest.
    First,
    /// The waiter that joined the queue last.
    Last,
}

fn state(word: usize) -> usize {
    word & STATE
}

fn calls(word: usize) -> usize {
    word & !STATE
}

impl Notify {
    /// Creates a `Notify` without a stored notification.
    ///
    /// # Examples
    /// ```
    /// let notify = tress::sync::Notify::new();
    /// notify.notify_one();
    /// ```
    #[track_caller]
    pub fn new() -> Notify {
        Notify::known_as(WaitKind::Notify)
    }

    const_fn! {
        /// Creates one whose waiters wait for what `kind` says.
        #[track_caller]
        pub(crate) fn known_as(kind: WaitKind) -> Notify {
            Notify {
                word: AtomicUsize::new(EMPTY),
                queue: Mutex::new(Queue::new()),
                tag: Tag::new(kind),
            }
        }
    }

    const_fn! {
        /// Creates a `Notify` without a stored notification, in a constant context.
        ///
        /// Does the same as [`new`](Notify::new), and can initialize a `static`.
        ///
        /// # Examples
        /// ```
        /// use tress::sync::Notify;
        ///
        /// static NOTIFY: Notify = Notify::const_new();
        /// NOTIFY.notify_one();
        /// ```
        #[track_caller]
        pub fn const_new() -> Notify {
            Notify::known_as(WaitKind::Notify)
        }
    }

    /// Waits for a notification.
    ///
    /// The future takes its place in the queue for [`notify_one`](Notify::notify_one) when it is
    /// first polled, or when [`enable`](Notified::enable) is called. A call of
    /// [`notify_waiters`](Notify::notify_waiters) reaches it from its creation on, even before its
    /// first poll.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, it loses its place
    /// in the queue. A notification of [`notify_one`](Notify::notify_one) that it had already been
    /// chosen for goes to the next waiting task, or is stored.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let notify = tress::sync::Notify::new();
    /// let notified = notify.notified();
    /// notify.notify_waiters();
    /// notified.await;
    /// # });
    /// ```
    #[inline]
    pub fn notified(&self) -> Notified<'_> {
        Notified::new(self, self.seen_calls())
    }

    /// Waits for a notification, with a future that keeps the `Notify` alive by its `Arc`.
    ///
    /// Does the same as [`notified`](Notify::notified), but the future borrows nothing.
    ///
    /// # Cancel safety
    /// This method is cancel safe, as [`notified`](Notify::notified) is.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Notify;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let notify = Arc::new(Notify::new());
    /// let task = tress::spawn(notify.clone().notified_owned());
    /// notify.notify_one();
    /// task.await.unwrap();
    /// # });
    /// ```
    #[inline]
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        let calls = self.seen_calls();
        OwnedNotified::new(self, calls)
    }

    /// Returns the number of calls of `notify_waiters` so far.
    ///
    /// Acquire: if this sees a call, the owner of the future also sees what was written before that
    /// call, and need not be notified of it.
    #[inline]
    fn seen_calls(&self) -> usize {
        calls(self.word.load(Ordering::Acquire))
    }

    /// Wakes the task that has waited longest, or stores the notification if no task waits.
    ///
    /// A stored notification is taken by the next [`notified().await`](Notify::notified), which
    /// then returns at once. Only one is stored, however many calls there are before that.
    ///
    /// Everything that was written before this call is visible to the task that receives the
    /// notification.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let notify = tress::sync::Notify::new();
    /// notify.notify_one();
    /// notify.notify_one(); // no task waits yet: only one notification is stored
    /// notify.notified().await;
    /// # });
    /// ```
    #[inline]
    pub fn notify_one(&self) {
        self.notify(Choice::First);
    }

    /// Wakes the task that began to wait last, or stores the notification if no task waits.
    ///
    /// Does the same as [`notify_one`](Notify::notify_one) otherwise. It suits pools of
    /// interchangeable tasks: the one that worked last is likely to find its data in the cache.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let notify = tress::sync::Notify::new();
    /// let (mut first, mut last) = (Box::pin(notify.notified()), Box::pin(notify.notified()));
    /// first.as_mut().enable();
    /// last.as_mut().enable();
    /// notify.notify_last();
    /// last.await;
    /// # });
    /// ```
    #[inline]
    pub fn notify_last(&self) {
        self.notify(Choice::Last);
    }

    #[inline]
    fn notify(&self, choice: Choice) {
        if !self.keep() {
            self.notify_waiting(choice);
        }
    }

    /// Stores a notification, and returns `true`, unless there are waiters.
    #[inline]
    fn keep(&self) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while state(word) != WAITING {
            // Even if one is stored already: the task that takes it has to see what this caller wrote.
            match self.word.compare_exchange_weak(
                word,
                calls(word) | KEPT,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(actual) => word = actual,
            }
        }
        false
    }

    #[cold]
    fn notify_waiting(&self, choice: Choice) {
        let mut queue = self.queue.lock();
        let settled = match choice {
            Choice::First => queue.waiting.settle_front(BY_ONE),
            Choice::Last => queue.waiting.settle_back(BY_LAST),
        };
        let Some((waker, _)) = settled else {
            // The last waiter has left by now, and with the lock held none is added.
            let kept = self.keep();
            debug_assert!(kept);
            return;
        };
        if queue.waiting.is_empty() {
            self.word.fetch_sub(WAITING, Ordering::AcqRel);
        }
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Wakes all tasks that wait at the moment.
    ///
    /// That includes tasks whose [`notified`](Notify::notified) future exists but has not been
    /// polled. Nothing is stored: a future that is created later does not see this notification.
    ///
    /// Everything that was written before this call is visible to the tasks that are woken.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let notify = tress::sync::Notify::new();
    /// let (one, two) = (notify.notified(), notify.notified());
    /// notify.notify_waiters();
    /// one.await;
    /// two.await;
    /// # });
    /// ```
    pub fn notify_waiters(&self) {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if state(word) == WAITING {
                if self.notify_all_waiting() {
                    return;
                }
                word = self.word.load(Ordering::Relaxed);
                continue;
            }
            match self.word.compare_exchange_weak(
                word,
                word.wrapping_add(CALL),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(actual) => word = actual,
            }
        }
    }

    /// Wakes all waiters, or returns `false` if none is left.
    #[cold]
    fn notify_all_waiting(&self) -> bool {
        let mut batch = WakeBatch::new();
        let mut queue = self.queue.lock();
        if queue.waiting.is_empty() {
            return false;
        }
        let Queue { waiting, leaving } = &mut *queue;
        leaving.append(waiting);
        self.word
            .fetch_add(CALL.wrapping_sub(WAITING), Ordering::AcqRel);
        loop {
            while !batch.is_full() {
                let Some((waker, _)) = queue.leaving.settle_front(BY_ALL) else {
                    drop(queue);
                    batch.finish();
                    return true;
                };
                batch.push(waker);
            }
            drop(queue);
            batch.wake_all();
            queue = self.queue.lock();
        }
    }

    /// Polls for a future that remembers `seen` calls; without a waker, enables it.
    ///
    /// # Safety
    /// The caller is the waiter's future. It is pinned, and calls `cancel` before it goes.
    #[inline]
    unsafe fn poll(&self, waiter: &Waiter<usize>, seen: usize, waker: Option<&Waker>) -> Poll<()> {
        let ready = waiter.phase() == IDLE && self.take_kept(seen) == Taken::Yes;
        // SAFETY: by the caller's promise.
        if ready || unsafe { self.poll_slow(waiter, seen, waker) }.is_ready() {
            waiter.set_phase(DONE);
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// # Safety
    /// As for `poll`.
    #[cold]
    unsafe fn poll_slow(
        &self,
        waiter: &Waiter<usize>,
        seen: usize,
        waker: Option<&Waker>,
    ) -> Poll<()> {
        // SAFETY: by the caller's promise, and the phase is what each of them asks for.
        unsafe {
            match waiter.phase() {
                IDLE => self.get_in_line(waiter, seen, waker),
                IN_LINE => {
                    let polled = self.poll_in_line(waiter, seen, waker);
                    if polled.is_pending() && waker.is_some() {
                        self.tag.waits(false, sight::address(self));
                    }
                    polled
                }
                _ => Poll::Ready(()),
            }
        }
    }

    /// # Safety
    /// As for `poll`; the waiter is in no list.
    unsafe fn get_in_line(
        &self,
        waiter: &Waiter<usize>,
        seen: usize,
        waker: Option<&Waker>,
    ) -> Poll<()> {
        // One that is only enabled does not wait yet.
        let waits = waker.is_some();
        let waker = waker.cloned();
        let mut queue = self.queue.lock();
        loop {
            let word = match self.take_kept(seen) {
                Taken::Yes => {
                    // Unlock first: dropping the waker runs foreign code.
                    drop(queue);
                    return Poll::Ready(());
                }
                Taken::No(word) => word,
            };
            if state(word) == WAITING
                || self
                    .word
                    .compare_exchange_weak(
                        word,
                        word | WAITING,
                        Ordering::AcqRel,
                        Ordering::Relaxed,
                    )
                    .is_ok()
            {
                break;
            }
        }
        // SAFETY: by the caller's promise; this is the lock that guards both lists.
        unsafe { queue.waiting.push_back(waiter, waker, seen) };
        drop(queue);
        if waits {
            self.tag.waits(true, sight::address(self));
        }
        Poll::Pending
    }

    /// Takes a stored notification, or finds that all waiters were notified. Otherwise returns the word, in
    /// which no notification is stored and the number is `seen`.
    #[inline]
    fn take_kept(&self, seen: usize) -> Taken {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if calls(word) != seen {
                return Taken::Yes;
            }
            if state(word) != KEPT {
                return Taken::No(word);
            }
            match self.word.compare_exchange_weak(
                word,
                calls(word) | EMPTY,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Taken::Yes,
                Err(actual) => word = actual,
            }
        }
    }

    /// # Safety
    /// As for `poll`; the waiter has been linked.
    unsafe fn poll_in_line(
        &self,
        waiter: &Waiter<usize>,
        seen: usize,
        waker: Option<&Waker>,
    ) -> Poll<()> {
        let leaving = calls(self.word.load(Ordering::Acquire)) != seen;
        if !leaving {
            // SAFETY: we act for the waiter's future, and it has been linked.
            if waker.is_none_or(|waker| unsafe { waiter.wakes(waker) }) {
                return Poll::Pending;
            }
        }
        let waker = waker.cloned();
        let mut queue = self.queue.lock();
        if waiter.phase() != IN_LINE {
            drop(queue);
            return Poll::Ready(());
        }
        let old;
        let polled;
        // With the lock held the number is the one that decided which list the waiter is in.
        if calls(self.word.load(Ordering::Acquire)) != seen {
            // Notified, and about to be woken: no need to wait for that.
            // SAFETY: it is in this list; we act for its future.
            old = unsafe { queue.leaving.remove(waiter) }.0;
            polled = Poll::Ready(());
        } else {
            // SAFETY: as above, in the other list.
            old = waker.and_then(|new| unsafe { queue.waiting.replace_waker(waiter, new) });
            polled = Poll::Pending;
        }
        drop(queue);
        drop(old);
        polled
    }

    /// Unlinks the waiter of a future that goes away, and passes its notification on.
    ///
    /// # Safety
    /// The caller is the waiter's future.
    #[inline]
    unsafe fn cancel(&self, waiter: &Waiter<usize>, seen: usize) {
        match waiter.phase() {
            IDLE | DONE => {}
            // SAFETY: by the caller's promise.
            _ => unsafe { self.cancel_waiting(waiter, seen) },
        }
    }

    /// # Safety
    /// As for `cancel`.
    #[cold]
    unsafe fn cancel_waiting(&self, waiter: &Waiter<usize>, seen: usize) {
        self.tag.gives_up(sight::address(self));
        if waiter.phase() == IN_LINE {
            let mut queue = self.queue.lock();
            if waiter.phase() == IN_LINE {
                let waker;
                if calls(self.word.load(Ordering::Relaxed)) == seen {
                    // SAFETY: its number is the current one, so it is in this list.
                    waker = unsafe { queue.waiting.remove(waiter) }.0;
                    if queue.waiting.is_empty() {
                        self.word.fetch_sub(WAITING, Ordering::AcqRel);
                    }
                } else {
                    // SAFETY: it is not, so it is in that one.
                    waker = unsafe { queue.leaving.remove(waiter) }.0;
                }
                drop(queue);
                drop(waker);
                return;
            }
        }
        match waiter.phase() {
            BY_ONE => self.notify(Choice::First),
            BY_LAST => self.notify(Choice::Last),
            _ => {}
        }
    }
}

#[derive(PartialEq, Eq)]
enum Taken {
    Yes,
    No(usize),
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Notify {
        Notify::new()
    }
}

/// Reads the word only: the queue would be printed with its lock held.
impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Ordering::Relaxed);
        f.debug_struct("Notify")
            .field("stored", &(state(word) == KEPT))
            .field("waiters", &(state(word) == WAITING))
            .finish_non_exhaustive()
    }
}

//! One worker's timers: the wheel, its lock, and the entries that futures register in it.
//!
//! An entry lives inside the future that waits (no allocation) and is linked into the wheel of the
//! worker that first polled it. Anybody may fire or cancel it: the wheel's lock decides who comes
//! first.
//!
//! | state | meaning | who may touch the entry |
//! |---|---|---|
//! | UNARMED | in no wheel | the future |
//! | ARMED | linked; the waker's slot is filled | whoever holds the wheel's lock |
//! | FIRED, CLOSED | unlinked again, waker taken | the future |
//!
//! # Memory ordering
//! The state leaves ARMED under the lock with a release store, after the last access of the firing
//! thread. A future that reads FIRED with acquire therefore has the entry to itself and needs no
//! lock; one that reads ARMED must take it and look again.

use super::clock::Clock;
use super::wheel::{Expiry, Node, Wheel};
use crate::identity::order;
use crate::sight::{self, WaitKind};
use crate::sys::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sys::{Counter, Mutex, UnsafeCell, clock, guarded, prefetch};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// Wakers taken out of the wheel under one lock.
const BATCH: usize = 32;
const NEVER: u64 = u64::MAX;
/// There are entries whose time has not begun to count: the next tick must see to that.
const AT_ONCE: u64 = 0;

/// The timers of one worker. See the module documentation.
pub(crate) struct Timers {
    start: Instant,
    /// What the runtime's time is; the machine's if there is none.
    clock: Option<Arc<Clock>>,
    wheel: Mutex<Inner>,
    /// When the wheel next has something to do, in ticks. Written under the lock, read without.
    next: AtomicU64,
    /// Wakes the worker, if it sleeps longer than it should.
    worker: Waker,
}

/// A timer, for dumps.
pub(crate) struct Waiting<W> {
    /// Milliseconds until it fires.
    pub(crate) in_ms: u64,
    /// What the caller made of its waker.
    pub(crate) woken: W,
}

struct Inner {
    wheel: Wheel,
    closed: bool,
}

const UNARMED: u32 = 0;
const ARMED: u32 = 1;
const FIRED: u32 = 2;
const CLOSED: u32 = 3;

/// What a future registers.
#[repr(C)]
pub(crate) struct Entry {
    // First, so that a pointer to one is a pointer to the other.
    node: Node,
    waker: UnsafeCell<Option<Waker>>,
    /// Set while ARMED.
    timers: UnsafeCell<Option<Arc<Timers>>>,
    state: AtomicU32,
    _pinned: PhantomPinned,
}

// SAFETY: the fields are accessed as the table above says, whatever the thread.
unsafe impl Send for Entry {}
// SAFETY: through a shared reference only the atomic state can be reached.
unsafe impl Sync for Entry {}

/// What registering found.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Armed {
    /// It waits, and is now the first to fire: a worker that sleeps must be told.
    First,
    /// It waits.
    Waiting,
    /// The deadline has passed.
    Due,
    /// The runtime is gone.
    Closed,
}

impl Timers {
    /// Timers without entries; `worker` wakes the thread that fires them.
    pub(crate) fn new(start: Instant, worker: Waker) -> Timers {
        Timers {
            start,
            clock: None,
            worker,
            wheel: Mutex::new(Inner {
                wheel: Wheel::new(0),
                closed: false,
            }),
            next: AtomicU64::new(NEVER),
        }
    }

    /// As `new`, on a runtime whose time may be stopped.
    pub(crate) fn with_clock(start: Instant, worker: Waker, clock: Arc<Clock>) -> Timers {
        Timers {
            clock: Some(clock),
            ..Timers::new(start, worker)
        }
    }

    /// Returns whether an entry with this deadline fires at once. While the clock is paused that is for the wheel to
    /// say: it stands where the clock was at the last look.
    fn has_passed(&self, deadline: Instant) -> bool {
        match &self.clock {
            Some(clock) => !clock.is_paused() && deadline <= clock.now(),
            None => deadline <= clock::now(),
        }
    }

    /// The tick that has begun at `now`.
    fn tick_at(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.start);
        since
            .as_secs()
            .saturating_mul(1000)
            .saturating_add(u64::from(since.subsec_millis()))
    }

    /// The first tick at which `deadline` has passed.
    fn tick_after(&self, deadline: Instant) -> u64 {
        ticks(deadline.saturating_duration_since(self.start))
    }

    /// When `fire` next has something to do.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        // Not `AT_ONCE` for the worker itself: it has fired at the end of its last tick.
        match self.next.load(Ordering::Acquire) {
            NEVER => None,
            // A tick too far for the clock is as good as never.
            tick => self.start.checked_add(Duration::from_millis(tick)),
        }
    }

    /// Wakes what is due.
    #[inline]
    pub(crate) fn fire(&self, now: Instant, fired: &Counter) {
        if self.next.load(Ordering::Relaxed) != NEVER {
            let tick = self.tick_at(now);
            if self.next.load(Ordering::Acquire) <= tick {
                self.fire_until(tick, fired);
            }
        }
    }

    /// As `fire`, and lets no entry in whose time has come by then. For a clock that is paused.
    pub(crate) fn turn_to(&self, now: Instant, fired: &Counter) {
        self.fire_until(self.tick_at(now), fired);
    }

    /// Returns how many whole ticks the clock, which shows `now`, has to move on for `fire` to have something to do.
    pub(crate) fn until_next_due(&self, now: Instant) -> Option<Duration> {
        match self.next.load(Ordering::Acquire) {
            NEVER => None,
            tick => Some(Duration::from_millis(
                tick.saturating_sub(self.tick_at(now)),
            )),
        }
    }

    #[cold]
    fn fire_until(&self, tick: u64, fired: &Counter) {
        let mut batch: [Option<Waker>; BATCH] = [const { None }; BATCH];
        loop {
            let mut n = 0;
            let mut inner = self.wheel.lock();
            if inner.wheel.has_unsettled() {
                inner.wheel.settle(tick.saturating_add(1));
            }
            while n < BATCH {
                let Some(node) = inner.wheel.pop_due(tick) else {
                    break;
                };
                // SAFETY: a linked node belongs to a pinned entry, and the lock is held.
                let waker = unsafe { Entry::unlink(node.cast(), FIRED) };
                // Most likely a task, as cold as its timer was.
                if let Some(task) = waker
                    .as_ref()
                    .and_then(|w| NonNull::new(w.data().cast_mut()))
                {
                    prefetch(task);
                }
                batch[n] = waker;
                n += 1;
            }
            self.publish_next(&inner.wheel);
            drop(inner);
            fired.add(n as u64);
            // Without the lock: a waker may do anything, also register or cancel a timer here.
            wake_all(&mut batch[..n]);
            if n < BATCH {
                return;
            }
        }
    }

    /// After an insertion: is there now something to do earlier than everybody thinks?
    fn note_earlier(&self, wheel: &Wheel) -> Armed {
        let next = wheel.next_tick().unwrap_or(NEVER);
        if next < self.next.load(Ordering::Relaxed) {
            self.next.store(next, Ordering::Release);
            Armed::First
        } else {
            Armed::Waiting
        }
    }

    fn publish_next(&self, wheel: &Wheel) {
        let next = if wheel.has_unsettled() {
            AT_ONCE
        } else {
            wheel.next_tick().unwrap_or(NEVER)
        };
        self.next.store(next, Ordering::Release);
    }

    /// Ends all waits: the runtime goes away.
    pub(crate) fn close(&self) {
        loop {
            let mut inner = self.wheel.lock();
            inner.closed = true;
            let Some(node) = inner.wheel.pop_any() else {
                self.next.store(NEVER, Ordering::Release);
                return;
            };
            // SAFETY: a linked node belongs to a pinned entry, and the lock is held.
            let waker = unsafe { Entry::unlink(node.cast(), CLOSED) };
            drop(inner);
            wake_all(&mut [waker]);
        }
    }

    /// When each timer is due and whom it wakes, the next one first, but no more than `most`; and how many
    /// there are. None if the wheel cannot be had soon. `whom` is called under the wheel's lock.
    pub(crate) fn look<W>(
        &self,
        most: usize,
        whom: impl Fn(&Waker) -> W,
    ) -> Option<(Vec<Waiting<Option<W>>>, usize)> {
        let inner = self.wheel.lock_soon()?;
        let now = self.tick_at(clock::now());
        let mut all = Vec::new();
        inner.wheel.for_each(|node, expiry| {
            let in_ms = match expiry {
                Expiry::At(tick) => tick.saturating_sub(now),
                Expiry::After(ticks) => ticks,
            };
            // SAFETY: a linked node belongs to a pinned entry whose waker is there, and the lock is
            // held.
            let entry = unsafe { node.cast::<Entry>().as_ref() };
            let woken = entry.waker.with(|slot| {
                // SAFETY: as above.
                unsafe { (*slot).as_ref() }.map(&whom)
            });
            all.push(Waiting { in_ms, woken });
        });
        drop(inner);
        let len = all.len();
        order::by_key(&mut all, |timer| timer.in_ms);
        all.truncate(most);
        Some((all, len))
    }

    #[cfg(all(test, loom))]
    pub(crate) fn len(&self) -> usize {
        self.wheel.lock().wheel.len()
    }
}

/// Wakes all. One that panics, as foreign wakers may, keeps nobody from being woken, nor the worker from its work.
fn wake_all(wakers: &mut [Option<Waker>]) {
    let mut wakers = wakers.iter_mut().filter_map(Option::take);
    // Each panic has taken one.
    while guarded(|| wakers.by_ref().for_each(Waker::wake)).is_none() {}
}

/// A duration in ticks, rounded up.
fn ticks(duration: Duration) -> u64 {
    let millis = u64::from(duration.subsec_nanos().div_ceil(1_000_000));
    duration
        .as_secs()
        .saturating_mul(1000)
        .saturating_add(millis)
}

impl Entry {
    pub(crate) fn new() -> Entry {
        Entry {
            node: Node::new(),
            waker: UnsafeCell::new(None),
            timers: UnsafeCell::new(None),
            state: AtomicU32::new(UNARMED),
            _pinned: PhantomPinned,
        }
    }

    /// Takes the waker of an entry that just left the wheel. After this the entry is its future's.
    ///
    /// # Safety
    /// The entry was linked until now and the wheel's lock is held.
    unsafe fn unlink(this: NonNull<Entry>, state: u32) -> Option<Waker> {
        // SAFETY: the future cannot free the entry before it sees the state change, which is the
        // last access.
        unsafe {
            let entry = this.as_ptr();
            let waker = (*entry).waker.with_mut(|slot| (*slot).take());
            (*entry).state.store(state, Ordering::Release);
            waker
        }
    }

    /// Returns whether it was neither armed nor has it ended, since it was made or disarmed.
    pub(crate) fn is_unarmed(&self) -> bool {
        self.state.load(Ordering::Acquire) == UNARMED
    }

    pub(crate) fn is_armed(&self) -> bool {
        self.state.load(Ordering::Acquire) == ARMED
    }

    pub(crate) fn has_fired(&self) -> bool {
        self.state.load(Ordering::Acquire) == FIRED
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSED
    }

    /// Registers an unarmed entry.
    pub(crate) fn arm(
        self: Pin<&Self>,
        timers: &Arc<Timers>,
        deadline: Instant,
        waker: &Waker,
    ) -> Armed {
        debug_assert!(!self.is_armed());
        let tick = timers.tick_after(deadline);
        let waker = waker.clone();
        let mut inner = timers.wheel.lock();
        if inner.closed {
            return Armed::Closed;
        }
        let node = NonNull::from(self.get_ref()).cast::<Node>();
        // SAFETY: unlinked and pinned; `drop` unlinks it before it goes. Not armed, so all its
        // fields are ours.
        unsafe {
            if inner.wheel.insert(node, tick).is_err() {
                return Armed::Due;
            }
            self.fill(timers, waker);
        }
        timers.note_earlier(&inner.wheel)
    }

    /// Registers an unarmed entry whose time begins to count at the worker's next tick.
    ///
    /// Only for the thread whose timers these are, which looks at them at every tick and before it
    /// sleeps: it saves the look at the clock, and most timeouts are over by then.
    pub(crate) fn arm_after(
        self: Pin<&Self>,
        timers: &Arc<Timers>,
        delay: Duration,
        waker: &Waker,
    ) -> Armed {
        debug_assert!(!self.is_armed());
        let waker = waker.clone();
        let mut inner = timers.wheel.lock();
        if inner.closed {
            return Armed::Closed;
        }
        let node = NonNull::from(self.get_ref()).cast::<Node>();
        // SAFETY: as in `arm`.
        unsafe {
            inner.wheel.insert_unsettled(node, ticks(delay));
            self.fill(timers, waker);
        }
        timers.next.store(AT_ONCE, Ordering::Release);
        Armed::Waiting
    }

    /// Fills the fields of an entry that was just linked.
    ///
    /// # Safety
    /// The wheel's lock is held, and the entry was unarmed until now.
    unsafe fn fill(&self, timers: &Arc<Timers>, waker: Waker) {
        // SAFETY: by the caller's promise.
        unsafe {
            self.waker.with_mut(|slot| *slot = Some(waker));
            self.timers.with_mut(|slot| match &*slot {
                Some(same) if Arc::ptr_eq(same, timers) => {}
                _ => *slot = Some(timers.clone()),
            });
        }
        self.state.store(ARMED, Ordering::Release);
    }

    /// Moves an armed entry to another deadline; one that has passed lets it fire at once. False if it
    /// had left the wheel already: it is unarmed then, and the next poll has to arm it anew.
    pub(crate) fn move_to(self: Pin<&Self>, deadline: Instant) -> bool {
        let Some(timers) = self.timers() else {
            return false;
        };
        let tick = timers.tick_after(deadline);
        let mut waker = None;
        let moved = self.with_armed(|inner| {
            let node = NonNull::from(self.get_ref()).cast::<Node>();
            // SAFETY: armed, and the lock is held.
            unsafe {
                let earlier = match inner.wheel.expiry(node) {
                    Expiry::At(former) => tick < former,
                    Expiry::After(_) => true,
                };
                inner.wheel.remove(node);
                // The wheel stands where something was due last. A later deadline costs no look at
                // the clock: idle timeouts are put off again and again.
                let passed = earlier && timers.has_passed(deadline);
                if !passed && inner.wheel.insert(node, tick).is_ok() {
                    timers.note_earlier(&inner.wheel)
                } else {
                    waker = Entry::unlink(node.cast(), FIRED);
                    Armed::Due
                }
            }
        });
        match moved {
            Some(Armed::First) => timers.worker.wake_by_ref(),
            Some(_) => {}
            // It fired or was closed meanwhile.
            None => self.state.store(UNARMED, Ordering::Relaxed),
        }
        if let Some(waker) = waker {
            waker.wake();
        }
        moved.is_some()
    }

    /// How long from `now` until an entry fires that was armed before; nothing if it has.
    pub(crate) fn remaining(&self, now: Instant) -> Duration {
        let Some(timers) = self.timers() else {
            return Duration::ZERO;
        };
        let expiry = self.with_armed(|inner| {
            let node = NonNull::from(self).cast::<Node>();
            // SAFETY: armed, and the lock is held.
            unsafe { inner.wheel.expiry(node) }
        });
        match expiry {
            Some(Expiry::At(tick)) => Duration::from_millis(tick)
                .saturating_sub(now.saturating_duration_since(timers.start)),
            Some(Expiry::After(ticks)) => Duration::from_millis(ticks),
            None => Duration::ZERO,
        }
    }

    /// Lets an armed entry fire now.
    pub(crate) fn expire(self: Pin<&Self>) {
        if let Some(waker) = self.take_out(FIRED).flatten() {
            waker.wake();
        }
    }

    /// The deadline had passed before the entry was armed.
    pub(crate) fn mark_fired(&self) {
        self.state.store(FIRED, Ordering::Relaxed);
    }

    /// Replaces the waker of an armed entry. False if it is not armed any more.
    pub(crate) fn set_waker(self: Pin<&Self>, waker: &Waker) -> bool {
        // Cloned before the lock, and the old one dropped after it: both may be foreign code.
        let waker = waker.clone();
        self.with_armed(|_| {
            // SAFETY: armed, and the lock is held.
            unsafe { self.waker.with_mut(|slot| (*slot).replace(waker)) }
        })
        .is_some()
    }

    /// Takes the entry out of the wheel, if it is in.
    pub(crate) fn disarm(self: Pin<&Self>) {
        if self.take_out(UNARMED).is_none() {
            // Fired or closed: the entry is ours, ready to be armed again.
            self.state.store(UNARMED, Ordering::Relaxed);
        }
    }

    /// Takes an armed entry out of the wheel, and returns its waker. The state is what it is in then.
    #[inline(always)]
    fn take_out(&self, state: u32) -> Option<Option<Waker>> {
        self.with_armed(|inner| {
            let node = NonNull::from(self).cast::<Node>();
            // SAFETY: armed, and the lock is held.
            unsafe {
                inner.wheel.remove(node);
                Entry::unlink(node.cast(), state)
            }
        })
    }

    /// The timers that the entry was armed with last.
    fn timers(&self) -> Option<&Arc<Timers>> {
        // SAFETY: the future, whose entry this is, is the only one to change it, and does so only while the entry is
        // not armed and through `fill`, whose caller holds no reference from here.
        unsafe { self.timers.with(|slot| (*slot).as_ref()) }
    }

    /// Calls `f` under the lock if the entry is armed. What it returns is dropped after the lock.
    #[inline(always)]
    fn with_armed<R>(&self, f: impl FnOnce(&mut Inner) -> R) -> Option<R> {
        if !self.is_armed() {
            return None;
        }
        let timers = self.timers()?;
        let mut inner = timers.wheel.lock();
        // Not by `then`, whose closure would drop an uncalled `f`, and the waker in it, under the lock.
        let result = if self.is_armed() {
            Some(f(&mut inner))
        } else {
            None
        };
        drop(inner);
        result
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.is_armed() {
            sight::gives_up(WaitKind::Timer, sight::address(self));
            // SAFETY: an entry that was armed was pinned, and is until it is gone.
            unsafe { Pin::new_unchecked(&*self) }.disarm();
        }
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.state.load(Ordering::Relaxed) {
            UNARMED => "unarmed",
            ARMED => "armed",
            FIRED => "fired",
            _ => "closed",
        };
        f.debug_tuple("Entry").field(&state).finish()
    }
}

//! What a simulation decides in place of a scheduler and of the processor's counter, what it knows of runtimes, and
//! what it keeps for each program that it runs.

use crate::plain::AtomicPtr;
use std::io;
use std::mem;
use std::ptr;
use std::sync::Weak;
use std::sync::atomic::Ordering;

/// Chooses one of that many tasks that are ready, the first in line being 0. The function returns the id of each, where the
/// scheduler can tell.
pub type Choose = fn(usize, &dyn Fn(usize) -> Option<u64>) -> usize;

static CHOOSE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// From now on has `choose` decide which task is next, on every thread of this process. It is called before each poll,
/// also where there is only one.
pub fn decide_by(choose: Choose) {
    CHOOSE.store(choose as *mut (), Ordering::Release);
}

/// Returns whether something else [decides](decide_by): then waiting for a moment in a loop is no use, since only one thread
/// runs at a time.
#[inline]
pub fn is_decided() -> bool {
    !CHOOSE.load(Ordering::Relaxed).is_null()
}

/// Chooses one of that many tasks that are ready: the first in line, unless something else [decides](decide_by).
#[inline]
pub fn choose(ready: usize, id: &dyn Fn(usize) -> Option<u64>) -> usize {
    let choose = CHOOSE.load(Ordering::Acquire);
    if choose.is_null() {
        return 0;
    }
    // SAFETY: only `decide_by` writes it, and only functions of that type.
    let choose: Choose = unsafe { mem::transmute(choose) };
    choose(ready, id).min(ready.saturating_sub(1))
}

/// Returns the nanoseconds of virtual time on a thread that is simulated, and `None` on any other.
pub type Nanos = fn() -> Option<u64>;

static NANOS: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// From now on has `nanos` take the place of the processor's counter, on every thread that it has an answer for.
pub fn tell_time_by(nanos: Nanos) {
    NANOS.store(nanos as *mut (), Ordering::Release);
}

/// Returns the nanoseconds of virtual time, if the calling thread is simulated.
#[inline]
pub(crate) fn nanos() -> Option<u64> {
    let nanos = NANOS.load(Ordering::Acquire);
    if nanos.is_null() {
        return None;
    }
    // SAFETY: only `tell_time_by` writes it, and only functions of that type.
    let nanos: Nanos = unsafe { mem::transmute(nanos) };
    nanos()
}

/// A runtime, as a simulation sees it.
pub trait Runtime: Send + Sync {
    /// Writes what its workers do, and at most that many of its tasks. Returns the number of tasks that it has written.
    ///
    /// It waits for no lock.
    ///
    /// # Errors
    /// Any error of the writer.
    fn dump(&self, most_tasks: usize, out: &mut dyn io::Write) -> io::Result<usize>;
}

/// Is told of each runtime that is made, on the thread that makes it.
pub type Meet = fn(Weak<dyn Runtime>);

static MEET: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// From now on has `meet` called with each runtime that is made, on every thread of this process.
pub fn meet_by(meet: Meet) {
    MEET.store(meet as *mut (), Ordering::Release);
}

/// Says that a runtime was made.
pub fn made(runtime: Weak<dyn Runtime>) {
    let meet = MEET.load(Ordering::Acquire);
    if !meet.is_null() {
        // SAFETY: only `meet_by` writes it, and only functions of that type.
        let meet: Meet = unsafe { mem::transmute(meet) };
        meet(runtime);
    }
}

/// Finds what the program of the calling thread has under a key, or makes it. Returns `None` on a thread that is part of no
/// simulated program.
pub type Separate = fn(usize, &dyn Fn() -> *const ()) -> Option<*const ()>;

static SEPARATE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// From now on has `separate` keep what each program has for itself, in this process.
pub fn separate_by(separate: Separate) {
    SEPARATE.store(separate as *mut (), Ordering::Release);
}

/// Returns what the program of the calling thread has under a key, made by `new` if it has nothing yet. `None` unless
/// something [keeps programs apart](separate_by), and the thread is part of one.
pub(crate) fn of_program(key: usize, new: &dyn Fn() -> *const ()) -> Option<*const ()> {
    let separate = SEPARATE.load(Ordering::Acquire);
    if separate.is_null() {
        return None;
    }
    // SAFETY: only `separate_by` writes it, and only functions of that type.
    let separate: Separate = unsafe { mem::transmute(separate) };
    separate(key, new)
}

//! What a simulation decides in place of a scheduler, and keeps for each program that it runs.

use crate::plain::AtomicPtr;
use std::mem;
use std::ptr;
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

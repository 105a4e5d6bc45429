//! Stacks that one thread of the system switches between, each with thread-local storage of its own.
//!
//! A simulated thread needs a stack, and, since unmodified code runs on it, the thread-local variables of a thread.
//! Both come from a *donor*: a real thread that does nothing but lend them. It is started, says where its stack and its
//! thread-local storage are, and sleeps. When they are first needed, the simulation's own thread waits for that, switches to that
//! stack and makes the thread pointer that of the donor. So there are many threads to the program, to the C library and to sanitizers, but only
//! one of them ever runs, and a switch costs nanoseconds.
//!
//! When a simulated thread has ended, its thread-local destructors have run on its own stack, and the donor ends.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod sanitizer;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as arch;
#[cfg(target_arch = "x86_64")]
use x86_64 as arch;

use crate::raw;
use crate::runner::page::{self, page};
use std::ffi::{CStr, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is needed to go on with a stack: everything else is on it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Context {
    stack: *mut u8,
    thread_pointer: usize,
}

impl Context {
    /// Of the running stack: filled when it is left. Or of one that is not lent yet.
    pub(crate) fn running() -> Context {
        Context {
            stack: ptr::null_mut(),
            thread_pointer: 0,
        }
    }

    /// Returns whether there is nothing to go on with.
    pub(crate) fn is_empty(&self) -> bool {
        self.stack.is_null()
    }
}

/// Leaves the running stack and goes on with another one. Returns when something switches back.
///
/// # Safety
/// `to` was filled by leaving that stack, or by [`Donor::lend`], and nothing has gone on with it since. This thread is
/// the only one that switches between these stacks.
pub(crate) unsafe fn switch(from: *mut Context, to: *const Context) {
    // SAFETY: the caller's promise.
    unsafe { arch::switch(from, to) }
}

/// The start of what runs on a stack. It must not return.
pub(crate) type Entry = unsafe extern "C" fn(*mut c_void) -> !;

/// Space that the donor may use while it sleeps, above what it lends.
const DONORS_OWN: usize = 32 * 1024;

const STARTING: u32 = 0;
const LENDING: u32 = 1;
const ENDING: u32 = 2;

// D-SIM-02
/// A thread that lends its stack and its thread-local storage.
///
/// One that is dropped without being [ended](Donor::end) sleeps until the process ends: what is on its stack may be
/// referred to.
#[derive(Debug)]
pub(crate) struct Donor {
    thread: libc::pthread_t,
    /// Freed by `end` only, since the thread writes to it and sleeps on it.
    offer: *mut Offer,
}

/// What a donor and the simulation's thread tell each other.
#[derive(Debug)]
struct Offer {
    state: AtomicU32,
    stack: usize,
    thread_pointer: usize,
}

impl Donor {
    /// Starts a donor, with the given attributes.
    ///
    /// # Errors
    /// The system has no room for another thread.
    ///
    /// # Safety
    /// `attributes` is null or points to valid attributes.
    pub(crate) unsafe fn new(attributes: *const libc::pthread_attr_t) -> io::Result<Donor> {
        let offer = Box::new(Offer {
            state: AtomicU32::new(STARTING),
            stack: 0,
            thread_pointer: 0,
        });
        let offer = Box::into_raw(offer);
        let mut thread = MaybeUninit::uninit();
        // SAFETY: the attributes are valid, and the offer lives until the donor is joined.
        let failed =
            unsafe { raw::pthread_create(thread.as_mut_ptr(), attributes, lend, offer.cast()) };
        if failed != 0 {
            // SAFETY: no thread has it.
            drop(unsafe { Box::from_raw(offer) });
            return Err(io::Error::from_raw_os_error(failed));
        }
        // SAFETY: the thread was started.
        let thread = unsafe { thread.assume_init() };
        Ok(Donor { thread, offer })
    }

    /// Waits until the donor has started.
    fn wait(&self) -> &Offer {
        // SAFETY: the offer is freed by `end` only. The donor writes the other fields before it changes the state, and only reads
        // from then on.
        unsafe {
            let state = &(*self.offer).state;
            while state.load(Ordering::Acquire) == STARTING {
                raw::futex_wait(state, STARTING);
            }
            &*self.offer
        }
    }

    /// Waits until the donor lends its stack, and returns that, with `entry` to run on it.
    ///
    /// # Safety
    /// It is called once.
    pub(crate) unsafe fn lend(&self, entry: Entry, argument: *mut c_void) -> Context {
        let offer = self.wait();
        // SAFETY: the donor leaves everything below that address alone, and nothing has run there.
        let stack = unsafe { arch::prepare(offer.stack as *mut u8, entry, argument) };
        Context {
            stack,
            thread_pointer: offer.thread_pointer,
        }
    }

    /// The thread by the C library's name.
    pub(crate) fn thread(&self) -> libc::pthread_t {
        self.thread
    }

    /// Lets the donor end, and waits for that.
    ///
    /// # Safety
    /// Nothing will switch to its stack again.
    pub(crate) unsafe fn end(self) {
        // It would not see an end that is asked for before it lends.
        let state = &self.wait().state;
        state.store(ENDING, Ordering::Release);
        raw::futex_wake(state);
        // SAFETY: it was not joined yet, and is never detached. Once it has ended nothing has the offer.
        unsafe {
            raw::pthread_join(self.thread);
            drop(Box::from_raw(self.offer));
        }
    }
}

/// The name of a donor, by which a report of a run tells it from threads that are no part of the simulation.
pub(crate) const DONOR: &CStr = c"tress-sim donor";

/// What a donor does.
extern "C" fn lend(offer: *mut c_void) -> *mut c_void {
    // A signal's handler would run on the stack that is lent.
    raw::block_signals();
    if page().has(page::LOG) {
        raw::name_thread(DONOR);
    }
    sanitizer::forget_stack();
    let offer: *mut Offer = offer.cast();
    let mark = 0u8;
    let stack = (ptr::from_ref(&mark) as usize - DONORS_OWN) & !15;
    // SAFETY: the others wait for the state before they look at the rest, and keep the offer until this thread has ended.
    let state = unsafe {
        (*offer).stack = stack;
        (*offer).thread_pointer = arch::thread_pointer();
        &(*offer).state
    };
    state.store(LENDING, Ordering::Release);
    raw::futex_wake(state);
    while state.load(Ordering::Acquire) == LENDING {
        raw::futex_wait(state, LENDING);
    }
    // Another thread may get the same memory.
    sanitizer::forget_stack();
    ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_donor_may_end_before_it_has_lent_anything() {
        for _ in 0..200 {
            // SAFETY: there are no attributes, and nothing ever switches to its stack.
            unsafe {
                let donor = Donor::new(ptr::null()).expect("a thread can be had");
                donor.end();
            }
        }
    }

    #[test]
    fn donors_that_start_at_the_same_time_lend_stacks_of_their_own() {
        unsafe extern "C" fn never(_: *mut c_void) -> ! {
            unreachable!("nothing switches to it");
        }
        // SAFETY: there are no attributes, each lends once, and nothing ever switches to its stack.
        unsafe {
            let donors: Vec<_> = (0..8)
                .map(|_| Donor::new(ptr::null()).expect("a thread can be had"))
                .collect();
            let lent: Vec<_> = donors
                .iter()
                .map(|donor| donor.lend(never, ptr::null_mut()))
                .collect();
            for (at, context) in lent.iter().enumerate() {
                assert!(!context.is_empty());
                for other in &lent[..at] {
                    assert_ne!(context.stack, other.stack);
                    assert_ne!(context.thread_pointer, other.thread_pointer);
                }
            }
            donors.into_iter().for_each(|donor| donor.end());
        }
    }
}

//! Stacks that one thread of the system switches between, each with thread-local storage of its own.
//!
//! A simulated thread needs a stack, and, since unmodified code runs on it, the thread-local variables of a thread.
//! Both come from a *donor*: a real thread that does nothing but lend them. It is started, says where its stack and its
//! thread-local storage are, and sleeps. Then the simulation's own thread switches to that stack and makes the thread
//! pointer that of the donor. So there are many threads to the program, to the C library and to sanitizers, but only
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
use std::mem::{ManuallyDrop, MaybeUninit};
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
    /// Of the running stack: filled when it is left.
    pub(crate) fn running() -> Context {
        Context {
            stack: ptr::null_mut(),
            thread_pointer: 0,
        }
    }
}

/// Leaves the running stack and goes on with another one. Returns when something switches back.
///
/// # Safety
/// `to` was filled by leaving that stack, or by [`Donor::new`], and nothing has gone on with it since. This thread is
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
    /// Freed by `end` only, since the thread sleeps on it.
    offer: ManuallyDrop<Box<Offer>>,
}

/// What a donor and the simulation's thread tell each other.
#[derive(Debug)]
struct Offer {
    state: AtomicU32,
    stack: usize,
    thread_pointer: usize,
}

impl Donor {
    /// Starts a donor, with the given attributes, and waits until it lends its stack, on which `entry` is to run.
    ///
    /// # Errors
    /// The system has no room for another thread.
    ///
    /// # Safety
    /// `attributes` is null or points to valid attributes. `create` is the C library's `pthread_create`.
    pub(crate) unsafe fn new(
        attributes: *const libc::pthread_attr_t,
        entry: Entry,
        argument: *mut c_void,
    ) -> io::Result<(Donor, Context)> {
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
        // SAFETY: made above; the donor writes the other fields before it changes the state.
        let state = unsafe { &(*offer).state };
        while state.load(Ordering::Acquire) == STARTING {
            raw::futex_wait(state, STARTING);
        }
        // SAFETY: the donor has written them, and only reads from here on. The thread was started.
        let (offer, thread) = unsafe { (Box::from_raw(offer), thread.assume_init()) };
        // SAFETY: the donor leaves everything below that address alone.
        let stack = unsafe { arch::prepare(offer.stack as *mut u8, entry, argument) };
        let context = Context {
            stack,
            thread_pointer: offer.thread_pointer,
        };
        let offer = ManuallyDrop::new(offer);
        Ok((Donor { thread, offer }, context))
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
        self.offer.state.store(ENDING, Ordering::Release);
        raw::futex_wake(&self.offer.state);
        // SAFETY: it was not joined yet, and is never detached.
        unsafe { raw::pthread_join(self.thread) };
        drop(ManuallyDrop::into_inner(self.offer));
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
    // SAFETY: `new` waits for the state before it looks at the rest, and keeps the offer until this thread has ended.
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

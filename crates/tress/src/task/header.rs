//! What the scheduler, wakers and handles see of a task: its header.
//!
//! One allocation holds the header and, behind it, the future and later its output. The header
//! fills one cache line:
//!
//! | field | touched by |
//! |---|---|
//! | `state` | everybody, by the transitions in `state.rs` |
//! | `vtable`, `owner`, `id`, `origin` | written at spawn, then read by everybody |
//! | `output_taken` | the join side, once COMPLETE |
//! | `polling` | written by the thread that runs the task, read for reports |
//! | `join_waker` | the `JoinHandle` or the completer, as `JOIN_WAKER` says |
//! | the stage behind the header | the thread that runs the task; the join side once COMPLETE |

use super::id::Id;
use super::owner::Owner;
use super::state::State;
use crate::sys::UnsafeCell;
use crate::sys::atomic::AtomicBool;
use std::panic::Location;
use std::ptr::NonNull;
use std::task::{Context, Waker};

/// The part of a task that does not depend on its future's type.
#[repr(C)]
pub(crate) struct Header {
    pub(super) state: State,
    pub(super) vtable: &'static VTable,
    pub(super) output_taken: UnsafeCell<bool>,
    /// A poll is going on.
    pub(super) polling: AtomicBool,
    pub(super) owner: NonNull<Owner>,
    pub(super) join_waker: UnsafeCell<Option<Waker>>,
    pub(super) id: Id,
    pub(super) origin: Origin,
}

const _: () = assert!(size_of::<Header>() == 64 || cfg!(loom));

/// The functions that know the future's type.
pub(super) struct VTable {
    /// Polls the future; on completion or panic stores the output. True if it did.
    pub(super) poll: unsafe fn(NonNull<Header>, &mut Context<'_>) -> bool,
    /// Drops the future and stores the cancellation error as output.
    pub(super) cancel: unsafe fn(NonNull<Header>),
    /// Moves the output to `*mut Poll<Result<T, JoinError>>`.
    pub(super) take_output: unsafe fn(NonNull<Header>, *mut ()),
    pub(super) drop_output: unsafe fn(NonNull<Header>),
    /// Frees the cell, whose stage is empty.
    pub(super) free: unsafe fn(NonNull<Header>),
}

impl Header {
    /// The state word of a slot that may hold no task at all.
    ///
    /// # Safety
    /// The memory at `this` is a task cell or a slot whose first word is an initialised state.
    pub(super) unsafe fn state_of<'a>(this: NonNull<Header>) -> &'a State {
        // SAFETY: `state` is the first field; only it is borrowed.
        let state = unsafe { &raw const (*this.as_ptr()).state };
        // SAFETY: as above.
        unsafe { &*state }
    }

    /// A write that only the task's one user may make.
    ///
    /// # Safety
    /// The caller has the task to itself.
    #[cfg(all(test, loom))]
    pub(crate) unsafe fn touch(this: NonNull<Header>) {
        // SAFETY: by the caller's promise.
        unsafe {
            (*this.as_ptr())
                .output_taken
                .with_mut(|taken| *taken = false)
        }
    }

    /// The index of the worker that alone may run the task, if there is one.
    #[inline]
    pub(crate) fn pinned(&self) -> Option<usize> {
        self.state.load().pinned()
    }

    /// # Safety
    /// The caller runs the task, or has made it and not queued it.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    pub(crate) unsafe fn pin(&self, worker: usize) {
        self.state.pin(worker);
    }

    /// Cancellation was asked for.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.state.load().is_cancelled()
    }

    pub(crate) fn id(&self) -> Id {
        self.id
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.origin.name()
    }

    pub(crate) fn location(&self) -> &'static Location<'static> {
        self.origin.location()
    }
}

/// Where a task was spawned and, if it has one, its name, in one word.
///
/// Nearly all tasks have no name: they carry the bare location. A named one carries a tagged
/// pointer to a boxed pair.
pub(crate) struct Origin(NonNull<()>);

struct Named {
    location: &'static Location<'static>,
    name: Box<str>,
}

const NAMED: usize = 1;

impl Origin {
    pub(crate) fn new(location: &'static Location<'static>, name: Option<&str>) -> Origin {
        const { assert!(align_of::<Location<'_>>() > NAMED && align_of::<Named>() > NAMED) };
        match name {
            None => Origin(NonNull::from(location).cast()),
            Some(name) => {
                let named = Box::new(Named {
                    location,
                    name: name.into(),
                });
                let raw = Box::into_raw(named).map_addr(|a| a | NAMED);
                Origin(NonNull::new(raw).expect("boxes have an address").cast())
            }
        }
    }

    fn named(&self) -> Option<*mut Named> {
        let raw = self.0.as_ptr().cast::<Named>();
        (raw.addr() & NAMED != 0).then(|| raw.map_addr(|a| a & !NAMED))
    }

    pub(crate) fn name(&self) -> Option<&str> {
        // SAFETY: a tagged word is a box we own and never change.
        self.named().map(|named| unsafe { &*(*named).name })
    }

    pub(crate) fn location(&self) -> &'static Location<'static> {
        match self.named() {
            // SAFETY: as in `name`.
            Some(named) => unsafe { (*named).location },
            // SAFETY: an untagged word is the reference it was made from.
            None => unsafe { self.0.cast::<Location<'static>>().as_ref() },
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if let Some(named) = self.named() {
            // SAFETY: made by `Box::into_raw` in `new`, and dropped only here.
            drop(unsafe { Box::from_raw(named) });
        }
    }
}

//! What the scheduler, wakers and handles see of a task: its header.
//!
//! One allocation holds the header and, behind it, the future and later its output. The header
//! fills one cache line:
//!
//! | field | touched by |
//! |---|---|
//! | `state` | all threads, by the transitions in `state.rs` |
//! | `vtable`, `owner`, `id`, `origin` | written at spawn, then read by all threads |
//! | `polls`, `last_poll` | written by the thread that runs the task, if polls are recorded; read by dumps |
//! | `output_taken` | the join side, once COMPLETE |
//! | `polling` | written by the thread that runs the task, read for reports |
//! | `join_waker` | the `JoinHandle` or the completer, as `JOIN_WAKER` says |
//! | the stage behind the header | the thread that runs the task; the join side once COMPLETE |

use super::owner::AnyOwner;
use super::state::State;
use crate::context;
use crate::identity::{Id, Label, Name};
use crate::sys::UnsafeCell;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::clock::{Clock, Scale};
use crate::sys::plain::{AtomicU16, AtomicU32, AtomicU64};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

/// The part of a task that does not depend on its future's type.
#[repr(C)]
pub(crate) struct Header {
    pub(super) state: State,
    pub(super) vtable: &'static VTable,
    pub(super) output_taken: UnsafeCell<bool>,
    /// A poll is going on.
    pub(super) polling: AtomicBool,
    pub(super) polls: AtomicU16,
    pub(super) last_poll: AtomicU32,
    pub(super) owner: NonNull<AnyOwner>,
    pub(super) join_waker: UnsafeCell<Option<Waker>>,
    pub(super) id: Id,
    pub(super) origin: Origin,
}

const _: () = assert!(size_of::<Header>() == 64 || cfg!(loom));

/// The functions that know the future's type.
pub(super) struct VTable {
    /// Polls the future; on completion or panic stores the output. Returns true if it did.
    pub(super) poll: unsafe fn(NonNull<Header>, &mut Context<'_>) -> bool,
    /// Drops the future and stores the cancellation error as output.
    pub(super) cancel: unsafe fn(NonNull<Header>),
    /// Moves the output to `*mut Poll<Result<T, JoinError>>`.
    pub(super) take_output: unsafe fn(NonNull<Header>, *mut ()),
    pub(super) drop_output: unsafe fn(NonNull<Header>),
    /// Frees the cell, whose stage is empty.
    pub(super) free: unsafe fn(NonNull<Header>),
    pub(super) type_name: fn() -> &'static str,
}

impl Header {
    /// Returns the state word of a slot that may hold no task at all.
    ///
    /// # Safety
    /// The memory at `this` is a task cell or a slot whose first word is an initialised state.
    pub(super) unsafe fn state_of<'a>(this: NonNull<Header>) -> &'a State {
        // SAFETY: `state` is the first field; only it is borrowed.
        let state = unsafe { &raw const (*this.as_ptr()).state };
        // SAFETY: as above.
        unsafe { &*state }
    }

    /// Makes a write that only the task's one user may make.
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

    /// Calls `f` with the task that this thread runs or drops, if there is one.
    #[inline]
    pub(crate) fn with_running<R>(f: impl FnOnce(&Header) -> R) -> Option<R> {
        let task = context::with(|cx| cx.task.get());
        // SAFETY: a task that is being run or dropped is alive until that ends, and this returns before.
        task.map(|task| f(unsafe { task.as_ref() }))
    }

    /// Returns the index of the only worker that may run the task, if there is one.
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

    /// Returns whether cancellation was asked for.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.state.load().is_cancelled()
    }

    pub(crate) fn id(&self) -> Id {
        self.id
    }

    /// Returns what its owner is part of.
    #[inline(always)]
    pub(crate) fn parent<T>(&self) -> *const T {
        // SAFETY: an owner lives as long as its tasks' cells.
        unsafe { self.owner.as_ref() }.whole()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.origin.name()
    }

    pub(crate) fn location(&self) -> &'static Location<'static> {
        self.origin.location()
    }

    /// Returns what stands for the task in an event ring.
    pub(crate) fn label(&self) -> Label {
        self.origin.label()
    }

    /// Counts a poll of the task that is running, if it has a name.
    pub(super) fn note_named_poll() {
        Header::with_running(|task| task.origin.note_poll());
    }

    /// Notes that a poll of the task has panicked. The caller runs the task.
    #[cold]
    pub(super) fn note_panic(&self) {
        // SAFETY: an owner lives as long as its tasks' cells.
        if let Some(on_panic) = unsafe { self.owner.as_ref() }.on_panic() {
            on_panic();
        }
    }

    /// Returns the type name of its future.
    pub(crate) fn type_name(&self) -> &'static str {
        (self.vtable.type_name)()
    }

    /// Counts a poll that stands for `polls` polls and began in the given millisecond of the tracer's life.
    pub(crate) fn note_polls(&self, polls: u32, ms: u32) {
        let polls = u16::try_from(polls).unwrap_or(u16::MAX);
        let polls = self.polls.load(Ordering::Relaxed).saturating_add(polls);
        self.polls.store(polls, Ordering::Relaxed);
        self.last_poll.store(ms, Ordering::Relaxed);
    }

    /// Returns the polls that were counted, up to 65,535, and when the last recorded one began; `None` if there were
    /// none.
    pub(crate) fn polls(&self) -> Option<(u16, u32)> {
        let polls = self.polls.load(Ordering::Relaxed);
        (polls > 0).then(|| (polls, self.last_poll.load(Ordering::Relaxed)))
    }
}

/// Where a task was spawned and its name, if it has one, in one word.
///
/// Nearly all tasks have no name: they carry the bare location. A named one carries a tagged
/// pointer to a boxed pair.
pub(crate) struct Origin(NonNull<()>);

struct Named {
    location: &'static Location<'static>,
    name: Arc<Name>,
    polls: AtomicU32,
    /// When the last one began, by the clock of traces.
    last_poll: AtomicU64,
}

const NAMED: usize = 1;

impl Origin {
    /// Creates the origin of a task that is in no runtime's table: one of a `LocalSet`.
    pub(crate) fn new(location: &'static Location<'static>, name: Option<&str>) -> Origin {
        match name {
            None => Origin::unnamed(location),
            Some(name) => Origin::named(location, Name::new(name, false)),
        }
    }

    pub(crate) fn unnamed(location: &'static Location<'static>) -> Origin {
        const {
            assert!(align_of::<Location<'_>>() > NAMED && align_of::<Named>() > NAMED);
        };
        Origin(NonNull::from(location).cast())
    }

    pub(crate) fn named(location: &'static Location<'static>, name: Arc<Name>) -> Origin {
        let raw = Box::into_raw(Box::new(Named {
            location,
            name,
            polls: AtomicU32::new(0),
            last_poll: AtomicU64::new(0),
        }))
        .map_addr(|a| a | NAMED);
        Origin(NonNull::new(raw).expect("boxes have an address").cast())
    }

    fn boxed(&self) -> Option<*mut Named> {
        let raw = self.0.as_ptr().cast::<Named>();
        (raw.addr() & NAMED != 0).then(|| raw.map_addr(|a| a & !NAMED))
    }

    pub(crate) fn name(&self) -> Option<&str> {
        // SAFETY: a tagged word is a box we own and never change.
        self.boxed().map(|named| unsafe { (*named).name.text() })
    }

    /// Counts a poll of a task that has a name. The caller runs the task.
    fn note_poll(&self) {
        if let Some(named) = self.boxed() {
            // SAFETY: as in `name`.
            let named = unsafe { &*named };
            let polls = named.polls.load(Ordering::Relaxed).saturating_add(1);
            named.last_poll.store(Clock::new().now(), Ordering::Relaxed);
            named.polls.store(polls, Ordering::Relaxed);
        }
    }

    /// Returns the polls of a task that has a name, and the time since the last one began; `None` before the first.
    pub(super) fn polls(&self) -> Option<(u64, Duration)> {
        // SAFETY: as in `name`.
        let named = unsafe { &*self.boxed()? };
        let polls = named.polls.load(Ordering::Relaxed);
        let since = Clock::new()
            .now()
            .saturating_sub(named.last_poll.load(Ordering::Relaxed));
        let since = Duration::from_nanos(Scale::measure().length(since));
        (polls > 0).then_some((polls.into(), since))
    }

    pub(crate) fn location(&self) -> &'static Location<'static> {
        match self.boxed() {
            // SAFETY: as in `name`.
            Some(named) => unsafe { (*named).location },
            // SAFETY: an untagged word is the reference it was made from.
            None => unsafe { self.0.cast::<Location<'static>>().as_ref() },
        }
    }
}

impl Origin {
    pub(crate) fn label(&self) -> Label {
        // SAFETY: as in `name`.
        let name = self.boxed().map(|named| unsafe { &(*named).name });
        match name.filter(|name| name.is_listed()) {
            Some(name) => Label::named(name),
            None => Label::spawned_at(self.location()),
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if let Some(named) = self.boxed() {
            // SAFETY: made by `Box::into_raw` in `named`, and dropped only here.
            drop(unsafe { Box::from_raw(named) });
        }
    }
}

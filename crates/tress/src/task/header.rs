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

use super::hooks::{HOOKED, Hooked, Hooks};
use super::owner::AnyOwner;
use super::state::State;
use crate::context;
use crate::identity::{Id, Label, Name};
use crate::runtime::flight::Reason;
use crate::spans::{TaskSpan, WakerOp, What};
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

    /// Tells a subscriber what is done with a waker of the task.
    #[inline(always)]
    pub(super) fn tell(&self, op: WakerOp) {
        if let Some(span) = self.origin.span() {
            span.tell(op);
        }
    }

    /// Counts a poll of the task that is running, if it has a name.
    pub(super) fn note_named_poll() {
        Header::with_running(|task| task.origin.note_poll());
    }

    /// Notes that a poll of the task has panicked. The caller runs the task.
    #[cold]
    pub(super) fn note_panic(&self) {
        context::with_runtime(|shared| shared.flight.ask(Reason::Panic));
        // SAFETY: an owner lives as long as its tasks' cells.
        if let Some(on_panic) = unsafe { self.owner.as_ref() }.on_panic() {
            on_panic();
        }
    }

    /// Notes when the task became ready, if that is tracked. The caller is about to queue it.
    pub(super) fn stamp(&self) {
        if let Some(hooked) = self.origin.hooks() {
            hooked.stamp();
        }
    }

    /// Returns the type name of its future.
    pub(crate) fn type_name(&self) -> &'static str {
        let hooked = self.origin.hooks().and_then(|hooked| hooked.inner);
        (hooked.unwrap_or(self.vtable).type_name)()
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

/// Where a task was spawned, its name, its hooks and its span, if it has any, in one word.
///
/// Nearly all tasks have none of them: they carry the bare location. Others carry a tagged pointer to a box.
pub(crate) struct Origin(NonNull<()>);

struct Boxed {
    location: &'static Location<'static>,
    named: Option<Named>,
    hooked: Option<Hooked>,
    span: Option<TaskSpan>,
}

struct Named {
    name: Arc<Name>,
    polls: AtomicU32,
    /// When the last one began, by the clock of traces.
    last_poll: AtomicU64,
}

const BOXED: usize = 1;

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
            assert!(align_of::<Location<'_>>() > BOXED && align_of::<Boxed>() > BOXED);
        };
        Origin(NonNull::from(location).cast())
    }

    pub(crate) fn named(location: &'static Location<'static>, name: Arc<Name>) -> Origin {
        Origin::boxing(Boxed {
            location,
            named: Some(Named {
                name,
                polls: AtomicU32::new(0),
                last_poll: AtomicU64::new(0),
            }),
            hooked: None,
            span: None,
        })
    }

    /// Adds a span, if a subscriber wants one. The caller holds no lock.
    #[inline]
    pub(crate) fn in_span(self, what: What, id: Id) -> Origin {
        match what.span(id.get(), self.name(), self.location()) {
            None => self,
            Some(span) => self.with_span(span),
        }
    }

    #[cold]
    fn with_span(mut self, span: TaskSpan) -> Origin {
        let span = Some(span);
        match self.boxed_mut() {
            Some(boxed) => {
                boxed.span = span;
                self
            }
            None => Origin::boxing(Boxed {
                location: self.location(),
                named: None,
                hooked: None,
                span,
            }),
        }
    }

    /// Adds hooks.
    pub(super) fn hooked(mut self, hooks: Arc<Hooks>) -> Origin {
        let hooked = Some(Hooked::new(hooks));
        match self.boxed_mut() {
            Some(boxed) => {
                boxed.hooked = hooked;
                self
            }
            None => Origin::boxing(Boxed {
                location: self.location(),
                named: None,
                hooked,
                span: None,
            }),
        }
    }

    fn boxing(boxed: Boxed) -> Origin {
        let raw = Box::into_raw(Box::new(boxed)).map_addr(|a| a | BOXED);
        Origin(NonNull::new(raw).expect("boxes have an address").cast())
    }

    #[inline(always)]
    fn raw(&self) -> Option<*mut Boxed> {
        let raw = self.0.as_ptr().cast::<Boxed>();
        (raw.addr() & BOXED != 0).then(|| raw.map_addr(|a| a & !BOXED))
    }

    #[inline(always)]
    fn boxed(&self) -> Option<&Boxed> {
        // SAFETY: a tagged word is a box we own, and it is changed through `boxed_mut` only.
        self.raw().map(|boxed| unsafe { &*boxed })
    }

    fn boxed_mut(&mut self) -> Option<&mut Boxed> {
        // SAFETY: as in `boxed`.
        self.raw().map(|boxed| unsafe { &mut *boxed })
    }

    fn as_named(&self) -> Option<&Named> {
        self.boxed()?.named.as_ref()
    }

    /// Returns the hooks of a task that has some.
    pub(super) fn hooks(&self) -> Option<&Hooked> {
        self.boxed()?.hooked.as_ref()
    }

    /// Returns the span of a task that has one.
    #[inline(always)]
    pub(super) fn span(&self) -> Option<&TaskSpan> {
        self.boxed()?.span.as_ref()
    }

    /// Chooses the table of a new task, given that of its future's type.
    #[inline(always)]
    pub(super) fn choose(&mut self, vtable: &'static VTable) -> &'static VTable {
        match self.raw() {
            None => vtable,
            Some(_) => self.choose_boxed(vtable),
        }
    }

    #[cold]
    fn choose_boxed(&mut self, vtable: &'static VTable) -> &'static VTable {
        match self.boxed_mut().and_then(|boxed| boxed.hooked.as_mut()) {
            None => vtable,
            Some(hooked) => {
                hooked.inner = Some(vtable);
                &HOOKED
            }
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.as_named().map(|named| named.name.text())
    }

    /// Counts a poll of a task that has a name. The caller runs the task.
    fn note_poll(&self) {
        if let Some(named) = self.as_named() {
            let polls = named.polls.load(Ordering::Relaxed).saturating_add(1);
            named.last_poll.store(Clock::new().now(), Ordering::Relaxed);
            named.polls.store(polls, Ordering::Relaxed);
        }
    }

    /// Returns the polls of a task that has a name, and the time since the last one began; `None` before the first.
    pub(super) fn polls(&self) -> Option<(u64, Duration)> {
        let named = self.as_named()?;
        let polls = named.polls.load(Ordering::Relaxed);
        let since = Clock::new()
            .now()
            .saturating_sub(named.last_poll.load(Ordering::Relaxed));
        let since = Duration::from_nanos(Scale::measure().length(since));
        (polls > 0).then_some((polls.into(), since))
    }

    pub(crate) fn location(&self) -> &'static Location<'static> {
        match self.boxed() {
            Some(boxed) => boxed.location,
            // SAFETY: an untagged word is the reference it was made from.
            None => unsafe { self.0.cast::<Location<'static>>().as_ref() },
        }
    }
}

impl Origin {
    /// Returns the label of a task that is counted by where it was spawned: one without a name that is listed.
    pub(crate) fn label_of_unnamed(&self) -> Option<Label> {
        let name = self.as_named().map(|named| &named.name);
        match name {
            Some(name) if name.is_listed() => None,
            _ => Some(Label::spawned_at(self.location())),
        }
    }

    pub(crate) fn label(&self) -> Label {
        let name = self.as_named().map(|named| &named.name);
        match name.filter(|name| name.is_listed()) {
            Some(name) => Label::named(name),
            None => Label::spawned_at(self.location()),
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if let Some(boxed) = self.raw() {
            // SAFETY: made by `Box::into_raw` in `boxing`, and dropped only here.
            drop(unsafe { Box::from_raw(boxed) });
        }
    }
}

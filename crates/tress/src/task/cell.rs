//! The cell: header, then the future and later its output, in one allocation.

use super::error::JoinError;
use super::header::{Header, Origin, VTable};
use super::leaf;
use super::owner::AnyOwner;
use super::slab::Class;
use super::state::State;
use crate::identity::Id;
use crate::sys::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sys::plain::{AtomicU16, AtomicU32};
use crate::sys::{UnsafeCell, guarded};
use std::alloc::Layout;
use std::any::Any;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

#[repr(C)]
struct Cell<F: Future> {
    header: Header,
    stage: UnsafeCell<Stage<F>>,
}

/// Which field is valid follows from the lifecycle and, after completion, from the taken mark.
union Stage<F: Future> {
    future: ManuallyDrop<F>,
    output: ManuallyDrop<Result<F::Output, JoinError>>,
}

/// Where a new cell comes from.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// The caller owns the owner's slab.
    Page,
    /// It does not: the system allocator is used.
    System,
}

struct Vtables<F>(std::marker::PhantomData<F>);

impl<F: Future> Vtables<F> {
    const LAYOUT: Layout = Layout::new::<Cell<F>>();
    const CLASS: Option<Class> = Class::of(Self::LAYOUT);

    const PAGE: &'static VTable = &VTable {
        poll: poll::<F>,
        cancel: cancel::<F>,
        take_output: take_output::<F>,
        drop_output: drop_output::<F>,
        free: free::<F, true>,
        type_name: std::any::type_name::<F>,
    };
    const SYSTEM: &'static VTable = &VTable {
        poll: poll::<F>,
        cancel: cancel::<F>,
        take_output: take_output::<F>,
        drop_output: drop_output::<F>,
        free: free::<F, false>,
        type_name: std::any::type_name::<F>,
    };
}

/// Creates a task: READY, with the task's own reference and one for the `JoinHandle`.
///
/// # Safety
/// The owner is alive and has its whole; for `Source::Page` the caller owns its slab. If the
/// future is not `Send`, the task must stay on this thread; if it is not `'static`, it must be
/// completed before what it borrows ends.
#[inline]
pub(super) unsafe fn new<F: Future>(
    future: F,
    owner: NonNull<AnyOwner>,
    source: Source,
    id: Id,
    mut origin: Origin,
) -> NonNull<Header> {
    // SAFETY: the memory is fresh and fits; every field is written before the state word, whose
    // release publishes them to a walker that raises the count.
    unsafe {
        let (task, vtable) = match source {
            Source::Page => (
                AnyOwner::alloc(owner, Vtables::<F>::LAYOUT, Vtables::<F>::CLASS),
                Vtables::<F>::PAGE,
            ),
            Source::System => (
                AnyOwner::alloc_large(owner, Vtables::<F>::LAYOUT),
                Vtables::<F>::SYSTEM,
            ),
        };
        let cell = task.cast::<Cell<F>>().as_ptr();
        (&raw mut (*cell).header.vtable).write(origin.choose(vtable));
        (&raw mut (*cell).header.output_taken).write(UnsafeCell::new(false));
        (&raw mut (*cell).header.polling).write(AtomicBool::new(false));
        (&raw mut (*cell).header.polls).write(AtomicU16::new(0));
        (&raw mut (*cell).header.last_poll).write(AtomicU32::new(0));
        (&raw mut (*cell).header.owner).write(owner);
        (&raw mut (*cell).header.join_waker).write(UnsafeCell::new(None));
        (&raw mut (*cell).header.id).write(id);
        (&raw mut (*cell).header.origin).write(origin);
        (&raw mut (*cell).stage).write(UnsafeCell::new(Stage {
            future: ManuallyDrop::new(future),
        }));
        Header::state_of(task)
            .word()
            .store(State::NEW, Ordering::Release);
        task
    }
}

/// Makes the state word of fresh memory read as that of a free cell.
///
/// # Safety
/// The memory is the caller's alone and fits a header.
pub(super) unsafe fn mark_free(task: NonNull<Header>) {
    // SAFETY: by the caller's promise; the state word is the first field.
    unsafe { task.cast::<AtomicU64>().as_ptr().write(AtomicU64::new(0)) }
}

/// Drops a future whose poll panics, while unwinding: its destructor may ask whether the thread is panicking, as
/// those of lock guards do.
struct DropUnwinding<F> {
    task: NonNull<Header>,
    future: *mut ManuallyDrop<F>,
}

impl<F> Drop for DropUnwinding<F> {
    fn drop(&mut self) {
        // SAFETY: made by `poll`, which has the future to itself, and forgotten unless it panics;
        // the future is not used again.
        guarded(|| unsafe { drop_future(self.task, self.future) });
    }
}

/// Drops a task's future, in the task's span.
///
/// # Safety
/// The caller has the future to itself, which is not used again.
#[inline]
unsafe fn drop_future<F>(task: NonNull<Header>, future: *mut ManuallyDrop<F>) {
    // SAFETY: by the caller's promise; the span is closed by `leave_span` only.
    unsafe {
        let span = task.as_ref().origin.span();
        let _entered = span.and_then(|span| span.enter_guarded());
        ManuallyDrop::drop(&mut *future);
    }
}

/// Closes the span of a task whose future has been dropped.
///
/// # Safety
/// The caller runs the task, or tears it down, and has not entered the span.
#[inline]
unsafe fn leave_span(task: NonNull<Header>) {
    // SAFETY: by the caller's promise.
    unsafe {
        if let Some(span) = task.as_ref().origin.span() {
            span.close();
        }
    }
}

/// Notes that a poll has panicked, and returns what its handle gets. Out of line, and the same for each type of future.
#[cold]
#[inline(never)]
fn panicked(task: &Header, payload: Box<dyn Any + Send>) -> JoinError {
    task.note_panic();
    JoinError::panic(task.id, payload)
}

/// # Safety
/// The caller runs the task.
unsafe fn poll<F: Future>(task: NonNull<Header>, cx: &mut Context<'_>) -> bool {
    // SAFETY: running it gives the caller the stage, which holds the future. It is pinned: the cell
    // never moves, and the future is dropped in place.
    unsafe {
        with_stage::<F, _>(task, |stage| {
            let future = &raw mut (*stage).future;
            let mut ready = None;
            // On completion the future is dropped inside the guard as well: a panicking
            // destructor is the task's panic, not the worker's.
            let polled = catch_unwind(AssertUnwindSafe(|| {
                let unwinding = DropUnwinding { task, future };
                let polled = {
                    let span = task.as_ref().origin.span();
                    let _entered = span.and_then(|span| span.enter());
                    leaf::poll_root(Pin::new_unchecked(&mut **future), cx)
                };
                std::mem::forget(unwinding);
                if let Poll::Ready(output) = polled {
                    // Moved out first: it must not be dropped, and perhaps panic, while the future's destructor
                    // unwinds.
                    ready = Some(output);
                    drop_future(task, future);
                }
            }));
            let output = match (polled, ready) {
                (Ok(()), None) => return false,
                (Ok(()), Some(output)) => Ok(output),
                (Err(payload), unused) => {
                    guarded(|| drop(unused));
                    Err(panicked(task.as_ref(), payload))
                }
            };
            leave_span(task);
            (*stage).output = ManuallyDrop::new(output);
            true
        })
    }
}

/// # Safety
/// The caller runs the task, or tears it down.
unsafe fn cancel<F: Future>(task: NonNull<Header>) {
    // SAFETY: as in `poll`.
    unsafe {
        with_stage::<F, _>(task, |stage| {
            let dropped = catch_unwind(AssertUnwindSafe(|| {
                drop_future(task, &raw mut (*stage).future);
            }));
            leave_span(task);
            let id = task.as_ref().id;
            let error = match dropped {
                Ok(()) => JoinError::cancelled(id),
                Err(payload) => JoinError::panic(id, payload),
            };
            (*stage).output = ManuallyDrop::new(Err(error));
        });
    }
}

/// # Safety
/// The task is COMPLETE, the caller is the join side and has not taken the output. `to` points to
/// a `Poll<Result<F::Output, JoinError>>`.
unsafe fn take_output<F: Future>(task: NonNull<Header>, to: *mut ()) {
    // SAFETY: the output is in place and the caller's.
    unsafe {
        with_stage::<F, _>(task, |stage| {
            let output = ManuallyDrop::take(&mut (*stage).output);
            *to.cast::<Poll<Result<F::Output, JoinError>>>() = Poll::Ready(output);
        });
    }
}

/// # Safety
/// The output is in place and the caller's.
unsafe fn drop_output<F: Future>(task: NonNull<Header>) {
    // SAFETY: by the caller's promise.
    unsafe {
        with_stage::<F, _>(task, |stage| {
            guarded(|| ManuallyDrop::drop(&mut (*stage).output));
        });
    }
}

/// # Safety
/// Nothing refers to the cell and its stage is empty. `IN_PAGE` says how it was allocated.
unsafe fn free<F: Future, const IN_PAGE: bool>(task: NonNull<Header>) {
    // SAFETY: by the caller's promise. The state word keeps its count of zero for walkers; the
    // header's other fields with destructors are dropped here, for the only time.
    unsafe {
        let header = task.as_ptr();
        let owner = (*header).owner;
        // Any waker in it has been taken out: no foreign code runs here.
        let no_waker = (*header).join_waker.with(|slot| (*slot).is_none());
        assert!(no_waker, "a task that is freed has a waker");
        std::ptr::drop_in_place(&raw mut (*header).join_waker);
        std::ptr::drop_in_place(&raw mut (*header).origin);
        let (layout, class) = (Vtables::<F>::LAYOUT, Vtables::<F>::CLASS);
        AnyOwner::free(owner, task, layout, class, IN_PAGE);
    }
}

/// # Safety
/// The caller has the stage to itself.
#[inline(always)]
unsafe fn with_stage<F: Future, R>(task: NonNull<Header>, f: impl FnOnce(*mut Stage<F>) -> R) -> R {
    // SAFETY: every task's vtable was made for its own `F`; only the stage is borrowed.
    let stage = unsafe { &raw const (*task.cast::<Cell<F>>().as_ptr()).stage };
    // SAFETY: as above.
    unsafe { (*stage).with_mut(f) }
}

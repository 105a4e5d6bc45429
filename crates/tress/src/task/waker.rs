//! Wakers: a task's address and a vtable, 16 bytes, counted in the state word.

use super::header::Header;
use super::owner::AnyOwner;
use super::ready::Ready;
use super::state::Wake;
use crate::identity::Id;
use crate::spans::WakerOp;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop);

/// A waker that borrows the caller's reference.
pub(crate) struct Borrowed(ManuallyDrop<Waker>);

impl Deref for Borrowed {
    type Target = Waker;

    fn deref(&self) -> &Waker {
        &self.0
    }
}

/// # Safety
/// The caller keeps a reference to the task for as long as the result is used.
#[inline]
pub(super) unsafe fn borrowed(task: NonNull<Header>) -> Borrowed {
    let raw = RawWaker::new(task.as_ptr().cast_const().cast(), &VTABLE);
    // SAFETY: the functions below uphold the contract; never dropping it keeps the count right.
    Borrowed(ManuallyDrop::new(unsafe { Waker::from_raw(raw) }))
}

/// Returns true if the waker is this task's own.
#[inline]
pub(super) fn is_for(waker: &Waker, task: NonNull<Header>) -> bool {
    waker.data() == task.as_ptr().cast_const().cast() && is_ours(waker)
}

/// Returns the id of the task that a waker wakes, if it is one of ours.
pub(crate) fn task_id(waker: &Waker) -> Option<Id> {
    // SAFETY: a waker of ours holds a reference to its task.
    is_ours(waker).then(|| unsafe { header(waker.data()).as_ref() }.id())
}

/// Returns whether the waker is one of a task. A comparison of the tables would compare four functions.
#[inline]
fn is_ours(waker: &Waker) -> bool {
    ptr::eq(waker.vtable(), &VTABLE)
}

fn header(data: *const ()) -> NonNull<Header> {
    // Every waker of ours was made from a `NonNull`.
    NonNull::new(data.cast_mut().cast()).expect("a task has an address")
}

// SAFETY (for the four): the data pointer is a task on which the waker holds a reference, so the
// header is alive; `wake` and `drop` give that reference up.

unsafe fn clone(data: *const ()) -> RawWaker {
    let task = header(data);
    // SAFETY: see above.
    let task = unsafe { task.as_ref() };
    task.tell(WakerOp::Clone);
    task.state.ref_inc();
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    let task = header(data);
    // SAFETY: see above. A submitted task is unfinished, so its own reference keeps it.
    unsafe {
        task.as_ref().tell(WakerOp::Wake);
        match task.as_ref().state.wake_by_val() {
            Wake::Submit => AnyOwner::schedule(Ready::from_raw(task)),
            Wake::Nothing => {}
            Wake::Free => super::free(task),
        }
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    let task = header(data);
    // SAFETY: see above.
    unsafe {
        task.as_ref().tell(WakerOp::WakeByRef);
        super::wake_by_ref(task);
    }
}

unsafe fn drop(data: *const ()) {
    let task = header(data);
    // SAFETY: see above.
    unsafe {
        task.as_ref().tell(WakerOp::Drop);
        super::drop_ref(task);
    }
}

use super::abort::AbortHandle;
use super::coop;
use super::error::JoinError;
use super::header::Header;
use super::run::TaskRef;
use super::state::DropJoin;
use crate::context;
use crate::identity::Id;
use crate::sight::{self, WaitKind};
use crate::sys::guarded;
use crate::sys::prefetch_to_write;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};

/// An owned handle of a task, which can be awaited for the task's result.
///
/// Awaiting it returns the task's output, or a [`JoinError`] if the task panicked or was cancelled.
/// Dropping it *detaches* the task, which goes on by itself; [`abort`](JoinHandle::abort) stops it.
///
/// # Cancel safety
/// Awaiting `&mut handle` is cancel safe: the result stays with the task until it is returned.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let handle = tress::spawn(async { "done" });
/// assert_eq!(handle.await.unwrap(), "done");
/// # });
/// ```
pub struct JoinHandle<T> {
    /// Given up by `drop`, which says how.
    task: ManuallyDrop<TaskRef>,
    _output: PhantomData<T>,
}

// SAFETY: the handle gives access to the output, which moves between threads, and to the state
// word, which is atomic. The future itself is never reached through it.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle can only look at the state word and abort.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> Unpin for JoinHandle<T> {}
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    /// The caller gives up a reference and the task's join interest; its output is a `T`.
    pub(super) unsafe fn from_raw(task: NonNull<Header>) -> JoinHandle<T> {
        // SAFETY: by the caller's promise.
        let task = unsafe { TaskRef::from_raw(task) };
        JoinHandle {
            task: ManuallyDrop::new(task),
            _output: PhantomData,
        }
    }

    #[inline]
    fn header(&self) -> &Header {
        self.task.header()
    }

    /// Cancels the task.
    ///
    /// Its future is dropped at its next suspension, by the runtime; awaiting the handle then returns an
    /// error for which [`JoinError::is_cancelled`] is true. A task that finishes first keeps its result. A
    /// part of the task inside [`shield`](super::shield) runs to its end first. A closure of
    /// [`spawn_blocking`](super::spawn_blocking) can only be cancelled before it starts.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let handle = tress::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(handle.await.unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn abort(&self) {
        self.task.cancel();
    }

    /// Returns true if the task has finished, has panicked, or has been dropped after a cancellation.
    ///
    /// Shortly after [`abort`](JoinHandle::abort) it may still return false: the task is dropped by the
    /// runtime, not by the caller.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let handle = tress::spawn(async {});
    /// while !handle.is_finished() {
    ///     tress::task::yield_now().await;
    /// }
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task.is_complete()
    }

    /// Returns a handle that can cancel the task, but has no right to its result.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let handle = tress::spawn(std::future::pending::<()>());
    /// let abort = handle.abort_handle();
    /// tress::spawn(async move { abort.abort() });
    /// assert!(handle.await.unwrap_err().is_cancelled());
    /// # });
    /// ```
    #[must_use = "an abort handle does nothing unless `abort` is called; dropping it does not abort the task"]
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle::new(TaskRef::clone(&self.task))
    }

    /// Returns the id of the task.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (one, two) = (tress::spawn(async {}), tress::spawn(async {}));
    /// assert_ne!(one.id(), two.id());
    /// # });
    /// ```
    pub fn id(&self) -> Id {
        self.header().id
    }

    /// The handle is about to be polled, and dropped.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch_to_write(self.task.as_raw());
    }

    /// Makes `waker` be woken on completion. False if the task is complete.
    ///
    /// Wakers are foreign code: a panic of one leaves the task with a waker that was given to it, or with
    /// none, and the slot with who owns it.
    fn register(&self, waker: &Waker) -> bool {
        let header = self.header();
        let state = header.state.load();
        if state.is_complete() {
            return false;
        }
        // SAFETY: the slot is ours while JOIN_WAKER is clear and the task is not complete, and stays ours
        // if setting the flag finds it complete.
        unsafe {
            let old = if state.has_join_waker() {
                if !header.state.unset_join_waker() {
                    return false;
                }
                self.replace_waker(waker)
            } else {
                let new = waker.clone();
                self.with_slot(|slot| slot.replace(new))
            };
            let waits = header.state.set_join_waker();
            if !waits {
                // Its destructor must not keep the result from the caller.
                let unused = self.with_slot(Option::take);
                guarded(|| drop(unused));
            }
            drop(old);
            waits
        }
    }

    /// Puts `waker` in the place of another one, which is returned, unless that is the same.
    ///
    /// # Panics
    /// Panics if `waker` cannot be cloned; the other one stays registered then.
    ///
    /// # Safety
    /// The slot is the caller's, who hands it on only if this returns.
    unsafe fn replace_waker(&self, waker: &Waker) -> Option<Waker> {
        let same = |slot: &mut Option<Waker>| slot.as_ref().is_some_and(|w| w.will_wake(waker));
        // SAFETY: by the caller's promise; after a panic as in `register`.
        unsafe {
            if self.with_slot(same) {
                return None;
            }
            match catch_unwind(AssertUnwindSafe(|| waker.clone())) {
                Ok(new) => self.with_slot(|slot| slot.replace(new)),
                Err(payload) => {
                    if !self.header().state.set_join_waker() {
                        // The task is complete, and nobody else will wake it.
                        if let Some(old) = self.with_slot(Option::take) {
                            guarded(|| old.wake());
                        }
                    }
                    resume_unwind(payload)
                }
            }
        }
    }

    /// Calls `f`, which runs no foreign code, with the waker's slot.
    ///
    /// # Safety
    /// The slot is the caller's.
    #[inline]
    unsafe fn with_slot<R>(&self, f: impl FnOnce(&mut Option<Waker>) -> R) -> R {
        // SAFETY: by the caller's promise nobody else touches it meanwhile.
        unsafe { self.header().join_waker.with_mut(|slot| f(&mut *slot)) }
    }

    /// Notes that the running task waits for this one. The number is not given again, so there is one wait only.
    #[inline(always)]
    pub(super) fn waits(&self) {
        if sight::is_on() {
            let header = self.header();
            sight::waits_longer(WaitKind::Join, header.id().get(), Some(header.location()));
        }
    }

    fn output_taken(&self) -> bool {
        // SAFETY: called only when the task is complete.
        unsafe { self.header().output_taken.with(|taken| *taken) }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// Panics if polled again after it returned the result.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let proceed = ready!(coop::poll_proceed(cx));
        if self.register(cx.waker()) {
            self.waits();
            return Poll::Pending;
        }
        proceed.made_progress();
        assert!(
            !self.output_taken(),
            "JoinHandle polled after it returned the result"
        );
        let mut output = Poll::Pending;
        // SAFETY: the task is complete, so its output is ours; it has not been taken, and is
        // marked as taken before anything else can happen. `output` has the right type because
        // `T` is the task's output type.
        unsafe {
            let header = self.header();
            header.output_taken.with_mut(|taken| *taken = true);
            (header.vtable.take_output)(self.task.as_raw(), (&raw mut output).cast());
        }
        output
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the handle's reference keeps the task alive until `drop_join` or `drop_ref`
        // gives it up, and each answer says what belongs to us.
        unsafe {
            let task = self.task.as_raw();
            match self.header().state.drop_join() {
                DropJoin::Done => {}
                DropJoin::Free => super::free(task),
                DropJoin::DropOutput => {
                    if !self.output_taken() {
                        // Its destructor may ask which task it is part of.
                        let _entered = context::enter_task(task);
                        (self.header().vtable.drop_output)(task);
                    }
                    super::drop_ref(task);
                }
                DropJoin::DropWaker => {
                    sight::gives_up(WaitKind::Join, self.header().id().get());
                    let waker = self.with_slot(Option::take);
                    super::drop_ref(task);
                    // Last: it may panic.
                    drop(waker);
                }
            }
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}

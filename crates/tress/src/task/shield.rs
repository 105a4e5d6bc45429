use super::header::Header;
use super::owner::AnyOwner;
use super::ready::Ready;
use super::run::TaskRef;
use super::state::{SHIELDS_APART, Shielding, Wake};
use crate::context;
use crate::sys::Mutex;
use pin_project_lite::pin_project;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// Defers cancellation of the running task until `inner` is done.
///
/// An [`abort`](super::JoinHandle::abort) that arrives while the shielded part runs or waits takes
/// effect at the task's first suspension after it. A task may have any number of shields, one inside
/// the other or side by side: the abort waits for the last of them. Shutdown of the runtime ignores
/// them: it drops every task. Outside of a task (`block_on`) a shield does nothing.
///
/// A shield protects the task that polled it last. One that is moved to another task and polled there protects that
/// task from then on, and no longer the former. A shield that has been polled and is then forgotten
/// ([`mem::forget`](std::mem::forget)) keeps the task that polled it from being aborted.
///
/// # Cancel safety
/// Dropping the future itself drops `inner` where it stands: a shield guards against aborts of the
/// task, not against being dropped by a `select!` or a timeout inside it.
///
/// # Examples
/// ```
/// use tress::task;
/// # async fn write_both_halves() {}
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let handle = tress::spawn(async {
///     // Either nothing of this happens, or all of it.
///     task::shield(async {
///         write_both_halves().await;
///     })
///     .await;
/// });
/// handle.abort();
/// let _ = handle.await;
/// # });
/// ```
pub fn shield<F: Future>(inner: F) -> Shield<F> {
    Shield {
        raised: None,
        inner,
    }
}

pin_project! {
    /// A future that an abort of its task does not interrupt; returned by [`shield`].
    ///
    /// # Examples
    /// ```
    /// use tress::task::{Shield, shield};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let future: Shield<_> = shield(async { 7 });
    /// assert_eq!(future.await, 7);
    /// # });
    /// ```
    #[must_use = "futures do nothing unless awaited"]
    pub struct Shield<F> {
        // Declared first: a panicking inner destructor must not leave the task shielded.
        raised: Option<Raised>,
        #[pin]
        inner: F,
    }
}

impl<F: Future> Future for Shield<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let here = context::with(|cx| cx.task.get());
        // The reference in `raised` keeps the address from being reused for another task.
        if this.raised.as_ref().map(|raised| raised.task.as_raw()) != here {
            // The new one is raised before the former is lowered.
            *this.raised = Raised::on_current();
        }
        let polled = this.inner.poll(cx);
        if polled.is_ready() {
            *this.raised = None;
        }
        polled
    }
}

impl<F> std::fmt::Debug for Shield<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shield")
            .field("raised", &self.raised.is_some())
            .finish_non_exhaustive()
    }
}

/// One shield of a task. Holds a reference: the future may be moved to another task and outlive the one it shields.
pub(crate) struct Raised {
    task: TaskRef,
    /// Counted in the state word by itself, not by the owner.
    apart: bool,
}

impl Raised {
    /// Raises a shield. Returns `None` outside of a task, and in one that is being shut down.
    pub(crate) fn on_current() -> Option<Raised> {
        let task: NonNull<Header> = context::with(|cx| cx.task.get())?;
        // SAFETY: the running task is alive, and so is its owner; the reference raised here is the
        // result's.
        unsafe {
            let header = task.as_ref();
            let apart = match header.state.shield(SHIELDS_APART) {
                Shielding::Raised => true,
                Shielding::Full if header.owner.as_ref().shields.raise(task) => false,
                Shielding::Full | Shielding::TooLate => return None,
            };
            header.state.ref_inc();
            let task = TaskRef::from_raw(task);
            Some(Raised { task, apart })
        }
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        let header = self.task.header();
        let owed = if self.apart {
            header.state.unshield()
        } else {
            // SAFETY: an owner lives as long as its tasks' cells.
            unsafe { header.owner.as_ref() }
                .shields
                .lower(self.task.as_raw())
        };
        if owed == Wake::Submit {
            // SAFETY: the transition made it READY, in no queue.
            AnyOwner::schedule(unsafe { Ready::from_raw(self.task.as_raw()) });
        }
    }
}

/// How many shields the tasks of one owner have beyond those that their state words count. For each task in the map
/// its word counts one more.
pub(super) struct Further(Mutex<HashMap<NonNull<Header>, usize>>);

impl Further {
    pub(super) fn new() -> Further {
        Further(Mutex::new(HashMap::new()))
    }

    /// Counts one more. Returns false if the task is being shut down. The caller runs the task.
    fn raise(&self, task: NonNull<Header>) -> bool {
        let mut counts = self.0.lock();
        let count = counts.entry(task).or_insert(0);
        if *count == 0 {
            // SAFETY: the caller runs the task, which is therefore alive.
            let state = unsafe { &task.as_ref().state };
            if state.shield(SHIELDS_APART + 1) != Shielding::Raised {
                counts.remove(&task);
                return false;
            }
        }
        *count += 1;
        true
    }

    /// Undoes a `raise`. As with the state's `unshield`, the caller may have to queue the task; it holds a reference
    /// to it.
    fn lower(&self, task: NonNull<Header>) -> Wake {
        let mut counts = self.0.lock();
        let Some(count) = counts.get_mut(&task) else {
            unreachable!("a shield that was counted is lowered once");
        };
        *count -= 1;
        if *count > 0 {
            return Wake::Nothing;
        }
        counts.remove(&task);
        // Under the lock: a shield raised meanwhile would still find the word's former count.
        // SAFETY: the caller holds a reference.
        unsafe { &task.as_ref().state }.unshield()
    }
}

use super::header::Header;
use super::owner::Owner;
use super::run::TaskRef;
use super::state::Wake;
use crate::runtime::context;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// Defers cancellation of the running task until `inner` is done.
///
/// An [`abort`](super::JoinHandle::abort) that arrives while the shielded part runs or waits takes
/// effect at the task's first suspension after it. Shields nest, 255 deep. Shutdown of the runtime
/// ignores them: it drops every task. Outside of a task (`block_on`) a shield does nothing.
///
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
///
/// # Cancel safety
/// Dropping the future itself drops `inner` where it stands: a shield guards against aborts of the
/// task, not against being dropped by a `select!` or a timeout inside it.
pub fn shield<F: Future>(inner: F) -> Shield<F> {
    Shield {
        raised: None,
        inner,
    }
}

pin_project! {
    /// A future that an abort of its task does not interrupt; made by [`shield`].
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
        if this.raised.is_none() {
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

/// One unit of shield depth on a task. Holds a reference: the future may be moved to another task
/// and outlive the one it raised.
pub(crate) struct Raised(TaskRef);

impl Raised {
    pub(crate) fn on_current() -> Option<Raised> {
        let task: NonNull<Header> = context::with(|cx| cx.task.get())?;
        // SAFETY: the running task is alive; the reference raised here is the result's.
        unsafe {
            let header = task.as_ref();
            header.state.shield();
            header.state.ref_inc();
            Some(Raised(TaskRef::from_raw(task)))
        }
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        if self.0.header().state.unshield() == Wake::Submit {
            // SAFETY: the transition made it READY, in no queue.
            unsafe { Owner::schedule(self.0.as_raw()) };
        }
    }
}

use super::{Dispatcher, spawn_on};
use crate::task::JoinHandle;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Runs a future on another dispatcher, and returns its output.
///
/// If the caller already runs where the dispatcher would put it, the future is polled in place: in
/// the same view, in a view of it, on a worker for [`default`](super::default()), and anywhere for
/// [`unconfined`](super::unconfined). Otherwise it becomes a task on the dispatcher when it is
/// first polled.
///
/// # Panics
/// The returned future panics if `future` panics, and if the runtime of the dispatcher shuts down
/// before `future` is ready.
///
/// # Cancel safety
/// Dropping the returned future drops `future`, or aborts its task; see [`JoinHandle::abort`]. It
/// is as cancel safe as `future`.
///
/// # Examples
/// ```
/// use tress::dispatch::{self, with_dispatcher};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let io = dispatch::io();
/// let text = with_dispatcher(&io, async { std::fs::read_to_string("Cargo.toml") }).await;
/// assert!(text.is_ok());
/// # });
/// ```
pub fn with_dispatcher<F>(dispatcher: &Dispatcher, future: F) -> WithDispatcher<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    WithDispatcher {
        state: State::New {
            dispatcher: dispatcher.clone(),
            future: Some(future),
        },
    }
}

pin_project! {
    /// Future returned by [`with_dispatcher`].
    ///
    /// # Cancel safety
    /// As cancel safe as the future in it; see [`with_dispatcher`].
    ///
    /// # Examples
    /// ```
    /// use tress::dispatch::{self, with_dispatcher};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let io = dispatch::io();
    /// let elsewhere = with_dispatcher(&io, async { 5 });
    /// assert_eq!(elsewhere.await, 5);
    /// # });
    /// ```
    #[must_use = "futures do nothing unless awaited"]
    pub struct WithDispatcher<F: Future> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F: Future> {
        New { dispatcher: Dispatcher, future: Option<F> },
        Here { #[pin] future: F },
        There { task: Task<F::Output> },
    }
}

/// A task that is aborted when its handle is dropped.
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<F> Future for WithDispatcher<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProjection::New { dispatcher, future } => {
                    let future = future.take().expect("taken once, below");
                    let next = match dispatcher.is_satisfied() {
                        true => State::Here { future },
                        false => State::There {
                            task: Task(spawn_on(dispatcher, future)),
                        },
                    };
                    state.set(next);
                }
                StateProjection::Here { future } => return future.poll(cx),
                StateProjection::There { task } => {
                    let joined = ready!(Pin::new(&mut task.0).poll(cx));
                    return Poll::Ready(match joined.map_err(|error| error.try_into_panic()) {
                        Ok(output) => output,
                        Err(Ok(payload)) => resume_unwind(payload),
                        Err(Err(_)) => {
                            panic!("with_dispatcher: the dispatcher's runtime has shut down")
                        }
                    });
                }
            }
        }
    }
}

impl<F: Future> fmt::Debug for WithDispatcher<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithDispatcher").finish_non_exhaustive()
    }
}

//! A stream made from an asynchronous function that is called repeatedly.

use futures_core::Stream;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The stream returned by [`unfold`].
    pub(super) struct Unfold<S, F, Next> {
        // The argument of the next call; `None` while a call is in progress, and at the end.
        state: Option<S>,
        #[pin]
        next: Option<Next>,
        step: F,
    }
}

/// Creates a stream that calls `step` with a state. `step` returns the next item together with the next
/// state, or `None` at the end.
///
/// The future of a call in progress is kept in the stream: no item is lost if a task stops polling.
pub(super) fn unfold<S, F, Next, T>(state: S, step: F) -> Unfold<S, F, Next>
where
    F: FnMut(S) -> Next,
    Next: Future<Output = Option<(T, S)>>,
{
    Unfold {
        state: Some(state),
        next: None,
        step,
    }
}

impl<S, F, Next, T> Stream for Unfold<S, F, Next>
where
    F: FnMut(S) -> Next,
    Next: Future<Output = Option<(T, S)>>,
{
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut this = self.project();
        if let Some(state) = this.state.take() {
            this.next.set(Some((this.step)(state)));
        }
        let Some(next) = this.next.as_mut().as_pin_mut() else {
            return Poll::Ready(None);
        };
        let stepped = ready!(next.poll(cx));
        this.next.set(None);
        Poll::Ready(stepped.map(|(item, state)| {
            *this.state = Some(state);
            item
        }))
    }
}

//! The future of a task that has a name.
//!
//! Only such a task pays for the counts of its name: its future is wrapped in one that counts.

use super::header::Header;
use crate::identity::Name;
use crate::sys::clock;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// One poll in 16 is timed.
const TIMED: u64 = 16;

pin_project! {
    /// The future of a task that has a name.
    pub(crate) struct Counted<F> {
        #[pin]
        future: F,
        name: Arc<Name>,
    }

    impl<F> PinnedDrop for Counted<F> {
        fn drop(this: Pin<&mut Self>) {
            this.name.completed.add_shared(1);
        }
    }
}

impl<F> Counted<F> {
    pub(crate) fn new(future: F, name: Arc<Name>) -> Counted<F> {
        name.submitted.add_shared(1);
        Counted { future, name }
    }
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        Header::note_named_poll();
        if this.name.polled.number() % TIMED != 0 {
            return this.future.poll(cx);
        }
        let start = clock::now();
        let polled = this.future.poll(cx);
        this.name.add_timed(clock::elapsed(start));
        polled
    }
}

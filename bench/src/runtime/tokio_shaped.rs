//! Tokio from the registry, the base peer, and tress: the same names, hence the same code.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::Rt;

/// A join handle whose task must not fail.
pub struct Join<H>(H);

impl<H, T, E> Future for Join<H>
where
    H: Future<Output = Result<T, E>> + Unpin,
    E: Debug,
{
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|output| output.expect("a task failed"))
    }
}

/// The multi-thread runtime of the crate `$lib`, also for one worker; `$configure` has the last word. What
/// it does in a way of its own comes last.
macro_rules! tokio_shaped {
    ($(#[$about:meta])* $name:ident, $lib:ident, $configure:expr $(, $own:item)*) => {
        $(#[$about])*
        pub struct $name(::$lib::runtime::Runtime);

        impl Rt for $name {
            type Join<T: Send + 'static> = Join<::$lib::task::JoinHandle<T>>;
            type Sender<T: Send + 'static> = ::$lib::sync::oneshot::Sender<T>;
            type Receiver<T: Send + 'static> = ::$lib::sync::oneshot::Receiver<T>;
            type Elapsed = ::$lib::time::error::Elapsed;

            fn start(workers: usize) -> Self {
                let mut builder = ::$lib::runtime::Builder::new_multi_thread();
                builder.worker_threads(workers).enable_all();
                let configure: fn(&mut ::$lib::runtime::Builder) = $configure;
                configure(&mut builder);
                $name(builder.build().expect("the runtime starts"))
            }

            fn block_on<F: Future>(&self, future: F) -> F::Output {
                self.0.block_on(future)
            }

            fn spawn_outside<F>(&self, future: F) -> Self::Join<F::Output>
            where
                F: Future + Send + 'static,
                F::Output: Send + 'static,
            {
                Join(self.0.handle().spawn(future))
            }

            fn spawn<F>(future: F) -> Self::Join<F::Output>
            where
                F: Future + Send + 'static,
                F::Output: Send + 'static,
            {
                Join(::$lib::spawn(future))
            }

            fn detach<T: Send + 'static>(join: Self::Join<T>) {
                drop(join);
            }

            fn yield_now() -> impl Future<Output = ()> + Send {
                ::$lib::task::yield_now()
            }

            fn sleep(duration: Duration) -> impl Future<Output = ()> + Send {
                ::$lib::time::sleep(duration)
            }

            fn timeout<F>(
                duration: Duration,
                future: F,
            ) -> impl Future<Output = Result<F::Output, Self::Elapsed>> + Send
            where
                F: Future + Send,
                F::Output: Send,
            {
                ::$lib::time::timeout(duration, future)
            }

            fn spawn_blocking<T, W>(work: W) -> impl Future<Output = T> + Send + Unpin
            where
                T: Send + 'static,
                W: FnOnce() -> T + Send + 'static,
            {
                Join(::$lib::task::spawn_blocking(work))
            }

            fn oneshot<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>) {
                ::$lib::sync::oneshot::channel()
            }

            fn send<T: Send + 'static>(sender: Self::Sender<T>, value: T) {
                // A receiver that is gone shows in the counts.
                let _ = sender.send(value);
            }

            async fn receive<T: Send + 'static>(receiver: Self::Receiver<T>) -> Option<T> {
                receiver.await.ok()
            }

            $($own)*
        }
    };
}

tokio_shaped!(
    /// The base peer.
    Tokio,
    tokio,
    |_| {}
);

tokio_shaped!(
    /// tress as it comes.
    Tress,
    tress,
    |_| {},
    fn sum_of_batch<F>(futures: impl Iterator<Item = F> + Send) -> impl Future<Output = u64> + Send
    where
        F: Future<Output = u64> + Send + 'static,
    {
        let tasks = ::tress::task::spawn_batch(futures);
        async move {
            let results = tasks.await.into_iter();
            results.map(|result| result.expect("a task failed")).sum()
        }
    }
);

tokio_shaped!(
    /// tress with its flight recorder on.
    TressRecorder,
    tress,
    |builder| {
        builder.flight_recorder(true);
    }
);

tokio_shaped!(
    /// tress with sight on, and with it the flight recorder.
    TressSight,
    tress,
    |builder| {
        builder.sight(true);
    }
);

tokio_shaped!(
    /// tress without io_uring.
    TressReadiness,
    tress,
    |builder| {
        builder.io_backend(::tress::runtime::IoBackend::Readiness);
    }
);

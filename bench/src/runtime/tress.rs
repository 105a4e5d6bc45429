//! tress, through the API that it shares with Tokio.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use ::tress::runtime::{Builder, Runtime};
use ::tress::sync::oneshot;
use ::tress::task::{self, JoinHandle};
use ::tress::time::{self, error::Elapsed};

use super::Rt;

/// The multi-thread runtime, also for one worker.
pub struct Tress(Runtime);

/// A join handle whose task must not fail.
pub struct Join<T>(JoinHandle<T>);

impl<T> Future for Join<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|output| output.expect("a task failed"))
    }
}

impl Rt for Tress {
    type Join<T: Send + 'static> = Join<T>;
    type Sender<T: Send + 'static> = oneshot::Sender<T>;
    type Receiver<T: Send + 'static> = oneshot::Receiver<T>;
    type Elapsed = Elapsed;

    fn start(workers: usize) -> Self {
        let built = Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_all()
            .build();
        Tress(built.expect("tress starts"))
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    fn spawn_outside<F>(&self, future: F) -> Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Join(self.0.handle().spawn(future))
    }

    fn spawn<F>(future: F) -> Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Join(::tress::spawn(future))
    }

    fn detach<T: Send + 'static>(join: Join<T>) {
        drop(join);
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        task::yield_now()
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send {
        time::sleep(duration)
    }

    fn timeout<F>(
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, Elapsed>> + Send
    where
        F: Future + Send,
        F::Output: Send,
    {
        time::timeout(duration, future)
    }

    fn spawn_blocking<T, W>(work: W) -> impl Future<Output = T> + Send + Unpin
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        Join(task::spawn_blocking(work))
    }

    fn oneshot<T: Send + 'static>() -> (oneshot::Sender<T>, oneshot::Receiver<T>) {
        oneshot::channel()
    }

    fn send<T: Send + 'static>(sender: oneshot::Sender<T>, value: T) {
        // A receiver that is gone shows in the counts.
        let _ = sender.send(value);
    }

    async fn receive<T: Send + 'static>(receiver: oneshot::Receiver<T>) -> Option<T> {
        receiver.await.ok()
    }
}

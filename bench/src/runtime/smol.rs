//! smol: one static executor run by N threads, as the smol crate's own global executor does it.

use std::future::Future;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_channel::{Receiver, Sender};
use async_executor::{Executor, Task};
use async_io::Timer;
use futures_lite::future as lite;

use super::Rt;

static EXECUTOR: Executor<'static> = Executor::new();

/// The threads that run the static executor; starting and stopping them is the user's own affair.
pub struct Smol {
    /// Closed to stop the threads.
    stop: Sender<()>,
    workers: Vec<JoinHandle<()>>,
}

impl Drop for Smol {
    fn drop(&mut self) {
        self.stop.close();
        for worker in self.workers.drain(..) {
            worker.join().expect("a task failed");
        }
    }
}

/// A `timeout` came first.
#[derive(Debug)]
pub struct Elapsed;

impl Rt for Smol {
    type Join<T: Send + 'static> = Task<T>;
    type Sender<T: Send + 'static> = Sender<T>;
    type Receiver<T: Send + 'static> = Receiver<T>;
    type Elapsed = Elapsed;

    fn start(workers: usize) -> Self {
        let (stop, stopped) = async_channel::bounded::<()>(1);
        let worker = |n| {
            let stopped = stopped.clone();
            let run = move || {
                // An error: nothing is ever sent, the channel is closed.
                let _ = async_io::block_on(EXECUTOR.run(stopped.recv()));
            };
            let named = thread::Builder::new().name(format!("smol-{n}"));
            named.spawn(run).expect("smol starts")
        };
        Smol {
            stop,
            workers: (0..workers).map(worker).collect(),
        }
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        async_io::block_on(future)
    }

    fn spawn_outside<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        EXECUTOR.spawn(future)
    }

    fn spawn<F>(future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        EXECUTOR.spawn(future)
    }

    fn detach<T: Send + 'static>(join: Task<T>) {
        join.detach();
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        lite::yield_now()
    }

    async fn sleep(duration: Duration) {
        Timer::after(duration).await;
    }

    fn timeout<F>(
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, Elapsed>> + Send
    where
        F: Future + Send,
        F::Output: Send,
    {
        // The timer is made when its branch is first polled: never, if `future` is ready at once.
        lite::or(async move { Ok(future.await) }, async move {
            Timer::after(duration).await;
            Err(Elapsed)
        })
    }

    fn spawn_blocking<T, W>(work: W) -> impl Future<Output = T> + Send + Unpin
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        blocking::unblock(work)
    }

    fn oneshot<T: Send + 'static>() -> (Sender<T>, Receiver<T>) {
        async_channel::bounded(1)
    }

    fn send<T: Send + 'static>(sender: Sender<T>, value: T) {
        // A receiver that is gone shows in the counts.
        let _ = sender.try_send(value);
    }

    async fn receive<T: Send + 'static>(receiver: Receiver<T>) -> Option<T> {
        receiver.recv().await.ok()
    }
}

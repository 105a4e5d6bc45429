//! tress's coroutines.

use ::tress::coroutine;
use ::tress::runtime::{Builder, Runtime};
use ::tress::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use ::tress::task::JoinHandle;

use super::Stackful;

/// The multi-thread runtime, also for one worker.
pub struct Fibers(Runtime);

impl Stackful for Fibers {
    type Join<T: Send + 'static> = JoinHandle<T>;
    type Sender = UnboundedSender<u64>;
    type Receiver = UnboundedReceiver<u64>;

    fn start(workers: usize) -> Self {
        let built = Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_all()
            .build();
        Fibers(built.expect("tress starts"))
    }

    fn inside<T, F>(&self, f: F) -> T
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let task = coroutine::Builder::new().spawn_on(f, self.0.handle());
        self.0.block_on(task).expect("a coroutine failed")
    }

    fn spawn<T, F>(f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        coroutine::spawn(f)
    }

    fn join<T: Send + 'static>(join: JoinHandle<T>) -> T {
        coroutine::wait(join).expect("a coroutine failed")
    }

    #[inline(always)]
    fn yield_now() {
        coroutine::yield_now();
    }

    fn park() {
        coroutine::wait(std::future::pending())
    }

    fn channel() -> (UnboundedSender<u64>, UnboundedReceiver<u64>) {
        mpsc::unbounded_channel()
    }

    #[inline(always)]
    fn send(sender: &UnboundedSender<u64>, value: u64) {
        // A receiver that is gone shows in the counts.
        let _ = sender.send(value);
    }

    #[inline(always)]
    fn receive(receiver: &mut UnboundedReceiver<u64>) -> Option<u64> {
        coroutine::wait(receiver.recv())
    }
}

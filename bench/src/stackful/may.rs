//! may: its scheduler is global, and is configured before its first use.

use ::may::coroutine::{self, JoinHandle};
use ::may::sync::mpsc::{self, Receiver, Sender};

use super::Stackful;

/// may's global scheduler.
pub struct May(());

impl Stackful for May {
    type Join<T: Send + 'static> = JoinHandle<T>;
    type Sender = Sender<u64>;
    type Receiver = Receiver<u64>;

    fn start(workers: usize) -> Self {
        // The tests run all cases in one process, and the first has set the number for all: the case of
        // parked coroutines needs a second worker there, because may's yields starve what is queued.
        let workers = if cfg!(test) { 2 } else { workers };
        ::may::config().set_workers(workers);
        May(())
    }

    fn inside<T, F>(&self, f: F) -> T
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Self::spawn(f).join().expect("a coroutine failed")
    }

    fn spawn<T, F>(f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: none of the cases keeps anything of thread-local storage over a wait, and what they
        // do fits on the default stack.
        unsafe { coroutine::spawn(f) }
    }

    fn join<T: Send + 'static>(join: JoinHandle<T>) -> T {
        join.join().expect("a coroutine failed")
    }

    #[inline(always)]
    fn yield_now() {
        coroutine::yield_now();
    }

    fn park() {
        coroutine::park();
    }

    fn channel() -> (Sender<u64>, Receiver<u64>) {
        mpsc::channel()
    }

    #[inline(always)]
    fn send(sender: &Sender<u64>, value: u64) {
        // A receiver that is gone shows in the counts.
        let _ = sender.send(value);
    }

    #[inline(always)]
    fn receive(receiver: &mut Receiver<u64>) -> Option<u64> {
        receiver.recv().ok()
    }
}

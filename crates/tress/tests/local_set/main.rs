//! What a `LocalSet` promises: its tasks are polled and dropped on its own thread, first come, first
//! served; wake-ups may come from anywhere, at any time, and none is lost.

mod behaviour;
mod destructors;
mod driving;
mod shutdown;
mod waking;

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use tress::runtime::{Builder, Handle, Runtime};
use tress::task::{
    self, JoinHandle, LocalSet, block_in_place, consume_budget, spawn_blocking, spawn_local,
    yield_now,
};
use tress::time::{Duration, sleep};

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn workers(n: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(n)
        .enable_all()
        .build()
        .unwrap()
}

/// Both kinds of runtime.
fn each_runtime(f: impl Fn(Runtime)) {
    f(current());
    f(workers(2));
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A waker that counts its calls.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Wakes {
    fn new() -> (Arc<Wakes>, Waker) {
        let wakes = Arc::new(Wakes::default());
        (wakes.clone(), Waker::from(wakes))
    }

    fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

/// Events of local tasks, in order. Not `Send`.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    fn add(&self, event: impl Into<String>) {
        self.0.borrow_mut().push(event.into());
    }

    fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

/// Lives on one thread: dropped on another, the process ends.
struct Here {
    thread: ThreadId,
    log: Log,
    name: String,
}

impl Here {
    fn new(log: &Log, name: impl Into<String>) -> Here {
        Here {
            thread: thread::current().id(),
            log: log.clone(),
            name: name.into(),
        }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        if self.thread != thread::current().id() {
            // A panic would be caught, and the `Rc` inside is already lost.
            eprintln!("{} was dropped on the wrong thread", self.name);
            std::process::abort();
        }
        self.log.add(format!("DROP {}", self.name));
    }
}

/// Something to wait for, from any thread.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Gate {
    fn open(&self) {
        let wakers = {
            let mut gate = self.0.lock().unwrap();
            gate.0 = true;
            std::mem::take(&mut gate.1)
        };
        for waker in wakers {
            waker.wake();
        }
    }

    async fn pass(&self) {
        poll_fn(|cx| {
            let mut gate = self.0.lock().unwrap();
            if gate.0 {
                return Poll::Ready(());
            }
            gate.1.push(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// Gives its task's waker away in every poll, for ever.
fn tell_waker(tell: mpsc::Sender<Waker>) -> impl Future<Output = ()> {
    poll_fn(move |cx| {
        let _ = tell.send(cx.waker().clone());
        Poll::Pending
    })
}

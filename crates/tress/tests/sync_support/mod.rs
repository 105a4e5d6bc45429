//! What the tests of `tress::sync` share: a task in the hand, an executor that knows nothing of any
//! runtime, and a future dropped at every point at which it can be.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// A future that is polled by hand, and tells whether it was woken.
pub struct Task<F> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub fn task<F: Future>(future: F) -> Task<F> {
    Task {
        future: Box::pin(future),
        woken: Arc::default(),
    }
}

impl<F: Future> Task<F> {
    pub fn poll(&mut self) -> Poll<F::Output> {
        self.woken.0.store(0, Ordering::SeqCst);
        let waker = Waker::from(self.woken.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    #[track_caller]
    pub fn ready(&mut self) -> F::Output {
        match self.poll() {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("not ready"),
        }
    }

    #[track_caller]
    pub fn pending(&mut self) {
        assert!(self.poll().is_pending(), "ready");
    }

    /// Since the last poll.
    pub fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::SeqCst) > 0
    }

    pub fn as_mut(&mut self) -> Pin<&mut F> {
        self.future.as_mut()
    }
}

/// Runs a future on this thread, without a runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread, AtomicBool);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.1.store(true, Ordering::Release);
            self.0.unpark();
        }
    }
    let unpark = Arc::new(Unpark(thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(unpark.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while !unpark.1.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

/// Runs futures in turns on this thread, without a runtime: those that were woken are polled.
///
/// # Panics
/// If some are left that nobody wakes.
pub fn run_all(futures: Vec<Pin<Box<dyn Future<Output = ()>>>>) {
    let mut tasks: Vec<_> = futures.into_iter().map(|f| Some(task(f))).collect();
    let mut first = true;
    loop {
        let mut progress = false;
        for slot in &mut tasks {
            let Some(task) = slot else { continue };
            if first || task.is_woken() {
                progress = true;
                if task.poll().is_ready() {
                    *slot = None;
                }
            }
        }
        first = false;
        let left = tasks.iter().flatten().count();
        if left == 0 {
            return;
        }
        assert!(progress, "{left} futures wait for ever");
    }
}

/// Drops a future at every point at which it can be dropped, each time in a new world.
///
/// `future` is made from a world and polled. After its n-th poll `step` changes the world, for
/// instance so that the future is granted what it waits for. It is dropped before its first poll,
/// then after the first poll, then after the first step, and so on until it gets to its end. After
/// each drop `check` looks at the world, with what the future returned if it did.
pub fn drop_at_every_point<W, F>(
    world: impl Fn() -> W,
    future: impl Fn(&W) -> F,
    step: impl Fn(&W, usize),
    check: impl Fn(&W, Option<F::Output>),
) where
    F: Future,
{
    for last_point in 0..100 {
        let world = world();
        let mut task = task(future(&world));
        let mut output = None;
        for point in 0..last_point {
            if point % 2 == 1 {
                step(&world, point / 2);
            } else if let Poll::Ready(ready) = task.poll() {
                output = Some(ready);
                break;
            }
        }
        drop(task);
        let finished = output.is_some();
        check(&world, output);
        if finished {
            return;
        }
    }
    panic!("the future does not get to its end");
}

/// Polls a future at most `n` times, then gives it up.
pub async fn give_up_after<F: Future>(n: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = n;
    std::future::poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            // Also if nobody wakes it: to be given up it has to be polled again.
            Poll::Pending => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    })
    .await
}

/// xorshift64*, for tests that can be repeated by their seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let mixed = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(mixed).unwrap() % n
    }
}

/// Sees to it that what excludes each other does so: readers or one writer.
#[derive(Default)]
pub struct Exclusion {
    readers: AtomicUsize,
    writers: AtomicUsize,
}

impl Exclusion {
    pub fn read(&self) -> impl Drop + '_ {
        self.readers.fetch_add(1, Ordering::SeqCst);
        assert_eq!(self.writers.load(Ordering::SeqCst), 0, "a writer is in");
        Leave(&self.readers)
    }

    pub fn write(&self) -> impl Drop + '_ {
        assert_eq!(
            self.writers.fetch_add(1, Ordering::SeqCst),
            0,
            "two writers"
        );
        assert_eq!(self.readers.load(Ordering::SeqCst), 0, "a reader is in");
        Leave(&self.writers)
    }
}

struct Leave<'a>(&'a AtomicUsize);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

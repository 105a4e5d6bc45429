//! Tasks whose joiners' wakers, outputs and payloads misbehave, each in one way.

use crate::child;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use tress::runtime::{Builder, Runtime};
use tress::shutdown::Shutdown;
use tress::sync::oneshot;
use tress::task::JoinHandle;

/// A waker that counts its wake-ups, and panics when it is dropped for the last time, if told to.
struct Fragile {
    woken: AtomicUsize,
    panics: bool,
}

impl Fragile {
    fn new(panics: bool) -> Arc<Fragile> {
        let woken = AtomicUsize::new(0);
        Arc::new(Fragile { woken, panics })
    }
}

impl Wake for Fragile {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        if self.panics {
            panic!("a waker's destructor");
        }
    }
}

/// A waker that cannot be cloned.
static UNCLONABLE: RawWakerVTable =
    RawWakerVTable::new(|_| panic!("a waker's clone"), |_| {}, |_| {}, |_| {});

/// A runtime, and something that it has for as long as it lives.
fn runtime() -> (Runtime, Arc<()>) {
    let life = Arc::new(());
    let held = life.clone();
    let mut builder = Builder::new_current_thread();
    let hook = move || drop(held.clone());
    (builder.on_thread_park(hook).build().unwrap(), life)
}

fn poll<T>(task: &mut JoinHandle<T>, waker: &Waker) -> bool {
    Pin::new(task)
        .poll(&mut Context::from_waker(waker))
        .is_ready()
}

fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn a_joiners_waker_that_panics_when_it_is_dropped_leaks_no_task() {
    let (rt, life) = runtime();
    let (finish, finished) = oneshot::channel::<()>();
    let mut task = rt.spawn(finished);
    let waker = Fragile::new(true);
    assert!(!poll(&mut task, &waker.into()));
    assert!(panics(|| drop(task)));
    finish.send(()).unwrap();
    rt.block_on(tress::task::yield_now());
    drop(rt);
    assert_eq!(Arc::strong_count(&life), 1, "the runtime is still there");
}

#[test]
fn a_waker_that_panics_when_it_is_replaced_has_been_replaced() {
    let (rt, life) = runtime();
    let mut task = rt.spawn(async { 3 });
    let bad = Fragile::new(true);
    let good = Fragile::new(false);
    assert!(!poll(&mut task, &bad.into()));
    assert!(panics(|| assert!(!poll(&mut task, &good.clone().into()))));
    rt.block_on(tress::task::yield_now());
    assert_eq!(good.woken.load(Ordering::Relaxed), 1);
    assert_eq!(rt.block_on(task).unwrap(), 3);
    drop(rt);
    assert_eq!(Arc::strong_count(&life), 1, "the runtime is still there");
}

#[test]
fn a_waker_that_cannot_be_cloned_leaves_the_one_before_it_in_place() {
    let (rt, life) = runtime();
    let mut task = rt.spawn(async { 3 });
    let good = Fragile::new(false);
    assert!(!poll(&mut task, &good.clone().into()));
    // SAFETY: the vtable's functions ask nothing of the data.
    let bad = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &UNCLONABLE)) };
    assert!(panics(|| assert!(!poll(&mut task, &bad))));
    rt.block_on(tress::task::yield_now());
    assert_eq!(good.woken.load(Ordering::Relaxed), 1);
    drop(task);
    drop(rt);
    assert_eq!(Arc::strong_count(&good), 1, "the waker is still there");
    assert_eq!(Arc::strong_count(&life), 1, "the runtime is still there");
}

/// Panics when dropped, and so does what it panics with, so many times.
struct Again(u32);

impl Drop for Again {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Again(self.0 - 1));
        }
    }
}

#[test]
fn a_panic_whose_payload_panics_ends_nothing_but_its_task() {
    let (rt, life) = runtime();
    let detached = rt.spawn(async { panic_any(Again(3)) });
    drop(detached);
    drop(rt.spawn(async { Again(3) }));
    drop(rt.spawn_blocking(|| panic_any(Again(3))));
    let joined = rt.spawn(async { panic_any(Again(1)) });
    let error = rt.block_on(joined).unwrap_err();
    assert!(panics(|| drop(error)));
    assert_eq!(rt.block_on(rt.spawn(async { 7 })).unwrap(), 7);
    drop(rt);
    assert_eq!(Arc::strong_count(&life), 1, "the runtime is still there");
}

/// A future, and an output, whose destructor panics even while another panic unwinds.
struct Stubborn(Option<&'static str>);

impl Future for Stubborn {
    type Output = Stubborn;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Stubborn> {
        Poll::Ready(Stubborn(self.0.take()))
    }
}

impl Drop for Stubborn {
    fn drop(&mut self) {
        panic!("a destructor");
    }
}

/// A waker that panics even while another panic unwinds.
struct Loud;

impl Wake for Loud {
    fn wake(self: Arc<Self>) {
        panic!("a wake-up");
    }
}

#[test]
fn two_panics_at_once_abort_nothing() {
    for case in ["future and output", "part and whole"] {
        child::passes("values::tasks::at_once", case);
    }
}

#[test]
fn at_once() {
    match child::case().as_deref() {
        Some("future and output") => {
            let (rt, _life) = runtime();
            let error = rt.block_on(rt.spawn(Stubborn(None))).err().unwrap();
            assert!(error.is_panic());
        }
        Some("part and whole") => {
            let whole = Shutdown::new();
            let part = whole.child("part");
            let work = part.start_work().unwrap();
            let waker = Waker::from(Arc::new(Loud));
            let mut ends = [Box::pin(part.drained()), Box::pin(whole.drained())];
            // Triggered first: only the end of the work is to wake them.
            whole.trigger();
            for end in &mut ends {
                let mut cx = Context::from_waker(&waker);
                assert!(end.as_mut().poll(&mut cx).is_pending());
            }
            assert!(panics(|| drop(work)));
            assert_eq!(whole.pending_count(), 0);
            for end in ends {
                Runtime::new().unwrap().block_on(end);
            }
        }
        _ => {}
    }
}

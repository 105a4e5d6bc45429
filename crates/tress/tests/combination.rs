//! The product of what can happen to one task: which scheduler runs it, where it panics, what it
//! returns, what is done with its handle, and when it is aborted.

use std::future::Future;
use std::panic;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use tress::runtime::{Builder, Runtime};
use tress::task::{JoinHandle, yield_now};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scheduler {
    Multi(usize),
    Current,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Panics {
    Never,
    InPoll,
    InFutureDrop,
    InOutputDrop,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Handling {
    Awaited,
    DroppedBefore,
    PolledThenDropped,
    DroppedAfter,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Abort {
    Never,
    BeforeStart,
    WhileIdle,
    AfterCompletion,
}

/// Counts what happened to one task.
#[derive(Default)]
struct Counts {
    polls: AtomicUsize,
    future_drops: AtomicUsize,
    output_drops: AtomicUsize,
    outputs: AtomicUsize,
}

/// What the task returns. `N` makes it small, large or empty but for the counter.
struct Output<const N: usize> {
    counts: Arc<Counts>,
    panics: bool,
    _size: [u64; N],
}

impl<const N: usize> Drop for Output<N> {
    fn drop(&mut self) {
        self.counts.output_drops.fetch_add(1, Ordering::SeqCst);
        if self.panics {
            panic!("output dropped");
        }
    }
}

/// Idles until `go`, then completes.
struct Body<const N: usize> {
    counts: Arc<Counts>,
    panics: Panics,
    go: Arc<AtomicBool>,
    idle: mpsc::Sender<Waker>,
    done: bool,
}

impl<const N: usize> Future for Body<N> {
    type Output = Output<N>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Output<N>> {
        self.counts.polls.fetch_add(1, Ordering::SeqCst);
        if !self.go.load(Ordering::SeqCst) {
            let _ = self.idle.send(cx.waker().clone());
            if self.go.load(Ordering::SeqCst) {
                // Whoever said so may have looked for the waker before it was there.
                cx.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
        self.done = true;
        if self.panics == Panics::InPoll {
            panic!("polled");
        }
        self.counts.outputs.fetch_add(1, Ordering::SeqCst);
        Poll::Ready(Output {
            counts: self.counts.clone(),
            panics: self.panics == Panics::InOutputDrop,
            _size: [7; N],
        })
    }
}

impl<const N: usize> Drop for Body<N> {
    fn drop(&mut self) {
        self.counts.future_drops.fetch_add(1, Ordering::SeqCst);
        if self.panics == Panics::InFutureDrop {
            panic!("future dropped");
        }
    }
}

fn runtime(scheduler: Scheduler) -> Runtime {
    match scheduler {
        Scheduler::Multi(n) => Builder::new_multi_thread().worker_threads(n).build(),
        Scheduler::Current => Builder::new_current_thread().build(),
    }
    .unwrap()
}

/// Lets other tasks run until `done`.
async fn until(done: impl Fn() -> bool) {
    while !done() {
        yield_now().await;
    }
}

fn combine<const N: usize>(s: Scheduler, panics: Panics, handling: Handling, abort: Abort) {
    let case = format!("{s:?} {panics:?} {handling:?} {abort:?} size {N}");
    if std::env::var_os("TRESS_TRACE_CASES").is_some() {
        eprintln!("{case}");
    }
    let counts = Arc::new(Counts::default());
    let go = Arc::new(AtomicBool::new(abort == Abort::BeforeStart));
    let (idle, idles) = mpsc::channel();
    let rt = runtime(s);
    let body = Body::<N> {
        counts: counts.clone(),
        panics,
        go: go.clone(),
        idle,
        done: false,
    };
    let inner = counts.clone();
    rt.block_on(async move {
        let handle: JoinHandle<Output<N>> = tress::spawn(body);
        let abort_handle = handle.abort_handle();
        if abort == Abort::BeforeStart {
            abort_handle.abort();
        }
        let mut handle = Some(handle);
        if handling == Handling::DroppedBefore {
            handle = None;
        }
        if handling == Handling::PolledThenDropped {
            let mut polled = handle.take().unwrap();
            let mut cx = Context::from_waker(Waker::noop());
            // Whether it is ready by now is a race; an output is dropped with the handle.
            let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
                let ready = Pin::new(&mut polled).poll(&mut cx);
                drop(ready);
            }));
            assert!(result.is_ok() || panics == Panics::InOutputDrop);
            let dropped = panic::catch_unwind(panic::AssertUnwindSafe(|| drop(polled)));
            assert!(dropped.is_ok(), "dropping a handle must not panic");
        }
        if abort != Abort::BeforeStart {
            // It was polled and idles.
            until(|| inner.polls.load(Ordering::SeqCst) > 0).await;
            if abort == Abort::WhileIdle {
                abort_handle.abort();
                until(|| abort_handle.is_finished()).await;
            } else {
                go.store(true, Ordering::SeqCst);
                for waker in idles.try_iter() {
                    waker.wake();
                }
            }
        }
        until(|| abort_handle.is_finished()).await;
        if abort == Abort::AfterCompletion {
            abort_handle.abort();
        }
        // A worker may have been quicker than the abort; its one poll completed the task.
        let overtaken = abort == Abort::BeforeStart && inner.polls.load(Ordering::SeqCst) > 0;
        let abort = if overtaken {
            Abort::AfterCompletion
        } else {
            abort
        };
        let Some(handle) = handle else { return };
        assert!(handle.is_finished());
        if handling == Handling::DroppedAfter {
            let dropped = panic::catch_unwind(panic::AssertUnwindSafe(|| drop(handle)));
            assert!(dropped.is_ok(), "dropping a handle must not panic");
            return;
        }
        let id = handle.id();
        match handle.await {
            Ok(output) => {
                assert!(matches!(panics, Panics::Never | Panics::InOutputDrop));
                assert!(abort == Abort::Never || abort == Abort::AfterCompletion);
                let dropped = panic::catch_unwind(panic::AssertUnwindSafe(|| drop(output)));
                assert_eq!(dropped.is_err(), panics == Panics::InOutputDrop);
            }
            Err(error) => {
                assert_eq!(error.id(), id);
                let cancelled = abort == Abort::BeforeStart || abort == Abort::WhileIdle;
                if panics == Panics::InFutureDrop || (panics == Panics::InPoll && !cancelled) {
                    let payload = error.into_panic();
                    let text = payload.downcast_ref::<&str>().unwrap();
                    assert!(["polled", "future dropped"].contains(text));
                } else {
                    assert!(cancelled && error.is_cancelled());
                }
            }
        }
    });
    drop(rt);
    assert_eq!(counts.future_drops.load(Ordering::SeqCst), 1, "{case}");
    assert_eq!(
        counts.outputs.load(Ordering::SeqCst),
        counts.output_drops.load(Ordering::SeqCst),
        "{case}"
    );
    let _ = case;
}

#[test]
fn every_combination() {
    // The panics are on purpose; keep them out of the output.
    panic::set_hook(Box::new(|info| {
        let text = info.payload().downcast_ref::<&str>().copied().unwrap_or("");
        if !["polled", "future dropped", "output dropped"].contains(&text) {
            eprintln!("{info}");
        }
    }));
    let mut n = 0;
    for s in [
        Scheduler::Multi(1),
        Scheduler::Multi(2),
        Scheduler::Multi(8),
        Scheduler::Current,
    ] {
        for panics in [
            Panics::Never,
            Panics::InPoll,
            Panics::InFutureDrop,
            Panics::InOutputDrop,
        ] {
            for handling in [
                Handling::Awaited,
                Handling::DroppedBefore,
                Handling::PolledThenDropped,
                Handling::DroppedAfter,
            ] {
                for abort in [
                    Abort::Never,
                    Abort::BeforeStart,
                    Abort::WhileIdle,
                    Abort::AfterCompletion,
                ] {
                    // Empty, small, larger than the future, larger than any page's slot.
                    combine::<0>(s, panics, handling, abort);
                    combine::<2>(s, panics, handling, abort);
                    combine::<64>(s, panics, handling, abort);
                    combine::<1024>(s, panics, handling, abort);
                    n += 4;
                }
            }
        }
    }
    assert_eq!(n, 1024);
}

//! Subscribers that panic, and subscribers that use the runtime.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::task;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// What a subscriber is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    New,
    Enter,
    Exit,
    Close,
    Event(&'static str),
}

/// A subscriber that calls a function each time. It is not called while it calls the function.
struct Calls<F> {
    f: F,
    busy: AtomicBool,
}

fn calling<F>(f: F) -> Calls<F> {
    let busy = AtomicBool::new(false);
    Calls { f, busy }
}

impl<F: Fn(Call)> Calls<F> {
    fn call(&self, call: Call) {
        struct Done<'a>(&'a AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Relaxed);
            }
        }

        if !self.busy.swap(true, Ordering::Relaxed) {
            let _done = Done(&self.busy);
            (self.f)(call);
        }
    }
}

impl<F: Fn(Call) + Send + Sync + 'static> Subscriber for Calls<F> {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.call(Call::New);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.call(Call::Event(event.metadata().target()));
    }

    fn enter(&self, _: &Id) {
        self.call(Call::Enter);
    }

    fn exit(&self, _: &Id) {
        self.call(Call::Exit);
    }

    fn try_close(&self, _: Id) -> bool {
        self.call(Call::Close);
        true
    }
}

/// Panics the first time that it is called so.
fn panics_once(on: Call) -> Calls<impl Fn(Call) + Send + Sync + 'static> {
    let done = AtomicBool::new(false);
    calling(move |call| {
        if call == on && !done.swap(true, Ordering::Relaxed) {
            panic!("a subscriber panics on purpose");
        }
    })
}

/// A future that counts its destructor.
struct Counts(Arc<AtomicUsize>);

impl Future for Counts {
    type Output = ();

    fn poll(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_subscriber_that_panics_harms_one_task_at_most() {
    for on in [Call::New, Call::Enter, Call::Exit, Call::Close] {
        let rt = current();
        let dropped = Arc::new(AtomicUsize::new(0));
        let handles = Arc::new(Mutex::new(Vec::new()));
        let _rt = rt.enter();
        let spawned = tracing::subscriber::with_default(panics_once(on), || {
            let spawned = catch_unwind(AssertUnwindSafe(|| tokio::spawn(Counts(dropped.clone()))));
            handles
                .lock()
                .unwrap()
                .push(tokio::spawn(Counts(dropped.clone())));
            // Without a span of its own, so that the tasks' spans are the ones that panic.
            let ran = catch_unwind(AssertUnwindSafe(|| run_tasks(&rt)));
            drop(ran);
            spawned
        });
        assert_eq!(spawned.is_err(), on == Call::New, "{on:?}");
        // What is left runs without it.
        rt.block_on(async {
            if let Ok(first) = spawned {
                assert_eq!(
                    first.await.is_err(),
                    matches!(on, Call::Enter | Call::Exit),
                    "{on:?}"
                );
            }
            let other = handles.lock().unwrap().pop().unwrap();
            other.await.unwrap();
        });
        assert_eq!(dropped.load(Ordering::Relaxed), 2, "{on:?}");
    }
}

/// Runs the tasks that are ready, with a `block_on` whose own span the subscriber of the caller does not see.
fn run_tasks(rt: &Runtime) {
    let subscriber = tracing::dispatcher::get_default(Clone::clone);
    let quiet = tracing::subscriber::NoSubscriber::default();
    tracing::subscriber::with_default(quiet, || {
        rt.block_on(async {
            let _theirs = tracing::dispatcher::set_default(&subscriber);
            task::yield_now().await;
            task::yield_now().await;
        });
    });
}

#[test]
fn a_wake_up_reaches_its_task_although_the_subscriber_panics() {
    let rt = current();
    let kept: Arc<Mutex<Option<Waker>>> = Arc::default();
    let keep = kept.clone();
    let mut polls = 0;
    let future = std::future::poll_fn(move |cx| {
        polls += 1;
        *keep.lock().unwrap() = Some(cx.waker().clone());
        if polls == 2 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    let panics = panics_once(Call::Event("tokio::task::waker"));
    tracing::subscriber::with_default(panics, || {
        let task = rt.spawn(future);
        // The first event is that of the clone: it panics.
        rt.block_on(task::yield_now());
        kept.lock()
            .unwrap()
            .take()
            .expect("the waker was cloned")
            .wake();
        rt.block_on(task).unwrap();
    });
}

#[test]
fn permits_come_back_from_a_poll_in_which_the_subscriber_panics() {
    for (target, wanted) in [
        ("runtime::resource::state_update", 1),
        ("runtime::resource::state_update", 2),
        ("runtime::resource::async_op::state_update", 1),
        ("runtime::resource::poll_op", 1),
        ("runtime::resource::poll_op", 2),
    ] {
        let told = AtomicBool::new(false);
        let polled = Arc::new(AtomicBool::new(false));
        let armed = polled.clone();
        let panics = calling(move |call| {
            let now = armed.load(Ordering::Relaxed) && call == Call::Event(target);
            if now && !told.swap(true, Ordering::Relaxed) {
                panic!("a subscriber panics on purpose");
            }
        });
        let semaphore = tracing::subscriber::with_default(panics, || {
            let semaphore = Semaphore::new(1);
            polled.store(true, Ordering::Relaxed);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                let mut acquire = Box::pin(semaphore.acquire_many(wanted));
                let _ = acquire
                    .as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()));
            }));
            assert!(panicked.is_err(), "{target} {wanted}");
            semaphore
        });
        assert_eq!(semaphore.available_permits(), 1, "{target} {wanted}");
    }
}

#[test]
fn a_subscriber_may_use_the_runtime_and_the_lock_that_it_is_told_of() {
    let rt = current();
    let semaphore = Arc::new(Semaphore::new(2));
    let spawned = Arc::new(AtomicUsize::new(0));
    let subscriber = {
        let (semaphore, spawned) = (semaphore.clone(), spawned.clone());
        let handle: Handle = rt.handle().clone();
        calling(move |_| {
            // Its own tasks have spans too, so it has to stop at some point.
            if spawned.fetch_add(1, Ordering::Relaxed) < 100 {
                handle.spawn(async {});
            }
            drop(semaphore.try_acquire());
            semaphore.add_permits(1);
            semaphore.forget_permits(1);
        })
    };
    tracing::subscriber::with_default(subscriber, || {
        rt.block_on(async {
            let ours = Arc::new(Semaphore::new(1));
            let tasks: Vec<_> = (0..8)
                .map(|_| {
                    let (ours, theirs) = (ours.clone(), semaphore.clone());
                    tokio::spawn(async move {
                        let _one = ours.acquire().await.unwrap();
                        let _other = theirs.acquire_many(2).await.unwrap();
                        task::yield_now().await;
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
    });
    assert!(spawned.load(Ordering::Relaxed) > 0);
    assert_eq!(semaphore.available_permits(), 2);
}

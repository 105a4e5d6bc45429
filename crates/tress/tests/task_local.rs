//! Task-local values: in place during every poll and every drop of the future they were given to,
//! and nowhere else.

#![allow(
    clippy::type_complexity,
    reason = "boxed futures of futures, spelled out once"
)]

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use tress::runtime::{Builder, Runtime};
use tress::task::futures::TaskLocalFuture;
use tress::task::{AccessError, yield_now};

tress::task_local! {
    /// Documented, and visible elsewhere.
    pub static NUMBER: u32;
    static WORD: String
}

// None at all, and one without the semicolon, are fine too.
tress::task_local! {}
tress::task_local!(static CELL: Cell<u32>);

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Looks at `NUMBER` in every poll and when it is dropped.
struct Watch {
    pending: usize,
    seen: Rc<RefCell<Vec<(&'static str, Result<u32, AccessError>)>>>,
}

impl Watch {
    fn new(
        pending: usize,
    ) -> (
        Watch,
        Rc<RefCell<Vec<(&'static str, Result<u32, AccessError>)>>>,
    ) {
        let seen = Rc::default();
        let watch = Watch {
            pending,
            seen: Rc::clone(&seen),
        };
        (watch, seen)
    }
}

impl Future for Watch {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.seen.borrow_mut().push(("POLL", NUMBER.try_get()));
        if self.pending == 0 {
            return Poll::Ready(());
        }
        self.pending -= 1;
        Poll::Pending
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.seen.borrow_mut().push(("DROP", NUMBER.try_get()));
    }
}

#[test]
fn the_value_is_there_in_every_poll_and_in_between_it_is_not() {
    let (watch, seen) = Watch::new(2);
    let mut future = pin!(NUMBER.scope(7, watch));
    assert!(seen.borrow().is_empty());
    for polls in 1..=2 {
        assert!(poll(future.as_mut()).is_pending());
        assert!(NUMBER.try_get().is_err());
        assert_eq!(seen.borrow().len(), polls);
    }
    assert!(poll(future.as_mut()).is_ready());
    assert!(NUMBER.try_get().is_err());
    let seen = seen.borrow();
    assert_eq!(
        *seen,
        [
            ("POLL", Ok(7)),
            ("POLL", Ok(7)),
            ("POLL", Ok(7)),
            ("DROP", Ok(7))
        ],
        "dropped when it is ready, with its value"
    );
}

/// Dropped after each number of polls.
#[test]
fn the_value_is_there_while_the_future_is_dropped() {
    for polls in 0..3 {
        let (watch, seen) = Watch::new(2);
        let mut future = Box::pin(NUMBER.scope(7, watch));
        for _ in 0..polls {
            assert!(poll(future.as_mut()).is_pending());
        }
        drop(future);
        assert_eq!(seen.borrow().len(), polls + 1);
        assert_eq!(seen.borrow().last(), Some(&("DROP", Ok(7))));
        assert!(NUMBER.try_get().is_err());
    }
}

#[test]
fn scopes_nest_and_do_not_mix() {
    let mut outer = pin!(NUMBER.scope(1, async {
        assert_eq!(NUMBER.get(), 1);
        let (watch, seen) = Watch::new(1);
        let mut inner = Box::pin(NUMBER.scope(2, watch));
        assert!(poll(inner.as_mut()).is_pending());
        assert_eq!(NUMBER.get(), 1, "back after the inner poll");
        // The inner one goes through a third scope, polled and dropped.
        NUMBER
            .scope(3, async {
                assert_eq!(NUMBER.get(), 3);
                assert!(poll(inner.as_mut()).is_ready());
                assert_eq!(NUMBER.get(), 3);
                drop(inner);
                WORD.scope("other keys".into(), async {
                    assert_eq!(NUMBER.get(), 3);
                    assert_eq!(WORD.with(String::len), 10);
                })
                .await;
            })
            .await;
        assert_eq!(NUMBER.get(), 1);
        assert_eq!(
            *seen.borrow(),
            [("POLL", Ok(2)), ("POLL", Ok(2)), ("DROP", Ok(2))]
        );
        yield_now().await;
        assert_eq!(NUMBER.get(), 1);
    }));
    assert!(poll(outer.as_mut()).is_pending());
    assert!(NUMBER.try_get().is_err());
    assert!(poll(outer.as_mut()).is_ready());
}

#[test]
fn sync_scopes_nest() {
    let sum = NUMBER.sync_scope(1, || {
        let inner = NUMBER.sync_scope(2, || NUMBER.get());
        inner + NUMBER.get()
    });
    assert_eq!(sum, 3);
    assert!(NUMBER.try_get().is_err());
}

#[test]
fn the_value_moves_with_the_task_and_is_not_inherited() {
    const MANY: u32 = if cfg!(miri) { 5 } else { 50 };
    let rt = Builder::new_multi_thread()
        .worker_threads(3)
        .build()
        .unwrap();
    rt.block_on(async {
        let tasks: Vec<_> = (0..MANY)
            .map(|i| {
                tress::spawn(NUMBER.scope(i, async move {
                    for _ in 0..MANY {
                        assert_eq!(NUMBER.get(), i);
                        yield_now().await;
                    }
                    tress::spawn(async { NUMBER.try_get() }).await.unwrap()
                }))
            })
            .collect();
        for task in tasks {
            assert!(task.await.unwrap().is_err());
        }
    });
}

/// An aborted task is dropped with its value in place.
#[test]
fn the_value_is_there_when_a_task_is_aborted() {
    struct Tells(mpsc::Sender<u32>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(NUMBER.get()).unwrap();
        }
    }
    current().block_on(async {
        let (tell, told) = mpsc::channel();
        let task = tress::spawn(NUMBER.scope(42, async move {
            let _tells = Tells(tell);
            pending::<()>().await;
        }));
        yield_now().await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(told.recv(), Ok(42));
    });
}

#[test]
fn a_panic_restores_the_outer_value() {
    NUMBER.sync_scope(1, || {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            NUMBER.sync_scope(2, || panic!("inside"));
        }));
        assert!(panicked.is_err());
        assert_eq!(NUMBER.get(), 1);

        let mut future = Box::pin(NUMBER.scope(3, async {
            let _guard = Watch::new(0).0;
            panic!("in a poll");
        }));
        let panicked = catch_unwind(AssertUnwindSafe(|| poll(future.as_mut()).is_ready()));
        assert!(panicked.is_err());
        assert_eq!(NUMBER.get(), 1);
        drop(future);
        assert_eq!(NUMBER.get(), 1);
    });
}

#[test]
fn take_value_takes_it_once() {
    let mut future = Box::pin(WORD.scope("mine".into(), async {
        assert!(WORD.try_with(|_| ()).is_err(), "it was taken before");
    }));
    assert_eq!(future.as_mut().take_value().as_deref(), Some("mine"));
    assert_eq!(future.as_mut().take_value(), None);
    assert!(poll(future.as_mut()).is_ready());
    assert_eq!(future.as_mut().take_value(), None);
}

/// The value can be changed through interior mutability and looked at afterwards.
#[test]
fn take_value_after_completion() {
    let mut future = pin!(CELL.scope(Cell::new(1), async {
        CELL.with(|cell| cell.set(5));
    }));
    assert!(poll(future.as_mut()).is_ready());
    assert_eq!(future.take_value().map(Cell::into_inner), Some(5));
}

/// Without a value of its own the scope hides the outer one.
#[test]
fn an_emptied_scope_hides_the_outer_value() {
    NUMBER.sync_scope(1, || {
        let mut future = Box::pin(NUMBER.scope(2, async { NUMBER.try_get() }));
        future.as_mut().take_value();
        assert!(matches!(poll(future.as_mut()), Poll::Ready(Err(_))));
        assert_eq!(NUMBER.get(), 1);
    });
}

#[test]
fn with_may_be_nested_but_not_around_a_scope() {
    NUMBER.sync_scope(1, || {
        NUMBER.with(|outer| NUMBER.with(|inner| assert_eq!(outer, inner)));
        let text = panic_text(|| NUMBER.with(|_| NUMBER.sync_scope(2, || ())));
        assert!(text.contains("borrowed"), "{text}");
        let text = panic_text(|| {
            let _ = NUMBER.with(|_| poll(pin!(NUMBER.scope(2, async {}))));
        });
        assert!(text.contains("borrowed"), "{text}");
        assert_eq!(NUMBER.get(), 1);
        // A future dropped there is dropped, if without its value.
        let (watch, seen) = Watch::new(1);
        NUMBER.with(|_| drop(NUMBER.scope(2, watch)));
        assert_eq!(*seen.borrow(), [("DROP", Ok(1))]);
    });
}

#[test]
fn access_without_a_value() {
    let text = panic_text(|| NUMBER.with(|_| ()));
    assert!(text.contains("LocalKey::scope"), "{text}");
    assert_eq!(
        panic_text(|| {
            NUMBER.get();
        }),
        text
    );
    let error = NUMBER.try_with(|_| ()).unwrap_err();
    assert_eq!(error, NUMBER.try_get().unwrap_err());
    assert!(error.to_string().contains("not set"), "{error}");
}

#[test]
#[should_panic(expected = "polled after completion")]
fn polling_after_completion_panics() {
    let mut future = pin!(NUMBER.scope(1, async {}));
    assert!(poll(future.as_mut()).is_ready());
    let _ = poll(future.as_mut());
}

/// Panics point at the caller.
#[test]
fn panics_are_located() {
    thread_local! { static FILE: Cell<Option<String>> = const { Cell::new(None) }; }
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        FILE.set(info.location().map(|at| at.file().to_owned()));
    }));
    let cases: [fn(); 3] = [
        || NUMBER.with(|_| ()),
        || {
            NUMBER.get();
        },
        || NUMBER.sync_scope(1, || NUMBER.with(|_| NUMBER.sync_scope(2, || ()))),
    ];
    let files = cases.map(|case| {
        let _ = catch_unwind(case);
        FILE.take()
    });
    std::panic::set_hook(before);
    for file in files {
        assert_eq!(file.as_deref(), Some(file!()));
    }
}

#[test]
fn auto_traits() {
    fn send<T: Send>(_: &T) {}
    fn sync<T: Sync>(_: &T) {}
    send(&NUMBER);
    sync(&CELL);
    let future: TaskLocalFuture<u32, _> = NUMBER.scope(1, poll_fn(|_| Poll::Ready(())));
    send(&future);
    sync(&future);
    assert!(format!("{NUMBER:?} {future:?}").contains("value: Some(1)"));
}

fn panic_text(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast_ref::<&str>().unwrap()).to_owned(),
    }
}

//! Structured scopes: nothing outlives them, and failures go where they should.

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tress::future::poll_once;
use tress::runtime::{Builder, Runtime};
use tress::sync::{CancellationToken, Notify, oneshot};
use tress::task::scope::Error;
use tress::task::{self, scope};
use tress::time::Duration;

/// Counts how many of its clones are alive.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicUsize>);

struct Token(Arc<AtomicUsize>);

impl Alive {
    fn token(&self) -> Token {
        self.0.fetch_add(1, Ordering::SeqCst);
        Token(self.0.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn each_runtime(f: impl AsyncFn()) {
    for workers in [1, 2] {
        let rt = Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_all()
            .build()
            .unwrap();
        rt.block_on(f());
    }
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(f());
}

#[test]
fn waits_for_children_whose_handles_are_dropped() {
    each_runtime(async || {
        let done = Arc::new(AtomicUsize::new(0));
        let counted = done.clone();
        let result = task::scope(|scope| async move {
            for _ in 0..100 {
                let (counted, scope2) = (counted.clone(), scope.clone());
                scope.spawn(async move {
                    task::yield_now().await;
                    // A child may spawn a sibling.
                    scope2.supervise(async move {
                        task::yield_now().await;
                        counted.fetch_add(1, Ordering::SeqCst);
                    });
                    Ok::<(), ()>(())
                });
            }
            Ok("body")
        });
        assert_eq!(result.await, Ok("body"));
        assert_eq!(done.load(Ordering::SeqCst), 100);
    });
}

#[test]
fn the_first_error_ends_body_and_siblings() {
    each_runtime(async || {
        let alive = Alive::default();
        let tokens = alive.clone();
        let result = task::scope(|scope| async move {
            let _body = tokens.token();
            for _ in 0..10 {
                let token = tokens.token();
                scope.spawn(async move {
                    let _token = token;
                    pending::<Result<(), &str>>().await
                });
            }
            let failing = scope.spawn(async { Err::<(), _>("first") });
            assert!(failing.await.unwrap_err().is_cancelled());
            pending::<Result<(), &str>>().await
        });
        assert_eq!(result.await, Err(Error::Failed("first")));
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn an_error_of_the_body_ends_the_children() {
    each_runtime(async || {
        let alive = Alive::default();
        let token = alive.token();
        let result = task::scope(|scope| async move {
            scope.supervise(async move {
                let _token = token;
                pending::<()>().await;
            });
            Err::<(), _>("body")
        });
        assert_eq!(result.await, Err(Error::Failed("body")));
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn a_child_may_fail_after_the_body_is_done() {
    each_runtime(async || {
        let (tx, rx) = oneshot::channel::<()>();
        let mut scope = pin!(task::scope(|scope| async move {
            scope.spawn(async move {
                rx.await.unwrap();
                Err::<(), _>(7)
            });
            Ok("unused")
        }));
        assert!(poll_once(scope.as_mut()).await.is_none());
        tx.send(()).unwrap();
        assert_eq!(scope.await, Err(Error::Failed(7)));
    });
}

/// The text with which a future panics.
async fn panic_of<F: std::future::Future>(future: F) -> String {
    let mut future = pin!(future);
    let payload = std::future::poll_fn(|cx| {
        match std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(std::task::Poll::Pending) => std::task::Poll::Pending,
            Ok(std::task::Poll::Ready(_)) => panic!("it returned"),
            Err(payload) => std::task::Poll::Ready(payload),
        }
    })
    .await;
    payload.downcast_ref::<&str>().unwrap().to_string()
}

#[test]
fn panics_go_on_when_everybody_is_gone() {
    each_runtime(async || {
        let alive = Alive::default();
        for in_body in [false, true] {
            let token = alive.token();
            let text = panic_of(task::scope(|scope| async move {
                scope.supervise(async move {
                    let _token = token;
                    pending::<()>().await;
                });
                if in_body {
                    panic!("in the body");
                }
                scope.spawn::<_, ()>(async { panic!("in a child") });
                pending::<Result<(), ()>>().await
            }));
            assert_eq!(
                text.await,
                if in_body { "in the body" } else { "in a child" }
            );
            assert_eq!(alive.count(), 0);
        }
    });
}

#[test]
fn a_panic_in_a_childs_destructor_surfaces() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    each_runtime(async || {
        let started = Arc::new(Notify::new());
        let text = panic_of(task::scope(|scope| {
            let started = started.clone();
            async move {
                let bomb = Bomb;
                let told = started.clone();
                let child = scope.spawn(async move {
                    let _bomb = bomb;
                    told.notify_one();
                    pending::<Result<(), ()>>().await
                });
                started.notified().await;
                child.abort();
                pending::<Result<(), ()>>().await
            }
        }));
        assert_eq!(text.await, "dropped");
    });
}

#[test]
fn a_supervised_child_fails_alone() {
    each_runtime(async || {
        let result = task::scope(|scope| async move {
            let panicked = scope.supervise(async { panic!("mine") }).await;
            assert!(panicked.unwrap_err().is_panic());
            let failed = scope.supervise(async { Err::<(), _>(3) }).await;
            assert_eq!(failed.unwrap(), Err(3));
            let aborted = scope.spawn(pending::<Result<(), ()>>());
            aborted.abort();
            assert!(aborted.await.unwrap_err().is_cancelled());
            assert!(!scope.token().is_cancelled());
            Ok("all handled")
        });
        assert_eq!(result.await, Ok("all handled"));
    });
}

#[test]
fn a_deadline_ends_it() {
    let rt = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    rt.block_on(async {
        let second = Duration::from_secs(1);
        for body_waits in [false, true] {
            let alive = Alive::default();
            let token = alive.token();
            let limited = scope::Builder::new()
                .timeout(second)
                .run(|scope| async move {
                    scope.spawn(async move {
                        let _token = token;
                        pending::<Result<(), ()>>().await
                    });
                    if body_waits {
                        pending::<()>().await;
                    }
                    Ok(())
                });
            assert_eq!(limited.await, Err(Error::TimedOut));
            assert_eq!(alive.count(), 0);
        }
        let deadline = tress::time::Instant::now() + second;
        let in_time = scope::Builder::new()
            .deadline(deadline)
            .run(|scope| async move {
                scope.spawn(async { Ok::<(), ()>(()) });
                Ok(5)
            });
        assert_eq!(in_time.await, Ok(5));
    });
}

/// Depth 5, three children each: everything ends when the top does, whatever ends it.
#[test]
fn cancellation_reaches_the_whole_tree() {
    fn tree(depth: usize, alive: Alive) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let _token = alive.token();
            let _ = task::scope(|scope| async move {
                for _ in 0..3 {
                    if depth > 0 {
                        scope.supervise(tree(depth - 1, alive.clone()));
                    }
                }
                pending::<Result<(), ()>>().await
            })
            .await;
        })
    }
    const ALL: usize = 1 + 3 + 9 + 27 + 81;
    each_runtime(async || {
        for by_abort in [false, true] {
            let alive = Alive::default();
            let token = CancellationToken::new();
            let top = alive.clone();
            let parent = token.clone();
            let task = tress::spawn(async move {
                scope::Builder::new()
                    .token(&parent)
                    .run(|scope| async move {
                        scope.supervise(tree(4, top));
                        pending::<Result<(), ()>>().await
                    })
                    .await
            });
            while alive.count() < ALL {
                task::yield_now().await;
            }
            if by_abort {
                task.abort();
                assert!(task.await.unwrap_err().is_cancelled());
            } else {
                token.cancel();
                assert_eq!(task.await.unwrap(), Err(Error::Cancelled));
            }
            while alive.count() > 0 {
                task::yield_now().await;
            }
        }
    });
}

#[test]
fn dropping_the_scope_aborts_its_children() {
    each_runtime(async || {
        let alive = Alive::default();
        let (token, body_token) = (alive.token(), alive.token());
        let started = Arc::new(Notify::new());
        let told = started.clone();
        let (handle_tx, handle_rx) = oneshot::channel();
        let mut scope = Box::pin(task::scope(|scope| async move {
            let _body = body_token;
            let child = scope.spawn(async move {
                let _token = token;
                told.notify_one();
                pending::<Result<(), ()>>().await
            });
            handle_tx.send(child).unwrap();
            pending::<Result<(), ()>>().await
        }));
        assert!(poll_once(scope.as_mut()).await.is_none());
        started.notified().await;
        drop(scope);
        // The body is gone at once; the child with its next, and last, turn on a worker.
        assert!(handle_rx.await.unwrap().await.unwrap_err().is_cancelled());
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn a_scope_that_was_never_polled_does_nothing() {
    let rt = Runtime::new().unwrap();
    rt.block_on(async {
        drop(task::scope(|_| async {
            unreachable!("never polled") as Result<(), ()>
        }));
    });
}

#[test]
fn a_shield_lets_a_child_finish() {
    each_runtime(async || {
        let finished = Arc::new(AtomicUsize::new(0));
        let done = finished.clone();
        let (started_tx, started_rx) = oneshot::channel();
        let (go_tx, go_rx) = oneshot::channel::<()>();
        let mut scope = pin!(task::scope(|scope| async move {
            scope.spawn(async move {
                task::shield(async move {
                    started_tx.send(()).unwrap();
                    go_rx.await.unwrap();
                    done.fetch_add(1, Ordering::SeqCst);
                })
                .await;
                Ok(())
            });
            started_rx.await.unwrap();
            Err::<(), _>("stop")
        }));
        // It waits for the shielded part.
        assert!(poll_once(scope.as_mut()).await.is_none());
        go_tx.send(()).unwrap();
        assert_eq!(scope.await, Err(Error::Failed("stop")));
        assert_eq!(finished.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn what_is_spawned_too_late_never_runs() {
    each_runtime(async || {
        let leaked = task::scope(|scope| async move { Ok::<_, ()>(scope) })
            .await
            .unwrap();
        let late = leaked.spawn(async { unreachable!("the scope is over") as Result<(), ()> });
        assert!(late.await.unwrap_err().is_cancelled());
        let late = leaked.supervise(async { unreachable!("the scope is over") });
        assert!(late.await.unwrap_err().is_cancelled());
        assert!(leaked.is_empty() && leaked.token().is_cancelled());
    });
}

#[test]
fn a_runtime_that_shuts_down_takes_scopes_along() {
    let alive = Alive::default();
    let rt = Runtime::new().unwrap();
    let (tx, rx) = oneshot::channel();
    let tokens = alive.clone();
    rt.spawn(task::scope(move |scope| async move {
        for _ in 0..20 {
            let token = tokens.token();
            scope.spawn(async move {
                let _token = token;
                pending::<Result<(), ()>>().await
            });
        }
        tx.send(()).unwrap();
        pending::<Result<(), ()>>().await
    }));
    rt.block_on(rx).unwrap();
    drop(rt);
    assert_eq!(alive.count(), 0);
}

/// Children that fail, are aborted and spawn more, all at once.
#[test]
fn racing_failures_leave_nobody_behind() {
    let rt = Builder::new_multi_thread()
        .worker_threads(4)
        .build()
        .unwrap();
    rt.block_on(async {
        for round in 0..200 {
            let alive = Alive::default();
            let tokens = alive.clone();
            let result = task::scope(|scope| async move {
                for n in 0..20 {
                    let (token, scope2, tokens) = (tokens.token(), scope.clone(), tokens.clone());
                    scope.spawn(async move {
                        let _token = token;
                        let token = tokens.token();
                        scope2.supervise(async move {
                            let _token = token;
                            pending::<()>().await;
                        });
                        match (n + round) % 7 {
                            0 => Err(n),
                            1 => pending().await,
                            _ => Ok(()),
                        }
                    });
                }
                pending::<Result<(), usize>>().await
            });
            assert!(matches!(result.await, Err(Error::Failed(n)) if (n + round) % 7 == 0));
            assert_eq!(alive.count(), 0);
        }
    });
}

/// A payload that panics when it is dropped, again and again.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            std::panic::panic_any(Bomb(self.0 - 1));
        }
    }
}

/// Panics with a bomb where it is dropped.
struct Explodes;

impl Drop for Explodes {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            std::panic::panic_any(Bomb(3));
        }
    }
}

/// A second failure, whose value panics when it is given up, ends the scope no earlier.
#[test]
fn waits_for_children_whatever_panics() {
    each_runtime(async || {
        for case in 0..4 {
            let alive = Alive::default();
            let tokens = alive.clone();
            let mut scope = pin!(task::scope(|scope| async move {
                for _ in 0..10 {
                    let token = tokens.token();
                    scope.supervise(async move {
                        let _token = token;
                        pending::<()>().await;
                    });
                }
                task::yield_now().await;
                let _explodes = (case == 0).then(|| Explodes);
                if case < 3 {
                    scope.cancel();
                }
                match case {
                    0 => pending::<Result<Explodes, Bomb>>().await,
                    1 => std::panic::panic_any(Bomb(3)),
                    2 => Err(Bomb(3)),
                    // The value is there when a child fails.
                    _ => {
                        scope.spawn::<_, ()>(async { std::panic::panic_any(Bomb(3)) });
                        Ok(Explodes)
                    }
                }
            }));
            let ended = std::future::poll_fn(|cx| {
                let polled = std::panic::catch_unwind(AssertUnwindSafe(|| scope.as_mut().poll(cx)));
                match polled {
                    Ok(polled) => polled.map(Ok),
                    Err(payload) => std::task::Poll::Ready(Err(payload)),
                }
            });
            let ended = ended.await;
            assert_eq!(alive.count(), 0, "case {case}");
            match ended {
                Ok(ended) => assert!(matches!(ended, Err(Error::Cancelled))),
                Err(payload) => {
                    assert_eq!(case, 3);
                    std::mem::forget(payload);
                }
            }
        }
    });
}

/// Somebody waits for the scope's token with a waker that panics.
#[test]
fn a_panicking_waker_of_the_token_keeps_nobody_alive() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a foreign waker");
        }
    }
    each_runtime(async || {
        let alive = Alive::default();
        let tokens = alive.clone();
        let waker = Arc::new(Panics).into();
        let result = task::scope(|scope| async move {
            let token = tokens.token();
            scope.supervise(async move {
                let _token = token;
                pending::<()>().await;
            });
            let foreign = scope.token().clone();
            let mut foreign = Box::pin(foreign.cancelled_owned());
            let mut cx = std::task::Context::from_waker(&waker);
            assert!(foreign.as_mut().poll(&mut cx).is_pending());
            // Where the panic goes is not the scope's affair.
            let _ = std::panic::catch_unwind(AssertUnwindSafe(|| scope.cancel()));
            pending::<Result<(), ()>>().await
        });
        assert_eq!(result.await, Err(Error::Cancelled));
        assert_eq!(alive.count(), 0);
    });
}

//! Coroutines that suspend, unwind or end where nobody expects it.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use tress::runtime::{Builder, EnterGuard, Handle, Runtime};
use tress::sync::{Notify, oneshot};
use tress::task::{self, LocalSet};
use tress::{coroutine, task_local};

pub fn workers(n: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(n)
        .enable_all()
        .build()
        .unwrap()
}

pub fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The message of a panic.
pub fn message(payload: &(dyn std::any::Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

/// A runtime that another thread drives until the result is dropped.
struct Elsewhere {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Elsewhere {
    fn new() -> Elsewhere {
        let rt = current();
        let handle = rt.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let drive = move || {
            let _ = rt.block_on(stopped);
        };
        Elsewhere {
            handle,
            stop: Some(stop),
            thread: Some(std::thread::spawn(drive)),
        }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// What a coroutine knows of where it is: its runtime, and the threads of a scope's children.
fn look_around() -> (tress::runtime::Id, bool) {
    let here = std::thread::current().id();
    let mut same = true;
    for _ in 0..3 {
        coroutine::scope(|scope| {
            let child = scope.spawn(|| {
                coroutine::yield_now();
                std::thread::current().id()
            });
            same &= child.join().unwrap() == here;
        });
    }
    (Handle::current().id(), same)
}

#[test]
fn another_runtime_is_entered_where_it_starts() {
    let rt = current();
    let other = Elsewhere::new();
    rt.block_on(async {
        let own = Handle::current();
        let entered = other.handle.enter();
        let coroutine = coroutine::Builder::new().spawn_on(look_around, &own);
        task::yield_now().await;
        drop(entered);
        assert_eq!(coroutine.await.unwrap(), (own.id(), true));
    });
}

#[test]
fn a_task_has_left_another_runtime_entered_on_its_worker() {
    let rt = workers(1);
    let other = Elsewhere::new();
    let (own, foreign) = (rt.handle().clone(), other.handle.clone());
    rt.block_on(async {
        own.spawn(async move { std::mem::forget(foreign.enter()) })
            .await
            .unwrap();
        let coroutine = coroutine::Builder::new().spawn_on(look_around, &own);
        assert_eq!(coroutine.await.unwrap(), (own.id(), true));
    });
    // The worker ends as if the guard had not been.
    drop(rt);
}

#[test]
fn a_runtime_that_was_entered_goes_while_a_coroutine_waits() {
    let rt = current();
    rt.block_on(async {
        let own = Handle::current();
        let go = Arc::new(Notify::new());
        let waits = {
            let gone = current();
            let entered = gone.enter();
            let go = go.clone();
            let waits = coroutine::Builder::new().spawn_on(
                move || {
                    coroutine::wait(go.notified());
                    coroutine::wait(tress::spawn(async { Handle::current().id() })).unwrap()
                },
                &own,
            );
            task::yield_now().await;
            drop(entered);
            gone.shutdown_background();
            waits
        };
        go.notify_one();
        assert_eq!(waits.await.unwrap(), own.id());
    });
}

#[test]
fn a_local_set_that_was_entered_goes_while_a_coroutine_waits() {
    let rt = current();
    rt.block_on(async {
        let own = Handle::current();
        let go = Arc::new(Notify::new());
        let set = LocalSet::new();
        let entered = set.enter();
        let other = go.clone();
        let waits = coroutine::Builder::new().spawn_on(
            move || {
                let in_set = || catch_unwind(|| drop(task::spawn_local(async {}))).is_ok();
                let before = in_set();
                coroutine::wait(other.notified());
                (before, in_set())
            },
            &own,
        );
        task::yield_now().await;
        drop(entered);
        drop(set);
        go.notify_one();
        // It is no task of the set's, whoever has entered that.
        assert_eq!(waits.await.unwrap(), (false, false));
    });
}

thread_local! {
    static KEPT: RefCell<Vec<EnterGuard<'static>>> = const { RefCell::new(Vec::new()) };
}

/// Enters by a handle that lives long enough.
fn enter(handle: &Handle) -> EnterGuard<'static> {
    let handle: &'static Handle = Box::leak(Box::new(handle.clone()));
    handle.enter()
}

fn entered() -> EnterGuard<'static> {
    let rt = current();
    let entered = enter(rt.handle());
    rt.shutdown_background();
    entered
}

/// Guards change hands between a coroutine and its thread, in both directions, where both have as many.
#[test]
fn guards_are_dropped_on_another_stack() {
    let rt = current();
    let own = rt.handle().id();
    rt.block_on(async {
        let swap = |kept: Option<EnterGuard<'static>>| {
            let taken = KEPT.with_borrow_mut(Vec::pop);
            KEPT.with_borrow_mut(|all| all.extend(kept));
            taken
        };
        // From the coroutine to the thread.
        let lends = coroutine::spawn(move || {
            swap(Some(entered()));
            coroutine::yield_now();
            Handle::current().id()
        });
        task::yield_now().await;
        let mine = entered();
        let theirs = swap(None).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| drop(theirs))).is_err());
        drop(mine);
        assert_eq!(Handle::current().id(), own);
        assert_ne!(lends.await.unwrap(), own);
        // From the thread to a coroutine, which has one of its own or none.
        for nested in [false, true] {
            let mine = entered();
            swap(Some(mine));
            let takes = coroutine::Builder::new().spawn_on(
                move || {
                    let before = Handle::current().id();
                    let _own = nested.then(|| enter(&Handle::current()));
                    let refused = catch_unwind(|| drop(swap(None).unwrap())).is_err();
                    coroutine::yield_now();
                    refused && before == Handle::current().id()
                },
                rt.handle(),
            );
            assert!(takes.await.unwrap());
        }
    });
    // Whoever drives leaves its runtime all the same.
    assert!(Handle::try_current().is_err());
}

task_local! {
    static USER: u32;
    static REQUEST: u32;
}

fn user() -> Option<u32> {
    USER.try_get().ok()
}

#[test]
fn a_task_local_value_waits_with_its_coroutine() {
    for rt in [current(), workers(1)] {
        rt.block_on(async {
            let go = |id: u32| {
                coroutine::spawn(move || {
                    let mut seen = vec![user()];
                    USER.sync_scope(id, || {
                        coroutine::yield_now();
                        seen.push(user());
                        USER.sync_scope(id + 1, || {
                            REQUEST.sync_scope(id + 2, || {
                                for _ in 0..3 {
                                    coroutine::yield_now();
                                    seen.push(user());
                                    seen.push(REQUEST.try_get().ok());
                                }
                            });
                            coroutine::wait(USER.scope(id + 3, async {
                                task::yield_now().await;
                                seen.push(user());
                            }));
                            coroutine::yield_now();
                            seen.push(user());
                        });
                        coroutine::yield_now();
                        seen.push(user());
                    });
                    coroutine::yield_now();
                    seen.push(user());
                    let expected = [0, id, id + 1, id + 2, id + 1, id + 2, id + 1, id + 2];
                    let more = [id + 3, id + 1, id, 0];
                    let all = expected.into_iter().chain(more);
                    assert_eq!(
                        seen,
                        all.map(|n| Some(n).filter(|n| *n > 0)).collect::<Vec<_>>()
                    );
                })
            };
            let other = tress::spawn(async {
                for _ in 0..20 {
                    assert_eq!((user(), REQUEST.try_get().ok()), (None, None));
                    task::yield_now().await;
                    USER.scope(9, async {
                        task::yield_now().await;
                        assert_eq!(user(), Some(9));
                    })
                    .await;
                }
            });
            for coroutine in [go(100), go(200), go(300)] {
                coroutine.await.unwrap();
            }
            other.await.unwrap();
        });
    }
}

#[test]
fn a_task_local_value_is_there_while_its_coroutine_unwinds() {
    struct Look(Arc<Mutex<Vec<Option<u32>>>>);
    impl Drop for Look {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(user());
        }
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let rt = current();
    let looks = seen.clone();
    rt.block_on(async {
        let cancelled = coroutine::spawn(move || {
            let _outside = Look(looks.clone());
            USER.sync_scope(1, || {
                let _outer = Look(looks.clone());
                USER.sync_scope(2, || {
                    let _inner = Look(looks.clone());
                    coroutine::wait(std::future::pending::<()>());
                });
            });
        });
        task::yield_now().await;
        assert_eq!(user(), None);
        cancelled.abort();
        assert!(cancelled.await.unwrap_err().is_cancelled());
        assert_eq!(user(), None);
    });
    assert_eq!(*seen.lock().unwrap(), [Some(2), Some(1), None]);
}

/// Its thread borrows the place when the coroutine is to go on.
#[test]
fn a_task_local_value_that_cannot_be_put_back_is_a_panic() {
    let rt = current();
    let go = Arc::new(Notify::new());
    let other = go.clone();
    let waits = rt.spawn(async move {
        coroutine::spawn(move || USER.sync_scope(1, || coroutine::wait(other.notified()))).await
    });
    rt.block_on(async {
        for _ in 0..5 {
            task::yield_now().await;
        }
    });
    let ended = USER.sync_scope(7, || {
        USER.with(|_| {
            go.notify_one();
            rt.block_on(waits).unwrap()
        })
    });
    let payload = ended.unwrap_err().into_panic();
    assert!(
        message(&*payload).contains("sync_scope"),
        "{}",
        message(&*payload)
    );
    assert_eq!(user(), None);
}

/// Every way to suspend, and every place where that would leave something half-way.
#[test]
fn suspending_in_the_middle_of_something_is_refused() {
    fn ways() -> [(&'static str, fn()); 7] {
        [
            ("coroutine::wait", || coroutine::wait(async {})),
            ("coroutine::yield_now", coroutine::yield_now),
            ("coroutine::sleep", || {
                coroutine::sleep(std::time::Duration::ZERO)
            }),
            ("coroutine::park", coroutine::park),
            ("coroutine::park_timeout", || {
                coroutine::park_timeout(std::time::Duration::ZERO);
            }),
            ("coroutine::scope", || coroutine::scope(|_| ())),
            ("coroutine::wait", || {
                coroutine::shield(|| coroutine::wait(std::future::pending::<()>()));
            }),
        ]
    }
    fn refused(instead: &str) {
        assert!(!coroutine::is_current());
        for (name, way) in ways() {
            let payload = catch_unwind(way).unwrap_err();
            let message = message(&*payload);
            assert!(
                message.starts_with(name) && message.contains(instead),
                "{message}"
            );
        }
    }
    for rt in [current(), workers(1)] {
        let multi = rt.handle().runtime_flavor() == tress::runtime::RuntimeFlavor::MultiThread;
        rt.block_on(async {
            let tried = coroutine::spawn(move || {
                let handle = Handle::current();
                coroutine::wait(async {
                    refused(".await");
                    task::yield_now().await;
                    refused(".await");
                });
                let set = LocalSet::new();
                coroutine::wait(set.run_until(async { refused(".await") }));
                // Polled by hand.
                let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                let mut in_set = std::pin::pin!(set.run_until(async { refused(".await") }));
                assert!(Future::poll(in_set.as_mut(), &mut cx).is_ready());
                USER.sync_scope(1, || USER.with(|_| refused("LocalKey::with")));
                if multi {
                    task::block_in_place(|| {
                        refused("block_in_place");
                        handle.block_on(async { refused("block_on") });
                        current().block_on(async { refused("block_on") });
                        let nested = current();
                        let set = LocalSet::new();
                        set.block_on(&nested, async { refused(".await") });
                        nested.block_on(async {
                            // Another task altogether, on the coroutine's stack.
                            let task = tress::spawn(async {
                                assert!(!coroutine::is_current());
                                assert!(catch_unwind(coroutine::yield_now).is_err());
                                assert!(catch_unwind(coroutine::current).is_err());
                            });
                            task.await.unwrap();
                            // And a coroutine there, which may.
                            coroutine::spawn(coroutine::yield_now).await.unwrap();
                        });
                    });
                }
                // Nothing of it remains.
                assert!(coroutine::is_current());
                coroutine::yield_now();
                7
            });
            assert_eq!(tried.await.unwrap(), 7);
        });
    }
}

/// A wait in a destructor, while the future around it is polled or dropped and the coroutine unwinds.
#[test]
fn a_cancelled_coroutine_meets_its_end_at_every_wait() {
    let rt = current();
    rt.block_on(async {
        let ends = Arc::new(Mutex::new(0));
        let counted = ends.clone();
        let cancelled = coroutine::spawn(move || {
            let meets = || {
                let met = catch_unwind(AssertUnwindSafe(coroutine::yield_now));
                *counted.lock().unwrap() += usize::from(met.is_err());
            };
            let waited = catch_unwind(|| coroutine::wait(std::future::pending::<()>()));
            assert!(waited.is_err());
            meets();
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            let set = LocalSet::new();
            let mut polled = std::pin::pin!(set.run_until(async { meets() }));
            let _ = Future::poll(polled.as_mut(), &mut cx);
            USER.sync_scope(1, || USER.with(|_| meets()));
        });
        task::yield_now().await;
        cancelled.abort();
        let _ = cancelled.await;
        assert_eq!(*ends.lock().unwrap(), 3);
    });
}

/// The longest times and the smallest and largest stacks that can be asked for.
#[test]
fn extremes_are_taken_for_what_they_are() {
    use std::time::Duration;
    for rt in [current(), workers(1)] {
        rt.block_on(async {
            let limited = coroutine::spawn(|| {
                coroutine::timeout(Duration::MAX, || {
                    coroutine::yield_now();
                    coroutine::timeout(Duration::ZERO, || coroutine::sleep(Duration::MAX)).is_err()
                })
            });
            assert_eq!(limited.await.unwrap(), Ok(true));
            let started = Arc::new(Notify::new());
            let waits: [fn(); 2] = [
                || coroutine::sleep(Duration::MAX),
                || assert!(!coroutine::park_timeout(Duration::MAX)),
            ];
            for wait in waits {
                let tell = started.clone();
                let waits = coroutine::spawn(move || {
                    tell.notify_one();
                    wait();
                });
                started.notified().await;
                waits.abort();
                assert!(waits.await.unwrap_err().is_cancelled());
            }
            let least = coroutine::Builder::new().stack_size(0);
            // Not a call of anything large fits on it.
            assert_eq!(least.spawn(|| 1).await.unwrap(), 1);
            let most = coroutine::Builder::new().stack_size(usize::MAX);
            let error = most.spawn(|| 1).await.unwrap_err();
            assert!(message(&*error.into_panic()).contains("no stack"));
        });
    }
}

/// A closure of the blocking pool leaves a runtime entered on its thread, which serves others after that.
#[test]
fn a_blocking_closure_has_left_a_runtime_entered() {
    let rt = Builder::new_current_thread()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let other = current();
    let handle = other.handle().clone();
    let inside = || Handle::current().id();
    rt.block_on(async {
        let entered = task::spawn_blocking(move || std::mem::forget(handle.enter()));
        entered.await.unwrap();
        let next = task::spawn_blocking(inside).await.unwrap();
        assert_eq!(next, Handle::current().id());
    });
}

/// Coroutines that cannot unwind, since their runtime is dropped by a thread that never ran it, keep wakers of their
/// tasks and timers for ever. The runtime's descriptors are closed all the same. In a process of its own, which
/// counts them.
#[cfg(all(feature = "net", target_os = "linux"))]
#[test]
fn descriptors_of_a_runtime_that_is_dropped_elsewhere() {
    if crate::child::case().is_none() {
        return;
    }
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let waits: [fn(); 4] = [
        || loop {
            coroutine::yield_now();
        },
        || coroutine::sleep(std::time::Duration::MAX),
        || coroutine::wait(Notify::new().notified()),
        || {
            let here = Handle::current();
            let _inside = here.enter();
            coroutine::wait(task::spawn(std::future::pending::<()>())).unwrap();
        },
    ];
    let before = count();
    for wait in waits {
        let rt = current();
        rt.block_on(async {
            // The runtime has a driver from now on.
            let listener = tress::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut accept = Box::pin(listener.accept());
            assert!(tress::future::poll_once(accept.as_mut()).await.is_none());
            drop(coroutine::spawn(wait));
            // It starts, and waits.
            for _ in 0..3 {
                task::yield_now().await;
            }
        });
        let open = count();
        let handle = rt.handle().clone();
        std::thread::spawn(move || drop(rt)).join().unwrap();
        assert!(open > before);
        assert_eq!(count(), before);
        // What the driver has done is remembered.
        assert!(handle.metrics().io().turns > 0);
    }
}

#[cfg(all(feature = "net", target_os = "linux"))]
#[test]
fn a_runtime_that_is_dropped_elsewhere_closes_its_descriptors() {
    crate::child::passes(
        "coroutines::descriptors_of_a_runtime_that_is_dropped_elsewhere",
        "count",
    );
}

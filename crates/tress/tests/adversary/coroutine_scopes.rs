//! Scopes of coroutines, whose children borrow: nothing may go on after them.

#[cfg(target_os = "linux")]
use crate::child;
#[cfg(target_os = "linux")]
use crate::coroutines::message;
use crate::coroutines::{current, workers};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tress::runtime::Builder;
use tress::sync::Notify;
use tress::{coroutine, task};

/// A payload that panics when it is dropped, again and again.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Bomb(self.0 - 1));
        }
    }
}

/// However its children and body panic, a scope is over only when all of them are.
#[test]
fn a_scope_outlives_its_children_whatever_panics() {
    for rt in [current(), workers(1)] {
        rt.block_on(async {
            for depth in 0..4 {
                for cancel in [false, true] {
                    let alive = Arc::new(Mutex::new((0, false)));
                    let (seen, ready) = (alive.clone(), Arc::new(Notify::new()));
                    let tell = ready.clone();
                    let parent = coroutine::spawn(move || explode(depth, cancel, &seen, &tell));
                    ready.notified().await;
                    if cancel {
                        parent.abort();
                    }
                    match parent.await {
                        Ok(()) => {}
                        Err(error) if error.is_panic() => std::mem::forget(error.into_panic()),
                        Err(error) => assert!(cancel, "{error}"),
                    }
                    assert_eq!(*alive.lock().unwrap(), (0, true));
                }
            }
        });
    }
}

/// Counts while it lives, and panics with a bomb when it goes.
struct Alive<'a>(&'a Mutex<(i32, bool)>, u32);

impl<'a> Alive<'a> {
    fn new(count: &'a Mutex<(i32, bool)>, depth: u32) -> Alive<'a> {
        count.lock().unwrap().0 += 1;
        Alive(count, depth)
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).0 -= 1;
        if self.1 > 0 && !std::thread::panicking() {
            panic_any(Bomb(self.1));
        }
    }
}

fn explode(depth: u32, cancel: bool, alive: &Mutex<(i32, bool)>, ready: &Notify) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        coroutine::scope(|scope| {
            let waits = || {
                let _ = catch_unwind(|| coroutine::wait(std::future::pending::<()>()));
            };
            scope.spawn(|| {
                let _alive = Alive::new(alive, 0);
                coroutine::wait(std::future::pending::<()>());
            });
            for _ in 0..3 {
                // It panics when it is made to unwind, instead of unwinding.
                scope.spawn(move || {
                    let _alive = Alive::new(alive, 0);
                    waits();
                    panic_any(Bomb(depth));
                });
                // Its result does, which nobody takes, or a handle is dropped with.
                scope.spawn(move || Alive::new(alive, depth));
                let kept = scope.spawn(move || Alive::new(alive, depth));
                let failed = scope.spawn(move || {
                    let _alive = Alive::new(alive, 0);
                    panic_any(Bomb(depth));
                });
                coroutine::yield_now();
                coroutine::yield_now();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(kept))).map_err(std::mem::forget);
                drop(failed);
                // Its closure does, which has not started when the scope ends.
                let unstarted = Alive::new(alive, depth);
                scope.spawn(move || {
                    let _unstarted = &unstarted;
                    waits();
                });
            }
            ready.notify_one();
            if cancel {
                coroutine::wait(std::future::pending::<()>());
            }
            panic_any(Bomb(depth));
        })
    }));
    let over = alive.lock().unwrap().0;
    *alive.lock().unwrap() = (over, over == 0);
    // A bomb goes off in whoever drops it.
    result.map_err(std::mem::forget).unwrap_or(());
}

/// A child that is spawned and not run yet when its runtime is driven by another thread: its closure is not
/// `Send`.
#[test]
fn a_scopes_child_does_not_start_on_another_thread() {
    struct Runs(std::thread::ThreadId, Rc<Cell<u32>>, Arc<Mutex<u32>>);
    impl Drop for Runs {
        fn drop(&mut self) {
            assert_eq!(self.0, std::thread::current().id());
            *self.2.lock().unwrap() += 1;
        }
    }
    // The main future ends before the child is polled.
    let mut builder = Builder::new_current_thread();
    let rt = builder.enable_all().event_interval(1).build().unwrap();
    let wrong = Arc::new(Mutex::new(0));
    let (count, spawned) = (wrong.clone(), Arc::new(Notify::new()));
    let tell = spawned.clone();
    let mut parent = None;
    rt.block_on(async {
        parent = Some(coroutine::spawn(move || {
            let not_send = Rc::new(Cell::new(0));
            coroutine::scope(|scope| {
                let here = std::thread::current().id();
                let value = Runs(here, not_send.clone(), count);
                tell.notify_one();
                scope.spawn(move || {
                    let value = value;
                    value.1.set(value.1.get() + 1);
                    *value.2.lock().unwrap() += 1;
                });
            });
        }));
        spawned.notified().await;
    });
    let parent = parent.unwrap();
    let ended = std::thread::spawn(move || {
        let ended = rt.block_on(async {
            for _ in 0..10 {
                task::yield_now().await;
            }
            parent.abort();
            parent.await
        });
        drop(rt);
        ended
    });
    assert!(ended.join().unwrap().is_err());
    // It was not run and not dropped: that would have been on the wrong thread.
    assert_eq!(*wrong.lock().unwrap(), 0);
}

/// In a process of its own: it changes the limits.
#[test]
#[cfg(target_os = "linux")]
fn scopes_children_without_stacks() {
    for case in ["left 200", "spawned 200", "one 12"] {
        child::passes("coroutine_scopes::without_stacks", case);
    }
    // However much the last stack leaves of the address space, the heap has enough to tell of the failures.
    for room in [200, 203, 250, 297, 300] {
        child::passes(
            "coroutine_scopes::without_stacks",
            &format!("joined {room}"),
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn without_stacks() {
    let Some(case) = child::case() else { return };
    let (case, room) = case.split_once(' ').expect("a case and MiB of room");
    let room: u64 = room.parse().unwrap();
    // One for each coroutine that gets none is more than the parent reads.
    std::panic::set_hook(Box::new(|_| {}));
    let rt = current();
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    // Stacks of the usual size are mapped 64 at a time, 16 MiB; for one there is room also where there is not as much.
    let limit = libc::rlimit {
        rlim_cur: pages * 4096 + (room << 20),
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: a limit of this process.
    let limited = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(limited, 0);
    const MANY: usize = 3000;
    if case == "one" {
        let one = rt.block_on(async { coroutine::spawn(|| 1).await });
        assert_eq!(one.unwrap(), 1);
        return;
    }
    if case == "spawned" {
        rt.block_on(async {
            let dropped = Arc::new(());
            let all: Vec<_> = (0..MANY)
                .map(|_| {
                    let dropped = dropped.clone();
                    coroutine::spawn(move || {
                        let _dropped = dropped;
                        coroutine::yield_now();
                    })
                })
                .collect();
            let mut failed = 0;
            for one in all {
                if let Err(error) = one.await {
                    assert!(message(&*error.into_panic()).contains("no stack"));
                    failed += 1;
                }
            }
            assert!((1..MANY).contains(&failed));
            assert_eq!(Arc::strong_count(&dropped), 1);
        });
        return;
    }
    let joined = case == "joined";
    let parent = rt.spawn(async move {
        coroutine::spawn(move || {
            let (ran, dropped) = (Cell::new(0), Rc::new(()));
            let mut failed = 0;
            let over = catch_unwind(AssertUnwindSafe(|| {
                coroutine::scope(|scope| {
                    let all: Vec<_> = (0..MANY)
                        .map(|_| {
                            let (ran, dropped) = (&ran, dropped.clone());
                            scope.spawn(move || {
                                let _dropped = dropped;
                                coroutine::yield_now();
                                ran.set(ran.get() + 1);
                            })
                        })
                        .collect();
                    if joined {
                        for child in all {
                            if let Err(payload) = child.join() {
                                assert!(message(&*payload).contains("no stack"));
                                failed += 1;
                            }
                        }
                    }
                });
            }));
            assert_eq!(Rc::strong_count(&dropped), 1);
            assert!((1..MANY).contains(&ran.get()));
            match over {
                Ok(()) => assert_eq!(ran.get() + failed, MANY),
                Err(payload) => {
                    assert!(!joined && message(&*payload).contains("no stack"));
                }
            }
            joined == (failed > 0)
        })
        .await
    });
    assert!(rt.block_on(parent).unwrap().unwrap());
}

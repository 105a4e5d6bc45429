//! A runtime that stays on its thread: its tasks need not be `Send`, and are polled and dropped there.

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc;
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;
use tress::runtime::{Builder, LocalOptions, LocalRuntime, RuntimeFlavor, worker_index};
use tress::task::{LocalSet, block_in_place, spawn_blocking, spawn_local, yield_now};
use tress::time::{Instant, sleep};

fn runtime() -> LocalRuntime {
    LocalRuntime::new().unwrap()
}

/// Lives on one thread: dropped on another, the process ends.
struct Here {
    thread: ThreadId,
    dropped: Rc<RefCell<Vec<&'static str>>>,
    name: &'static str,
}

impl Here {
    fn new(dropped: &Rc<RefCell<Vec<&'static str>>>, name: &'static str) -> Here {
        Here {
            thread: thread::current().id(),
            dropped: dropped.clone(),
            name,
        }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        if self.thread != thread::current().id() {
            eprintln!("{} was dropped on the wrong thread", self.name);
            std::process::abort();
        }
        self.dropped.borrow_mut().push(self.name);
    }
}

fn panic_text(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast_ref::<&str>().unwrap()).to_owned(),
    }
}

#[test]
fn spawn_local_works_in_block_on_and_in_tasks() {
    let rt = runtime();
    let home = thread::current().id();
    let value = Rc::new(Cell::new(0));
    let inside = value.clone();
    let sum = rt.block_on(async move {
        let task = spawn_local(async move {
            assert_eq!(thread::current().id(), home);
            let nested = inside.clone();
            let nested = spawn_local(async move {
                yield_now().await;
                sleep(Duration::from_millis(1)).await;
                nested.set(nested.get() + 1);
                nested
            });
            nested.await.unwrap();
            // From a task that is `Send`, too: it is on the same thread.
            let task = tress::spawn(async {
                let rc = Rc::new(5);
                spawn_local(async move { *rc }).await.unwrap()
            });
            inside.get() + task.await.unwrap()
        });
        task.await.unwrap()
    });
    assert_eq!((sum, value.get()), (6, 1));
}

#[test]
fn spawned_before_it_is_driven() {
    let rt = runtime();
    let order = Rc::new(RefCell::new(Vec::new()));
    let spawn = |name| {
        let order = order.clone();
        async move {
            yield_now().await;
            order.borrow_mut().push(name);
        }
    };
    let one = rt.spawn_local(spawn("object"));
    let two = {
        let _guard = rt.enter();
        spawn_local(spawn("guard"))
    };
    let three = rt.handle().spawn(async { "handle" });
    assert!(!one.is_finished() && !two.is_finished() && !three.is_finished());
    rt.block_on(async {
        one.await.unwrap();
        two.await.unwrap();
        assert_eq!(three.await.unwrap(), "handle");
    });
    // Both yield in one round, after which the last one is woken first.
    assert_eq!(*order.borrow(), ["guard", "object"]);
}

#[test]
fn other_threads_spawn_what_is_send() {
    let rt = runtime();
    let home = thread::current().id();
    let handle = rt.handle().clone();
    let (tell, told) = mpsc::channel();
    let other = thread::spawn(move || {
        let task = handle.spawn(async move { thread::current().id() == home });
        let guard = handle.enter();
        tell.send(tress::spawn(async move { thread::current().id() == home }))
            .unwrap();
        drop(guard);
        // It waits here while the runtime is driven over there.
        handle.block_on(task).unwrap()
    });
    rt.block_on(async {
        assert!(told.recv().unwrap().await.unwrap());
        while !other.is_finished() {
            yield_now().await;
        }
    });
    assert!(other.join().unwrap());
}

#[test]
fn other_threads_cannot_spawn_what_is_not() {
    let rt = runtime();
    let handle = rt.handle().clone();
    let text = thread::spawn(move || {
        let _guard = handle.enter();
        panic_text(|| drop(spawn_local(async {})))
    })
    .join()
    .unwrap();
    assert!(text.contains("from this one use `Handle::spawn`"), "{text}");
}

/// The thread's number is not given to the next one.
#[test]
fn a_thread_that_ended_is_nobodys_home() {
    let rt = thread::spawn(|| runtime().handle().clone());
    let rt = rt.join().unwrap();
    for _ in 0..10 {
        let handle = rt.clone();
        let spawned = thread::spawn(move || {
            let _guard = handle.enter();
            spawn_local(async {});
        });
        assert!(spawned.join().is_err());
    }
}

#[test]
fn plain_runtimes_have_no_place_for_local_tasks() {
    let builds = [
        Builder::new_current_thread().build().unwrap(),
        Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap(),
    ];
    for rt in builds {
        let text = panic_text(|| rt.block_on(async { drop(spawn_local(async {})) }));
        assert!(text.contains("from inside `LocalSet::run_until`"), "{text}");
    }
}

#[test]
fn remote_wakes_are_not_lost() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 5_000 };
    let (tell, told) = mpsc::channel::<Waker>();
    let wakes = thread::spawn(move || told.into_iter().for_each(Waker::wake));
    let rt = runtime();
    let rounds = Rc::new(Cell::new(0));
    let inside = rounds.clone();
    rt.block_on(async move {
        spawn_local(async move {
            for _ in 0..ROUNDS {
                let mut asked = false;
                poll_fn(|cx| {
                    if std::mem::replace(&mut asked, true) {
                        return Poll::Ready(());
                    }
                    tell.send(cx.waker().clone()).unwrap();
                    Poll::Pending
                })
                .await;
                inside.set(inside.get() + 1);
            }
        })
        .await
        .unwrap();
    });
    assert_eq!(rounds.get(), ROUNDS);
    wakes.join().unwrap();
}

#[test]
fn panics_and_aborts_end_in_the_handle() {
    let rt = runtime();
    let dropped = Rc::default();
    rt.block_on(async {
        let here = Here::new(&dropped, "panicked");
        let task = spawn_local(async move {
            let _here = here;
            panic!("local");
        });
        assert!(task.await.unwrap_err().is_panic());
        let here = Here::new(&dropped, "aborted");
        let task = spawn_local(async move {
            let _here = here;
            pending::<()>().await;
        });
        yield_now().await;
        let abort = task.abort_handle();
        thread::spawn(move || abort.abort()).join().unwrap();
        assert!(task.await.unwrap_err().is_cancelled());
    });
    assert_eq!(*dropped.borrow(), ["panicked", "aborted"]);
}

/// However it ends, tasks are dropped at home, once: those that wait, those that are queued, those
/// that never started, and those that come too late.
#[test]
fn every_end_drops_the_tasks_at_home() {
    let ends: [fn(LocalRuntime); 3] = [
        drop,
        |rt| assert!(rt.shutdown_timeout(Duration::from_secs(60)).is_clean()),
        LocalRuntime::shutdown_background,
    ];
    for end in ends {
        let rt = runtime();
        let dropped = Rc::default();
        let task = |name| {
            let here = Here::new(&dropped, name);
            async move {
                let _here = here;
                pending::<()>().await;
            }
        };
        let (waits, queued) = (
            rt.spawn_local(task("waits")),
            rt.spawn_local(task("queued")),
        );
        let waker = rt.block_on(async {
            yield_now().await;
            let (tell, told) = mpsc::channel();
            let here = Here::new(&dropped, "woken");
            spawn_local(async move {
                let _here = here;
                poll_fn(|cx| {
                    let _ = tell.send(cx.waker().clone());
                    Poll::<()>::Pending
                })
                .await;
            });
            yield_now().await;
            told.recv().unwrap()
        });
        waker.wake_by_ref();
        let fresh = rt.spawn_local(task("fresh"));
        let handle = rt.handle().clone();
        assert!(dropped.borrow().is_empty());
        end(rt);
        dropped.borrow_mut().sort();
        assert_eq!(*dropped.borrow(), ["fresh", "queued", "waits", "woken"]);
        let _guard = handle.enter();
        let late = spawn_local(task("late"));
        assert!(late.is_finished());
        assert_eq!(dropped.borrow().last(), Some(&"late"));
        thread::spawn(move || waker.wake()).join().unwrap();
        for task in [waits, queued, fresh, late] {
            assert!(task.is_finished());
        }
    }
}

/// The runtime is the current one while its tasks are dropped.
#[test]
fn destructors_are_in_the_context() {
    struct Spawns(Rc<Cell<bool>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let rc = Rc::new(());
            self.0
                .set(spawn_local(async move { drop(rc) }).is_finished());
        }
    }
    let rt = runtime();
    let refused = Rc::new(Cell::new(false));
    let spawns = Spawns(refused.clone());
    rt.spawn_local(async move {
        let _spawns = spawns;
        pending::<()>().await;
    });
    rt.block_on(yield_now());
    drop(rt);
    assert!(refused.get());
}

#[test]
fn shutdown_waits_for_blocking_closures_no_longer_than_told() {
    let rt = runtime();
    let (tell, told) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    rt.spawn_blocking(move || {
        tell.send(()).unwrap();
        let _ = gone.recv();
    });
    told.recv().unwrap();
    assert_eq!(rt.shutdown_timeout(Duration::ZERO).blocking, 1);
    drop(go);
}

#[test]
fn a_local_set_goes_first() {
    let rt = runtime();
    let local = LocalSet::new();
    let dropped = Rc::default();
    let here = Here::new(&dropped, "of the set");
    rt.block_on(local.run_until(async {
        spawn_local(async move {
            let _here = here;
            pending::<()>().await;
        });
        yield_now().await;
    }));
    drop(local);
    assert_eq!(*dropped.borrow(), ["of the set"]);
}

#[test]
fn it_is_a_current_thread_runtime() {
    let rt = runtime();
    assert_eq!(rt.handle().runtime_flavor(), RuntimeFlavor::CurrentThread);
    assert_eq!(worker_index(), None);
    rt.block_on(async {
        assert_eq!(worker_index(), Some(0));
        assert_eq!(
            spawn_local(async { worker_index() }).await.unwrap(),
            Some(0)
        );
        assert_eq!(spawn_blocking(worker_index).await.unwrap(), None);
    });
    let text = panic_text(|| rt.block_on(async { block_in_place(|| ()) }));
    assert!(text.contains("block_in_place"), "{text}");
    let text = panic_text(|| rt.block_on(async { rt.block_on(async {}) }));
    assert!(text.contains("block_on"), "{text}");
    assert_eq!(rt.metrics().num_workers(), 1);
}

#[test]
fn the_builders_options_apply() {
    let mut builder = Builder::new_current_thread();
    let rt = builder
        .enable_time()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .unwrap();
    rt.block_on(async {
        let start = Instant::now();
        sleep(Duration::from_secs(3600)).await;
        assert!(start.elapsed() >= Duration::from_secs(3600));
    });
    let error = Builder::new_multi_thread()
        .build_local(LocalOptions::default())
        .unwrap_err();
    assert!(error.to_string().contains("new_current_thread"), "{error}");
}

/// `block_on` again and again, and something that is left over from one runs in the next.
#[test]
#[allow(
    clippy::async_yields_async,
    reason = "the handle is to outlive the first block_on"
)]
fn block_on_repeats() {
    let rt = runtime();
    let done = Rc::new(Cell::new(0));
    for i in 0..10 {
        assert_eq!(done.get(), i);
        let inside = done.clone();
        let task = rt.block_on(async move {
            spawn_local(async move {
                yield_now().await;
                inside.set(inside.get() + 1);
            })
        });
        assert!(!task.is_finished());
        rt.block_on(task).unwrap();
    }
}

#[test]
fn two_on_one_thread() {
    let (one, two) = (runtime(), runtime());
    let name = |rt: &LocalRuntime| rt.handle().id();
    let (a, b) = (name(&one), name(&two));
    let here = || tress::runtime::Handle::current().id();
    let (in_one, in_two) = {
        let _outer = one.enter();
        let in_two = {
            let _inner = two.enter();
            spawn_local(async move { here() })
        };
        (spawn_local(async move { here() }), in_two)
    };
    assert_eq!(two.block_on(in_two).unwrap(), b);
    assert_eq!(one.block_on(in_one).unwrap(), a);
}

#[test]
fn outputs_are_dropped_at_home() {
    let rt = runtime();
    let dropped = Rc::default();
    let output = Here::new(&dropped, "detached");
    drop(rt.spawn_local(async move { output }));
    let output = Here::new(&dropped, "unclaimed");
    let unclaimed = rt.spawn_local(async move { output });
    rt.block_on(yield_now());
    assert_eq!(*dropped.borrow(), ["detached"]);
    drop(rt);
    drop(unclaimed);
    assert_eq!(*dropped.borrow(), ["detached", "unclaimed"]);
}

#[test]
fn auto_traits() {
    fn unpin<T: Unpin>(_: &T) {}
    unpin(&runtime());
    unpin(&LocalOptions::default());
    assert!(format!("{:?} {:?}", runtime(), LocalOptions::default()).contains("CurrentThread"));
}

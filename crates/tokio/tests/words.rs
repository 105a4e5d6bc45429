//! Panics say what programs written for Tokio look for, and name the caller's line.

use std::any::Any;
use std::future::pending;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, LocalRuntime, Runtime};
use tokio::sync::{RwLock, Semaphore, mpsc};
use tokio::task::{JoinSet, LocalSet, block_in_place, spawn_local};
use tokio::time::{interval, sleep, timeout};

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

fn text(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().unwrap()).to_owned(),
    }
}

/// The payload of a panic of `f`, and the file it blames.
fn panic_of<R>(f: impl FnOnce() -> R) -> (Box<dyn Any + Send>, String) {
    // The hook is the process's: one panic at a time.
    static ONE: Mutex<()> = Mutex::new(());
    static BLAMED: Mutex<String> = Mutex::new(String::new());
    let _one = ONE.lock().unwrap();
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|info| {
        *BLAMED.lock().unwrap() = info.location().unwrap().file().to_owned();
    }));
    let result = catch_unwind(AssertUnwindSafe(f));
    panic::set_hook(usual);
    let Err(payload) = result else {
        panic!("it did not panic");
    };
    (payload, BLAMED.lock().unwrap().clone())
}

#[track_caller]
fn says<R>(words: &str, f: impl FnOnce() -> R) {
    let text = text(panic_of(f).0);
    assert!(text.contains(words), "{text}");
}

/// As `says`, for what the caller's own line has to be blamed for.
#[track_caller]
fn says_here<R>(words: &str, f: impl FnOnce() -> R) {
    let (payload, file) = panic_of(f);
    let text = text(payload);
    assert!(text.contains(words), "{text}");
    assert!(file.ends_with("words.rs"), "{file}");
}

const NO_RUNTIME: &str =
    "there is no reactor running, must be called from the context of a Tokio 1.x runtime";

#[test]
fn without_a_runtime() {
    says_here(NO_RUNTIME, || Handle::current());
    says_here(NO_RUNTIME, || tokio::spawn(async {}));
    says_here(NO_RUNTIME, || tokio::task::spawn_blocking(|| ()));
    says_here(NO_RUNTIME, || JoinSet::new().spawn(async {}));
    says_here(NO_RUNTIME, || JoinSet::new().spawn_blocking(|| ()));
    says_here(NO_RUNTIME, || sleep(Duration::ZERO));
    says_here(NO_RUNTIME, || timeout(Duration::ZERO, pending::<()>()));
    says_here(NO_RUNTIME, || interval(Duration::from_secs(1)));
    says_here(NO_RUNTIME, || tokio::time::pause());
    says_here(NO_RUNTIME, || tokio::time::resume());
    let error = Handle::try_current().unwrap_err();
    assert!(error.to_string().contains(NO_RUNTIME), "{error}");
}

#[test]
fn without_timers() {
    let words = "A Tokio 1.x context was found, but timers are disabled. Call `enable_time` on the \
                 runtime builder to enable timers.";
    let rt = Builder::new_current_thread().build().unwrap();
    let _entered = rt.enter();
    says_here(words, || sleep(Duration::ZERO));
    says_here(words, || timeout(Duration::ZERO, pending::<()>()));
    says_here(words, || interval(Duration::from_secs(1)));
}

#[test]
fn after_shutdown() {
    let words = "A Tokio 1.x context was found, but it is being shutdown.";
    for rt in [multi(), current()] {
        let _entered = rt.enter();
        let before = sleep(Duration::from_secs(60));
        rt.shutdown_background();
        says(words, || Handle::current().block_on(before));
        says(words, || {
            Handle::current().block_on(sleep(Duration::from_secs(60)));
        });
    }
}

#[test]
fn blocking_where_tasks_are_driven() {
    let nested = "Cannot start a runtime from within a runtime. This happens because a function \
                  (like `block_on`) attempted to block the current thread while the thread is \
                  being used to drive asynchronous tasks. If you are in an async function, use \
                  `.await` on the future instead of blocking on it.";
    let blocking = "Cannot block the current thread from within a runtime";
    for rt in [multi(), current()] {
        rt.block_on(async {
            says_here(nested, || rt.block_on(async {}));
            says_here(nested, || rt.handle().block_on(async {}));
            says_here(nested, || LocalRuntime::new().unwrap().block_on(async {}));
            says_here(nested, || LocalSet::new().block_on(&rt, async {}));
            let (tx, mut rx) = mpsc::channel::<()>(1);
            says_here(blocking, || rx.blocking_recv());
            says_here(blocking, || tx.blocking_send(()));
        });
    }
}

#[test]
fn a_runtime_dropped_where_tasks_are_driven() {
    for (outer, inner) in [(multi(), current()), (current(), multi())] {
        says("Cannot drop a runtime", || {
            outer.block_on(async { drop(inner) });
        });
    }
    // Programs look for a plain string in the payload.
    let outer = current();
    let inner = current();
    let (payload, _) = panic_of(|| outer.block_on(async { drop(inner) }));
    assert!(payload.is::<&'static str>());
}

#[test]
fn block_in_place_without_another_thread() {
    let words = "can call blocking only when running on the multi-threaded runtime";
    current().block_on(async { says_here(words, || block_in_place(|| ())) });
    for rt in [multi(), current()] {
        LocalSet::new().block_on(&rt, async { says_here(words, || block_in_place(|| ())) });
    }
}

#[test]
fn local_tasks_out_of_place() {
    let words =
        "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`";
    says_here(words, || spawn_local(async {}));
    multi().block_on(async {
        says_here(words, || spawn_local(async {}));
        says_here(words, || JoinSet::new().spawn_local(async {}));
    });
    let rt = LocalRuntime::new().unwrap();
    let handle = rt.handle().clone();
    let elsewhere = std::thread::spawn(move || {
        let _entered = handle.enter();
        says_here(
            "Local tasks can only be spawned on a LocalRuntime from the thread the runtime was \
             created on",
            || spawn_local(async {}),
        );
    });
    elsewhere.join().unwrap();
}

/// No thread has such a stack.
#[cfg(target_pointer_width = "64")]
#[test]
fn without_a_thread() {
    let rt = Builder::new_current_thread()
        .thread_stack_size(1 << 56)
        .build()
        .unwrap();
    says_here("OS can't spawn worker thread", || rt.spawn_blocking(|| ()));
}

#[test]
fn a_task_local_value_that_is_not_set() {
    tokio::task_local! {
        static VALUE: u8;
    }
    let words = "cannot access a task-local storage value without setting it first";
    says(words, || VALUE.with(|_| ()));
    says(words, || VALUE.get());
}

#[test]
fn limits_of_sync() {
    let readers = "a RwLock may not be created with 0 readers";
    says_here(readers, || RwLock::with_max_readers((), 0));
    let permits = "a semaphore may not have more than MAX_PERMITS permits";
    says_here(permits, || Semaphore::new(Semaphore::MAX_PERMITS + 1));
    says_here(permits, || Semaphore::const_new(Semaphore::MAX_PERMITS + 1));
}

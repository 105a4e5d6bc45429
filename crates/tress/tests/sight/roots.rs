//! Futures of `block_on`, and tasks of sets, take part as tasks do.

use super::support::{dump, on, run, settle, wait, waits, waits_of_root};
use std::future::pending;
use std::panic::Location;
use std::sync::Arc;
use std::sync::mpsc;
use tress::runtime::{Builder, Handle};
use tress::sync::{Mutex, Notify, oneshot};
use tress::task::{JoinError, LocalSet, block_in_place, spawn, spawn_local, yield_now};

#[track_caller]
fn next_line() -> String {
    let here = Location::caller();
    format!("block_on at {}:{}:", here.file(), here.line() + 1)
}

#[test]
fn a_future_of_block_on_waits_and_holds() {
    let _on = on();
    for rt in [
        Builder::new_current_thread().enable_all().build().unwrap(),
        Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap(),
    ] {
        let mutex = Arc::new(Mutex::new(()));
        let (tell, told) = mpsc::channel();
        let (end, ended) = oneshot::channel::<()>();
        let handle = rt.handle().clone();
        let look = std::thread::spawn(move || {
            let at: String = told.recv().unwrap();
            let mut text = String::new();
            // The thread tells before it waits.
            while !text.contains(&format!(": {at}"))
                || !waits_of_root(&text, &at)
                    .iter()
                    .any(|line| line.contains("oneshot"))
            {
                let mut bytes = Vec::new();
                handle.debug_dump(&mut bytes).unwrap();
                text = String::from_utf8(bytes).unwrap();
            }
            end.send(()).unwrap();
            (at, text)
        });
        let lock = mutex.clone();
        let at = next_line();
        rt.block_on(async {
            let _guard = mutex.lock().await;
            let waiter = spawn(async move { drop(lock.lock().await) });
            settle().await;
            let root = dump();
            let root = root
                .lines()
                .find(|line| line.contains(&format!(": {at}")))
                .unwrap();
            let number = root
                .trim()
                .strip_prefix("task ")
                .unwrap()
                .split(':')
                .next()
                .unwrap();
            while waits(waiter.id()).is_empty() {
                yield_now().await;
            }
            let line = wait(waiter.id());
            let holder = format!(", held by task {number}, {at}");
            assert!(line.contains(&holder), "{line}");
            tell.send(at.clone()).unwrap();
            ended.await.unwrap();
        });
        let (at, text) = look.join().unwrap();
        let waits = waits_of_root(&text, &at);
        assert_eq!(waits.len(), 1, "{waits:?}");
        rt.block_on(async { assert!(!dump().contains(&at), "it has ended") });
    }
}

#[test]
fn a_task_that_blocks_waits_for_the_future_it_blocks_on() {
    let _on = on();
    let rt = Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    rt.block_on(async {
        let notify = Arc::new(Notify::new());
        let inner = notify.clone();
        let task = spawn(async move {
            block_in_place(|| Handle::current().block_on(inner.notified()));
        });
        let expected = "waits for the end of a task, task ";
        while !waits(task.id()).iter().any(|line| line.contains(expected)) {
            yield_now().await;
        }
        notify.notify_one();
        task.await.unwrap();
    });
}

/// A task of a set within a task holds what it has locked, and the task around it what that has.
#[test]
fn a_set_within_a_task() {
    let _on = on();
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&rt, async {
        let (first, second) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (tell, told) = oneshot::channel();
        let (of_inner, of_outer) = (first.clone(), second.clone());
        let outer = spawn_local(async move {
            let inner = LocalSet::new();
            let holds = inner.spawn_local(async move {
                let _guard = of_inner.lock().await;
                pending::<()>().await;
            });
            tell.send(holds.id()).unwrap();
            inner.run_until(settle()).await;
            let _guard = of_outer.lock().await;
            inner.run_until(pending::<()>()).await;
        });
        let inner = told.await.unwrap();
        while first.try_lock().is_ok() || second.try_lock().is_ok() {
            yield_now().await;
        }
        for (lock, holder) in [(first, inner), (second, outer.id())] {
            let waiter = spawn(async move { drop(lock.lock().await) });
            settle().await;
            let line = wait(waiter.id());
            assert!(
                line.contains(&format!(", held by task {holder} for ")),
                "{line}"
            );
        }
        outer.abort();
    });
}

#[test]
fn a_poll_that_panics_leaves_nothing_behind() {
    run(async {
        let mutex = Arc::new(Mutex::new(()));
        let lock = mutex.clone();
        let task = spawn(async move {
            let _guard = lock.lock().await;
            panic!("on purpose");
        });
        let error: JoinError = task.await.unwrap_err();
        assert!(error.is_panic());
        let waiter = spawn(pending::<()>());
        settle().await;
        assert_eq!(waits(waiter.id()), [""; 0]);
        assert!(mutex.try_lock().is_ok());
    });
}

#[test]
fn local_tasks_wait_and_hold() {
    let _on = on();
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    let set = LocalSet::new();
    set.block_on(&rt, async {
        let mutex = Arc::new(Mutex::new(()));
        let lock = mutex.clone();
        let holds = spawn_local(async move {
            let _guard = lock.lock().await;
            pending::<()>().await;
        });
        settle().await;
        let waiter = spawn(async move { drop(mutex.lock().await) });
        settle().await;
        let line = wait(waiter.id());
        assert!(
            line.contains(&format!(", held by task {} for ", holds.id())),
            "{line}"
        );
        holds.abort();
        waiter.await.unwrap();
    });
}

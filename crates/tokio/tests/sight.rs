//! What tasks of an application wait for is known by the lines of the application.

#![cfg(not(loom))]

use std::panic::Location;
use std::sync::Arc;
use tokio::sync::{Mutex, Notify, Semaphore, mpsc, oneshot};
use tokio::task::{JoinHandle, yield_now};

/// Returns the line after that of the call, as the dump has it.
#[track_caller]
fn next_line() -> String {
    let here = Location::caller();
    format!(" at {}:{}:", here.file(), here.line() + 1)
}

#[test]
fn the_dump_names_lines_of_the_application() {
    let _on = tress::trace::keep_sight_on();
    let rt = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let root = next_line();
    rt.block_on(async {
        let mut tasks: Vec<(&str, String, JoinHandle<()>)> = Vec::new();
        let mut add = |what, at, task| tasks.push((what, at, task));
        let at = next_line();
        let mutex = Arc::new(Mutex::new(()));
        let held = mutex.clone().lock_owned().await;
        add(
            "a Mutex",
            at,
            tokio::spawn(async move { drop(mutex.lock().await) }),
        );
        let at = next_line();
        let semaphore = Semaphore::new(0);
        let task = tokio::spawn(async move { drop(semaphore.acquire().await) });
        add("permits of a Semaphore", at, task);
        let at = next_line();
        let notify = Notify::new();
        add(
            "a Notify",
            at,
            tokio::spawn(async move { notify.notified().await }),
        );
        let at = next_line();
        let (tx, mut rx) = mpsc::channel::<()>(1);
        let task = tokio::spawn(async move { assert!(rx.recv().await.is_none()) });
        add("a message from a channel", at, task);
        let at = next_line();
        let (once, value) = oneshot::channel::<()>();
        let task = tokio::spawn(async move { assert!(value.await.is_err()) });
        add("a value from a oneshot channel", at, task);
        while !rest(&tasks) {
            yield_now().await;
        }
        let dump = dump();
        assert!(dump.contains(&format!("block_on{root}")), "{dump}");
        for (what, at, _) in &tasks {
            let expected = format!("waits for {what} created{at}");
            assert!(dump.contains(&expected), "{expected}: {dump}");
        }
        drop((held, tx, once));
    });
}

/// Returns whether all tasks wait.
fn rest(tasks: &[(&str, String, JoinHandle<()>)]) -> bool {
    dump().matches("    waits for ").count() >= tasks.len()
}

fn dump() -> String {
    let mut text = Vec::new();
    tress::runtime::Handle::current()
        .debug_dump(&mut text)
        .unwrap();
    String::from_utf8(text).unwrap()
}

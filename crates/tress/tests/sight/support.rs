//! Reading the dump.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::task::Poll;
use tress::runtime::{Builder, Handle};
use tress::task::{Id, yield_now};

static SWITCHING: RwLock<()> = RwLock::new(());

/// Keeps sight on, together with other tests.
pub(crate) fn on() -> (impl Sized, RwLockReadGuard<'static, ()>) {
    let together = SWITCHING.read().unwrap_or_else(|e| e.into_inner());
    (tress::trace::keep_sight_on(), together)
}

/// Keeps other tests from having sight on.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    SWITCHING.write().unwrap_or_else(|e| e.into_inner())
}

pub(crate) fn dump() -> String {
    let mut text = Vec::new();
    Handle::current().debug_dump(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Runs a test on one thread, with sight on: what is spawned has run when the test has yielded.
pub(crate) fn run<F: Future>(test: F) -> F::Output {
    let _on = on();
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(test)
}

/// Returns what the dump says below the line that begins like that.
fn below(dump: &str, begins: &str) -> Vec<String> {
    let mut lines = dump.lines().skip_while(|line| !line.starts_with(begins));
    assert!(lines.next().is_some(), "no line `{begins}` in\n{dump}");
    let waits = lines.take_while(|line| line.starts_with("    waits"));
    waits.map(|line| line.trim().to_owned()).collect()
}

/// Returns what a task waits for, in the dump's words.
pub(crate) fn waits(task: Id) -> Vec<String> {
    below(&dump(), &format!("  task {task}"))
}

/// Returns what the only wait of a task is for.
pub(crate) fn wait(task: Id) -> String {
    let mut waits = waits(task);
    assert_eq!(waits.len(), 1, "{waits:?}");
    waits.remove(0)
}

/// Returns what the future of `block_on` waits for that was called in this file at that line.
pub(crate) fn waits_of_root(dump: &str, at: &str) -> Vec<String> {
    let root = format!(": {at}");
    let line = dump.lines().find(|line| line.contains(&root));
    let line = line.unwrap_or_else(|| panic!("no block_on at {at} in\n{dump}"));
    below(dump, line)
}

/// Polls a future once, and drops it.
pub(crate) async fn poll_and_drop<F: Future>(future: F) {
    let mut future = pin!(future);
    poll_fn(|cx| {
        assert!(future.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// Lets the other tasks run until they all wait.
pub(crate) async fn settle() {
    for _ in 0..8 {
        yield_now().await;
    }
}

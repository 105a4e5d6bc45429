//! Children that nobody waits for any more.

use super::reaper::Reaper;
use crate::runtime::context;
use std::future::poll_fn;
use std::panic::Location;
use std::process::Child;
use std::sync::{Mutex, PoisonError};

/// Those that no runtime waits for. Looked after whenever a child comes or goes.
static LEFT: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// A child whose runtime waits for it, until dropped.
struct Orphan(Option<Reaper>);

impl Drop for Orphan {
    fn drop(&mut self) {
        if let Some(reaper) = self.0.take() {
            let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
            left.push(reaper.child);
        }
    }
}

/// Has the child reaped when it has ended.
#[track_caller]
pub(super) fn adopt(mut reaper: Reaper) {
    reap();
    // An error means that somebody else has reaped it.
    if !matches!(reaper.child.try_wait(), Ok(None)) {
        return;
    }
    let mut orphan = Orphan(Some(reaper));
    if let Some(runtime) = context::runtime().filter(|runtime| runtime.io_enabled) {
        let wait = async move {
            let waited = poll_fn(|cx| match &mut orphan.0 {
                Some(reaper) => reaper.poll_wait(cx).map(|waited| waited.is_ok()),
                None => std::task::Poll::Ready(true),
            });
            if waited.await {
                drop(orphan.0.take());
            }
        };
        drop(runtime.spawn(wait, Some("reap a child"), Location::caller()));
    }
}

/// Reaps those that have ended without a runtime to wait for them.
pub(super) fn reap() {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
}

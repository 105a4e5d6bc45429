//! Children that nobody waits for any more.
//!
//! All of them are in one list, whoever reaps them: a task that waits for its child in a runtime, or, should
//! that runtime be gone or have nobody who drives it, whoever spawns or drops a child later. They look with
//! the list locked and take out what has ended, so that each is reaped once: its number may be another's
//! afterwards.

use super::reaper::{Reaper, Watch};
use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicU64, Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::process::Child;

/// By numbers of our own, which are never used again.
static ORPHANS: Mutex<BTreeMap<u64, Child>> = Mutex::new(BTreeMap::new());

fn orphans() -> MutexGuard<'static, BTreeMap<u64, Child>> {
    ORPHANS.lock()
}

/// Reaps the child if it has ended. An error means that somebody else has.
fn is_gone(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// Has the child reaped when it has ended: by this runtime, or by that which spawned it.
#[track_caller]
pub(super) fn adopt(reaper: Reaper) {
    reap();
    let Reaper { mut child, watch } = reaper;
    if is_gone(&mut child) {
        return;
    }
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let pid = child.id();
    orphans().insert(number, child);
    let runtime = watch.home.current_other();
    let runtime = runtime.unwrap_or_else(|| watch.home.clone());
    runtime.spawn(wait(number, pid, watch), "reap a child");
}

/// Until the orphan has been reaped. If it cannot be waited for it stays in the list.
async fn wait(number: u64, pid: u32, mut watch: Watch) {
    let look = || {
        let mut orphans = orphans();
        let gone = orphans.get_mut(&number).is_none_or(is_gone);
        if gone {
            orphans.remove(&number);
        }
        Ok(gone.then_some(()))
    };
    let _ = poll_fn(|cx| watch.poll(cx, pid, look)).await;
}

/// Reaps those that have ended.
pub(super) fn reap() {
    orphans().retain(|_, child| !is_gone(child));
}

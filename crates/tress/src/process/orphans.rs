//! Children whose `Child` was dropped before they had exited.
//!
//! All of them are in one list. A child is reaped by a task that waits for it in a runtime, or, if that
//! runtime has shut down or is not driven, by the next spawn or drop of a child in the process. Both look
//! with the list locked and remove what has exited, so that each child is reaped once: afterwards its
//! process id may belong to another process.

use super::reaper::{Reaper, Watch};
use crate::sys::PerProgram;
use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicU64, Mutex, MutexGuard};
use std::future::poll_fn;
use std::process::Child;

/// Children, by numbers of our own that are never reused.
type Orphans = Mutex<Vec<(u64, Child)>>;

/// Each program of a simulation has its own.
static ORPHANS: PerProgram<Orphans> =
    PerProgram::new(Mutex::new(Vec::new()), || Mutex::new(Vec::new()));

fn orphans() -> MutexGuard<'static, Vec<(u64, Child)>> {
    ORPHANS.get().lock()
}

/// Reaps the child if it has exited. An error means that other code has reaped it.
fn is_gone(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// Arranges for the child to be reaped: by the current runtime, or by the one that spawned it.
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
    orphans().push((number, child));
    let runtime = watch.home.current_other();
    let runtime = runtime.unwrap_or_else(|| watch.home.clone());
    runtime.spawn(wait(number, pid, watch), "reap a child");
}

/// Waits until the orphan has been reaped. If it cannot be waited for it stays in the list.
async fn wait(number: u64, pid: u32, mut watch: Watch) {
    let look = || {
        let mut orphans = orphans();
        let Some(place) = orphans.iter().position(|(other, _)| *other == number) else {
            return Ok(Some(()));
        };
        if !is_gone(&mut orphans[place].1) {
            return Ok(None);
        }
        orphans.swap_remove(place);
        Ok(Some(()))
    };
    let _ = poll_fn(|cx| watch.poll(cx, pid, look)).await;
}

/// Reaps the orphans that have exited.
pub(super) fn reap() {
    orphans().retain_mut(|(_, child)| !is_gone(child));
}

//! The end of all tasks of a runtime or a set: they are dropped in the order in which they were spawned, whether they
//! wait in a queue or for a wake-up.

use super::run::TaskRef;
use crate::identity::Id;
use std::collections::BTreeMap;

/// Drops the tasks in the order of their ids, which is that of their spawns if one thread made them. Returns how many
/// were completed here; another thread may have the rest in its hands, and will queue them.
///
/// `queued` adds to the map what is in the queues, and is called again and again: the destructor of one task may wake
/// another, or abort it. `refuse` cancels a task that was there.
///
/// # Safety
/// The futures may be dropped on this thread.
pub(crate) unsafe fn drop_in_order<Q>(
    mut live: Vec<TaskRef>,
    mut queued: impl FnMut(&mut BTreeMap<Id, Q>),
    refuse: impl Fn(Q),
) -> usize {
    let mut ready = BTreeMap::new();
    let mut completed = 0;
    live.sort_by_key(|task| task.header().id());
    for task in live {
        queued(&mut ready);
        let done = match ready.remove(&task.header().id()) {
            Some(task) => {
                refuse(task);
                true
            }
            // SAFETY: by the caller's promise.
            None => unsafe { task.shut_down() },
        };
        completed += usize::from(done);
    }
    // Those that came into being since the list was made.
    queued(&mut ready);
    completed += ready.len();
    ready.into_values().for_each(refuse);
    completed
}

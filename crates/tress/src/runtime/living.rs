//! The runtimes of the process.

use super::{Handle, Shared};
use crate::sys::plain::Mutex;
use std::sync::{Arc, Weak};

static LIVING: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// Adds a runtime, and forgets those that are gone.
pub(super) fn add(shared: &Arc<Shared>) {
    let mut living = LIVING.lock();
    living.retain(|runtime| runtime.strong_count() > 0);
    living.push(Arc::downgrade(shared));
}

/// Returns the runtimes that are alive, in the order in which they were built.
pub(super) fn all() -> Vec<Arc<Shared>> {
    LIVING.lock().iter().filter_map(Weak::upgrade).collect()
}

/// Returns handles to all runtimes of the process, in the order in which they were built.
///
/// A handle keeps its runtime's memory, not its threads: what it shows of a runtime that was shut down does not change
/// any more.
///
/// # Examples
/// ```
/// let rt = tress::runtime::Runtime::new()?;
/// let all = tress::trace::live_runtimes();
/// assert!(all.iter().any(|handle| handle.id() == rt.handle().id()));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn live_runtimes() -> Vec<Handle> {
    let handle = |shared| Handle { shared };
    all().into_iter().map(handle).collect()
}

use crate::wait::WakeBatch;
use std::task::Waker;

/// Wakes all. A waker that panics (foreign ones may) does not keep the others from being woken: its panic goes
/// on after that, unless the thread unwinds already. No lock may be held.
pub(super) fn wake_all(wakers: impl IntoIterator<Item = Option<Waker>>) {
    let mut batch = WakeBatch::new();
    for waker in wakers {
        if batch.is_full() {
            batch.wake_all();
        }
        batch.push(waker);
    }
    if std::thread::panicking() {
        // Keeps every panic to itself.
        drop(batch);
    } else {
        batch.finish();
    }
}

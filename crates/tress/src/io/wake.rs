use crate::wait::WakeBatch;
use std::task::Waker;

/// Wakes all wakers. No lock may be held.
///
/// A waker that panics, as foreign ones may, does not keep the others from being woken. Its panic goes on
/// after that, unless the thread is panicking already.
pub(super) fn wake_all(wakers: impl IntoIterator<Item = Option<Waker>>) {
    let mut batch = WakeBatch::new();
    for waker in wakers {
        if batch.is_full() {
            batch.wake_all();
        }
        batch.push(waker);
    }
    if std::thread::panicking() {
        // This discards further panics.
        drop(batch);
    } else {
        batch.finish();
    }
}

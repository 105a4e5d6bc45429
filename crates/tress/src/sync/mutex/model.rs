//! The lock itself is modelled in `permits/model.rs`; here, that the guards use it right.

use super::{Mutex, MutexGuard};
use crate::model::{Watched, explore, poll_once};
use loom::future::block_on;
use loom::thread;
use std::sync::Arc;

#[test]
fn guards_exclude_each_other() {
    explore(3, || {
        let one = Arc::new(Mutex::new(Watched::new()));
        let two = one.clone();
        let thread = thread::spawn(move || {
            let guard = block_on(two.lock_owned());
            guard.add_one();
        });
        {
            let guard = block_on(one.lock());
            let part = MutexGuard::map(guard, |watched| watched);
            part.add_one();
        }
        thread.join().unwrap();
        assert_eq!(one.try_lock().unwrap().get(), 2);
    });
}

/// A lock that was given to a future which is dropped unpolled goes on.
#[test]
fn drop_of_a_locked_future() {
    explore(3, || {
        let one = Arc::new(Mutex::new(Watched::new()));
        let two = one.clone();
        let guard = one.try_lock().unwrap();
        let mut quitter = Box::pin(one.lock());
        assert!(poll_once(quitter.as_mut()).is_pending());
        let thread = thread::spawn(move || block_on(two.lock()).add_one());
        guard.add_one();
        drop(guard);
        drop(quitter);
        thread.join().unwrap();
        assert_eq!(one.try_lock().unwrap().get(), 2);
    });
}

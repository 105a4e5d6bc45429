//! Readers against writers, in every order.

use super::RwLock;
use crate::model::{Watched, explore, poll_once};
use loom::future::block_on;
use loom::thread;
use std::sync::Arc;

#[test]
fn writer_against_reader() {
    explore(3, || {
        let one = Arc::new(RwLock::new(Watched::new()));
        let two = one.clone();
        let thread = thread::spawn(move || block_on(two.write()).add_one());
        let seen = block_on(one.read()).get();
        assert!(seen <= 1);
        thread.join().unwrap();
        assert_eq!(one.try_write().unwrap().get(), 1);
    });
}

#[test]
fn two_writers_and_a_reader() {
    explore(2, || {
        let one = Arc::new(RwLock::with_max_readers(Watched::new(), 3));
        let (two, three) = (one.clone(), one.clone());
        let writer = thread::spawn(move || block_on(two.write_owned()).add_one());
        let reader = thread::spawn(move || block_on(three.read_owned()).get());
        block_on(one.write()).add_one();
        writer.join().unwrap();
        reader.join().unwrap();
        assert_eq!(one.try_write().unwrap().get(), 2);
    });
}

/// A writer that becomes a reader lets readers in, and no writer in between.
#[test]
fn downgrade_against_writer_and_reader() {
    explore(2, || {
        let one = Arc::new(RwLock::new(Watched::new()));
        let (two, three) = (one.clone(), one.clone());
        let guard = block_on(one.write());
        let writer = thread::spawn(move || block_on(two.write()).add_one());
        let reader = thread::spawn(move || block_on(three.read()).get());
        guard.add_one();
        let guard = guard.downgrade();
        assert_eq!(guard.get(), 1);
        drop(guard);
        writer.join().unwrap();
        assert!(reader.join().unwrap() >= 1);
        assert_eq!(one.try_write().unwrap().get(), 2);
    });
}

/// A writer that gives up lets the readers behind it go ahead.
#[test]
fn drop_of_a_waiting_writer() {
    explore(3, || {
        let one = Arc::new(RwLock::new(Watched::new()));
        let two = one.clone();
        let guard = one.try_read().unwrap();
        let mut writer = Box::pin(one.write());
        assert!(poll_once(writer.as_mut()).is_pending());
        let reader = thread::spawn(move || block_on(two.read()).get());
        drop(writer);
        reader.join().unwrap();
        drop(guard);
        assert!(one.try_write().is_ok());
    });
}

//! Operations that the kernel is done with.
//!
//! They are collected under the ring's locks and dropped without them, because dropping them runs foreign code.

use super::ring::Completion;
use crate::sys::{Mutex, MutexGuard};
use crate::wakers::ends;
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Finished(Mutex<Vec<Arc<dyn Completion>>>);

impl Finished {
    /// Locks the collection, to add to it.
    pub(super) fn collect(&self) -> MutexGuard<'_, Vec<Arc<dyn Completion>>> {
        self.0.lock()
    }

    /// Drops all of them. The caller must hold no lock.
    ///
    /// When it returns, everything that was collected before has been dropped, or is about to be by another
    /// thread that is in here too. A destructor of a buffer that panics stops nothing: the panic is caught, and
    /// the panic hook has reported it.
    pub(super) fn bury(&self) {
        let mut finished = self.0.lock();
        if finished.is_empty() {
            return;
        }
        let mut dead = std::mem::take(&mut *finished);
        drop(finished);
        for operation in dead.drain(..) {
            ends(move || {
                operation.bury();
                drop(operation);
            });
        }
        // Keeps the memory for the next time.
        let mut finished = self.0.lock();
        if finished.capacity() < dead.capacity() && finished.is_empty() {
            *finished = dead;
        }
    }
}

// Not a model: loom cannot show that a thread waits for a lock.
#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::uring::ring::{Arrived, Next};
    use crate::wakers::Wakers;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;

    /// An operation that counts its burials.
    struct Dead(Arc<AtomicUsize>);

    impl Completion for Dead {
        fn complete(&self, _: Arrived, _: &mut Wakers) -> Next {
            unreachable!("it is over")
        }

        fn bury(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// An operation whose buffer panics.
    struct Panics;

    impl Completion for Panics {
        fn complete(&self, _: Arrived, _: &mut Wakers) -> Next {
            unreachable!("it is over")
        }

        fn bury(&self) {
            panic!("a buffer's own trouble")
        }
    }

    impl Drop for Panics {
        fn drop(&mut self) {
            if !thread::panicking() {
                panic!("the same again")
            }
        }
    }

    #[test]
    fn a_burial_that_panics_keeps_nobody_from_theirs() {
        let buried = Arc::new(AtomicUsize::new(0));
        let finished = Finished::default();
        for _ in 0..3 {
            finished.collect().push(Arc::new(Panics));
            finished.collect().push(Arc::new(Dead(buried.clone())));
        }
        finished.bury();
        assert_eq!(buried.load(Ordering::Relaxed), 3);
    }

    fn is_asleep(thread: libc::pid_t) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
        stat.rsplit(") ").next().unwrap().starts_with('S')
    }

    /// Another thread has the lock for a moment, like one that has dropped operations and keeps the memory.
    /// What was collected before is dropped here, and not left for a thread that may never come.
    #[test]
    fn a_burial_waits_for_who_has_the_lock() {
        let buried = Arc::new(AtomicUsize::new(0));
        let finished = Finished::default();
        finished.collect().push(Arc::new(Dead(buried.clone())));
        let (begins, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        // SAFETY: it has no conditions.
        let this = unsafe { libc::gettid() };
        let (locked, is_locked) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _moment = finished.collect();
                locked.send(()).unwrap();
                let waits = || begins.load(Ordering::SeqCst) && is_asleep(this);
                while !waits() && !is_over.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
            });
            is_locked.recv().unwrap();
            begins.store(true, Ordering::SeqCst);
            finished.bury();
            is_over.store(true, Ordering::SeqCst);
        });
        assert_eq!(buried.load(Ordering::Relaxed), 1);
    }
}

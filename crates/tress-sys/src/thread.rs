//! Starting threads, and how a thread waits.
//!
//! Threads that are started here, and [`yield_now`], are loom's in a model. [`park`], [`current`] and [`sleep`] are the standard
//! library's in every build: what a model explores waits by a [`Parker`](crate::Parker).

use crate::imp::thread as imp;
use std::fmt;
use std::io;
use std::time::Duration;

pub use std::thread::{Thread, ThreadId};

/// What a thread is to be like, and the one way to start it.
#[derive(Debug)]
pub struct Builder(imp::Builder);

impl Builder {
    /// For a thread of this name.
    pub fn new(name: String) -> Self {
        Builder(imp::Builder::new().name(name))
    }

    /// Sets the size of its stack, in bytes.
    #[must_use]
    pub fn stack_size(self, size: usize) -> Self {
        Builder(self.0.stack_size(size))
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no room for another thread.
    pub fn spawn<T: Send + 'static>(
        self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        // Boxed, so that what the standard library does for a thread is compiled for each type of result only.
        let f: Box<dyn FnOnce() -> T + Send> = Box::new(f);
        self.0.spawn(f).map(JoinHandle)
    }
}

/// Waits for the end of a thread.
pub struct JoinHandle<T>(imp::JoinHandle<T>);

impl<T> JoinHandle<T> {
    /// Waits until the thread has ended, and returns what it returned.
    ///
    /// # Errors
    /// The thread has panicked, with this.
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join()
    }

    /// Returns whether the thread has ended, so that [`join`](Self::join) would not wait. Never in a model.
    pub fn is_finished(&self) -> bool {
        imp::is_finished(&self.0)
    }

    /// Returns whether it is the handle of the calling thread.
    pub fn is_current(&self) -> bool {
        self.0.thread().id() == imp::current().id()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JoinHandle").field(self.0.thread()).finish()
    }
}

/// Lets other threads run that wait for a core.
#[inline]
pub fn yield_now() {
    imp::yield_now();
}

/// Blocks the calling thread for at least `time`.
#[inline]
pub fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Blocks the calling thread until its handle is unparked. May return early.
#[inline]
pub fn park() {
    std::thread::park();
}

/// Returns a handle of the calling thread.
#[inline]
pub fn current() -> Thread {
    std::thread::current()
}

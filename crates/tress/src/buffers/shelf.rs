//! A pool of ordinary buffers, for systems without a ring whose kernel could take from one.

use crate::sys::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::mem::{self, MaybeUninit};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A pool. Clones are handles to the same one.
#[derive(Clone)]
pub(crate) struct Shelf(Arc<Shared>);

struct Shared {
    count: usize,
    size: usize,
    state: Mutex<State>,
}

type Memory = Box<[MaybeUninit<u8>]>;

#[derive(Default)]
struct State {
    /// Buffers that were used before and have come back.
    free: Vec<Memory>,
    out: usize,
    /// Wakers of the streams that wait for a buffer, by the number of the stream.
    starving: BTreeMap<usize, Waker>,
}

impl Shelf {
    pub(crate) fn new(count: usize, size: usize) -> Shelf {
        Shelf(Arc::new(Shared {
            count,
            size,
            state: Mutex::new(State::default()),
        }))
    }

    pub(crate) fn size(&self) -> usize {
        self.0.size
    }

    pub(crate) fn available(&self) -> usize {
        self.0.count - self.0.state.lock().out
    }

    /// Returns an empty buffer, if there is one left.
    pub(crate) fn take(&self) -> Option<ShelfBuffer> {
        let mut state = self.0.state.lock();
        if state.out == self.0.count {
            return None;
        }
        state.out += 1;
        let memory = state.free.pop();
        drop(state);
        Some(ShelfBuffer {
            shelf: self.clone(),
            memory: memory.unwrap_or_else(|| Box::new_uninit_slice(self.0.size)),
            filled: 0,
        })
    }

    /// Polls until there is a buffer. A stream, identified by `who`, is registered once, no matter how
    /// often it polls, until it is woken or calls `leave`.
    pub(crate) fn poll_available(&self, who: usize, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.0.state.lock();
        if state.out < self.0.count {
            return Poll::Ready(());
        }
        let old = state.starving.insert(who, waker);
        drop(state);
        drop(old);
        Poll::Pending
    }

    /// Removes the stream `who` from those that wait.
    pub(crate) fn leave(&self, who: usize) {
        let left = self.0.state.lock().starving.remove(&who);
        drop(left);
    }

    fn give_back(&self, memory: Memory) {
        let mut state = self.0.state.lock();
        state.free.push(memory);
        state.out -= 1;
        let starving = mem::take(&mut state.starving);
        drop(state);
        // A waker that panics, as foreign ones may, does not keep the others from being woken.
        let mut first_panic = None;
        for waker in starving.into_values() {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                first_panic.get_or_insert(panic);
            }
        }
        if let Some(panic) = first_panic.filter(|_| !std::thread::panicking()) {
            resume_unwind(panic);
        }
    }
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("count", &self.0.count)
            .field("size", &self.0.size)
            .field("available", &self.available())
            .finish()
    }
}

/// A buffer of a shelf. Dropping it puts it back.
pub(crate) struct ShelfBuffer {
    shelf: Shelf,
    memory: Memory,
    filled: usize,
}

impl ShelfBuffer {
    /// Fills the buffer from its start.
    ///
    /// # Safety
    /// `fill` initializes the bytes whose number it returns.
    pub(crate) unsafe fn fill<E>(
        &mut self,
        fill: impl FnOnce(&mut [MaybeUninit<u8>]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let n = fill(&mut self.memory)?;
        assert!(n <= self.memory.len(), "more than there was room for");
        self.filled = n;
        Ok(n)
    }
}

impl Deref for ShelfBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `filled` bytes are initialized, by the promise to `fill`.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.filled) }
    }
}

impl Drop for ShelfBuffer {
    fn drop(&mut self) {
        self.shelf.give_back(mem::take(&mut self.memory));
    }
}

#[cfg(all(test, loom))]
mod model;

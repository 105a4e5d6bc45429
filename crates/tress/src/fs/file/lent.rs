//! A buffer that an operation at the position of the file has borrowed.

use crate::io::{Buffer, BufferMut};
use crate::sync::oneshot;

/// A buffer with which the kernel or the pool reads or writes at the position of the file. The cursor
/// learns when they release it, also if the future of the operation was dropped.
#[derive(Debug)]
pub(super) struct Lent<B> {
    buffer: B,
    /// Dropped after the buffer, which may have a destructor of its own.
    _end: oneshot::Sender<()>,
}

/// Completes when the buffer is no longer lent.
pub(super) type Return = oneshot::Receiver<()>;

impl<B> Lent<B> {
    pub(super) fn new(buffer: B) -> (Lent<B>, Return) {
        let (_end, end) = oneshot::channel();
        (Lent { buffer, _end }, end)
    }

    pub(super) fn into_inner(self) -> B {
        self.buffer
    }
}

// SAFETY: as the buffer itself.
unsafe impl<B: Buffer> Buffer for Lent<B> {
    fn pointer(&self) -> *const u8 {
        self.buffer.pointer()
    }

    fn filled(&self) -> usize {
        self.buffer.filled()
    }
}

// SAFETY: as the buffer itself.
unsafe impl<B: BufferMut> BufferMut for Lent<B> {
    fn pointer_mut(&mut self) -> *mut u8 {
        self.buffer.pointer_mut()
    }

    fn room(&self) -> usize {
        self.buffer.room()
    }

    unsafe fn set_filled(&mut self, filled: usize) {
        // SAFETY: by the caller's promise.
        unsafe { self.buffer.set_filled(filled) };
    }
}

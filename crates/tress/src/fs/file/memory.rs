//! The memory through which a file is read and written by operations that have to wait.

use crate::io::{Buffer, BufferMut};
use std::alloc::{self, Layout};
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::{fmt, slice};

/// The alignment that suffices for `O_DIRECT` on every device.
const ALIGNMENT: usize = 4096;

/// The smallest transfer of a file that is open with `O_DIRECT`. Smaller blocks need no alignment.
const LEAST: usize = 512;

/// A growable block of bytes, aligned for direct I/O.
#[derive(Default)]
pub(in crate::fs) struct Memory {
    /// `None` while there is no room.
    block: Option<NonNull<u8>>,
    room: usize,
    /// The number of initialised bytes, from the start.
    filled: usize,
}

// SAFETY: it owns its block, as a vector does.
unsafe impl Send for Memory {}
// SAFETY: it changes through a mutable reference only.
unsafe impl Sync for Memory {}

impl Memory {
    /// Removes all bytes, and makes room for at least `room` bytes.
    pub(super) fn empty(&mut self, room: usize) {
        self.filled = 0;
        if room <= self.room {
            return;
        }
        *self = Memory::default();
        let layout = layout(room);
        // SAFETY: the layout is not empty: `room` is more than `self.room`.
        let block = unsafe { alloc::alloc(layout) };
        match NonNull::new(block) {
            Some(block) => (self.block, self.room) = (Some(block), room),
            None => alloc::handle_alloc_error(layout),
        }
    }

    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }

    /// Appends bytes.
    ///
    /// # Panics
    /// If there is no room for them.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.room - self.filled, "no room");
        // SAFETY: there is room for them behind the filled bytes, and they do not overlap: `self` is
        // borrowed mutably.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.start().add(self.filled), bytes.len());
        }
        self.filled += bytes.len();
    }

    /// Replaces the contents by what `read` fills in: as many bytes as it returns, and at most `most`.
    pub(super) fn fill<E>(
        &mut self,
        most: usize,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        self.empty(most);
        // SAFETY: there is room for `most` bytes, and the zeros initialise all of them.
        let room = unsafe {
            ptr::write_bytes(self.start(), 0, most);
            slice::from_raw_parts_mut(self.start(), most)
        };
        // All of it is initialised, whatever the reader claims.
        self.filled = read(room)?.min(most);
        Ok(())
    }

    fn start(&self) -> *mut u8 {
        self.block.unwrap_or(NonNull::dangling()).as_ptr()
    }
}

/// Returns the layout of a block of `room` bytes.
fn layout(room: usize) -> Layout {
    let alignment = if room < LEAST { 1 } else { ALIGNMENT };
    Layout::from_size_align(room, alignment)
        .expect("no buffer is larger than what can be addressed")
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(block) = self.block {
            // SAFETY: allocated with this layout, and owned by `self`, which is being dropped.
            unsafe { alloc::dealloc(block.as_ptr(), layout(self.room)) };
        }
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the first `filled` bytes are initialised, and unchanged while `self` is borrowed.
        unsafe { slice::from_raw_parts(self.start(), self.filled) }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.filled, self.room)
    }
}

// SAFETY: the block does not move with the value.
unsafe impl Buffer for Memory {
    fn pointer(&self) -> *const u8 {
        self.start()
    }

    fn filled(&self) -> usize {
        self.filled
    }
}

// SAFETY: the block has `room` writable bytes.
unsafe impl BufferMut for Memory {
    fn pointer_mut(&mut self) -> *mut u8 {
        self.start()
    }

    fn room(&self) -> usize {
        self.room
    }

    unsafe fn set_filled(&mut self, filled: usize) {
        self.filled = self.filled.max(filled);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_lies_where_it_should() {
        let mut memory = Memory::default();
        assert!(memory.is_empty());
        for room in [0, 1, 511, 512, 513, 4096, 100_000] {
            memory.empty(room);
            assert!(room < LEAST || memory.pointer() as usize % ALIGNMENT == 0);
            let half = vec![7; room / 2];
            memory.put(&half);
            memory.put(&half);
            assert!(memory.len() == room / 2 * 2 && memory.iter().all(|&byte| byte == 7));
        }
        let block = memory.pointer();
        memory.empty(4096);
        assert_eq!(memory.pointer(), block);
    }

    #[test]
    fn memory_holds_what_was_read() {
        let mut memory = Memory::default();
        let read = |room: &mut [u8]| {
            room[..3].copy_from_slice(b"abc");
            Ok::<_, ()>(3)
        };
        memory.fill(1000, read).unwrap();
        assert_eq!(&*memory, b"abc");
        // A reader that claims too many bytes gets those that exist.
        memory.fill(2, |_| Ok::<_, ()>(5)).unwrap();
        assert_eq!(&*memory, [0, 0]);
        assert_eq!(memory.fill(2, |_| Err(())), Err(()));
        assert!(memory.is_empty());
    }

    #[test]
    #[should_panic(expected = "no room")]
    fn memory_takes_no_more_than_there_is_room_for() {
        let mut memory = Memory::default();
        memory.empty(3);
        memory.put(b"four");
    }
}

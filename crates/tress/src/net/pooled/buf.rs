use super::shelf::ShelfBuffer;
use crate::io::{Buffer, ring};
use std::fmt;
use std::ops::Deref;

/// Bytes that were received into a buffer of a pool. Dropping them makes room for others.
///
/// It can be kept for as long as one likes, sent to other threads, and may outlive its stream and its
/// runtime. But the buffers of a pool are few, so keep it only as long as need be: while all are taken,
/// [pooled streams](super::Pooled) of the same worker wait. To keep the bytes, copy them.
///
/// It is a [`Buffer`], so that it can be
/// [written](crate::io::AsyncWriteOwned::write_all_owned) elsewhere without a copy.
pub struct PooledBuf {
    start: usize,
    memory: Memory,
}

enum Memory {
    Ring(ring::PoolBuffer),
    Shelf(ShelfBuffer),
    /// Its own, of no pool.
    Own(Box<[u8]>),
}

impl PooledBuf {
    pub(super) fn of_ring(buffer: ring::PoolBuffer) -> PooledBuf {
        PooledBuf {
            start: 0,
            memory: Memory::Ring(buffer),
        }
    }

    pub(super) fn of_shelf(buffer: ShelfBuffer) -> PooledBuf {
        PooledBuf {
            start: 0,
            memory: Memory::Shelf(buffer),
        }
    }

    pub(super) fn of_own(bytes: Box<[u8]>) -> PooledBuf {
        PooledBuf {
            start: 0,
            memory: Memory::Own(bytes),
        }
    }

    /// Goes to memory of its own if its pool has few buffers left.
    pub(super) fn make_way(&mut self) {
        if matches!(&self.memory, Memory::Ring(buffer) if buffer.is_scarce()) {
            let bytes = Box::from(&**self);
            *self = PooledBuf::of_own(bytes);
        }
    }

    /// Forgets the first `n` bytes.
    ///
    /// # Panics
    /// If there are fewer.
    #[track_caller]
    pub fn advance(&mut self, n: usize) {
        let len = self.len();
        assert!(n <= len, "advanced by {n} bytes, of which there are {len}");
        self.start += n;
    }
}

impl Deref for PooledBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let all: &[u8] = match &self.memory {
            Memory::Ring(buffer) => buffer,
            Memory::Shelf(buffer) => buffer,
            Memory::Own(bytes) => bytes,
        };
        &all[self.start..]
    }
}

impl AsRef<[u8]> for PooledBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

// SAFETY: the memory is the pool's and stays where it is, and nobody writes to it, until this is dropped.
unsafe impl Buffer for PooledBuf {
    fn pointer(&self) -> *const u8 {
        self.as_ptr()
    }

    fn filled(&self) -> usize {
        self.len()
    }
}

impl fmt::Debug for PooledBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PooledBuf").field(&&**self).finish()
    }
}

use crate::buffers::ShelfBuffer;
use crate::io::{Buffer, ring};
use std::fmt;
use std::ops::Deref;

/// Bytes that were received into a buffer of a pool, returned by
/// [`Pooled::read_pooled`](super::Pooled::read_pooled).
///
/// It dereferences to a slice of bytes. Dropping it gives the buffer back to the pool. It can be sent to
/// other threads, and may outlive its stream and its runtime.
///
/// The buffers of a pool are few: while all are in use, [pooled streams](super::Pooled) of the same worker
/// wait. To keep the bytes for long, copy them.
///
/// It is a [`Buffer`], so it can be [written](crate::io::AsyncWriteOwned::write_all_owned) elsewhere
/// without a copy.
///
/// # Examples
/// ```
/// use tress::io::AsyncWriteExt;
/// use tress::net::{Pooled, PooledBuf};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
/// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
/// # let (mut peer, _) = listener.accept().await?;
/// peer.write_all(b"hello").await?;
/// let mut stream = Pooled::new(stream);
/// let mut bytes: PooledBuf = stream.read_pooled().await?.expect("not at the end");
/// assert_eq!(&bytes[..], b"hello");
/// bytes.advance(1);
/// assert_eq!(&bytes[..], b"ello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct PooledBuf {
    start: usize,
    memory: Memory,
}

enum Memory {
    Ring(ring::PoolBuffer),
    Shelf(ShelfBuffer),
    /// Memory of its own, which belongs to no pool.
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

    /// Moves the bytes to memory of their own if the pool has few buffers left.
    pub(super) fn make_way(&mut self) {
        if matches!(&self.memory, Memory::Ring(buffer) if buffer.is_scarce()) {
            let bytes = Box::from(&**self);
            *self = PooledBuf::of_own(bytes);
        }
    }

    /// Removes the first `n` bytes.
    ///
    /// # Panics
    /// Panics if there are fewer than `n` bytes.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncWriteExt;
    /// use tress::net::Pooled;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// peer.write_all(b"hello").await?;
    /// let mut stream = Pooled::new(stream);
    /// if let Some(mut bytes) = stream.read_pooled().await? {
    ///     bytes.advance(2);
    ///     assert_eq!(&bytes[..], b"llo");
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
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

// SAFETY: the memory belongs to the pool, does not move, and is not written to, until this is dropped.
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

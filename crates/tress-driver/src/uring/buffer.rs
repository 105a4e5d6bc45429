//! Memory that can be lent to the kernel.

use std::fmt;
use std::ops::{Bound, RangeBounds};

/// Memory that can be lent to the kernel: it is owned, and its bytes stay in place when the value moves.
///
/// Implemented for `Vec<u8>`, `Box<[u8]>`, `String`, `&'static [u8]`, `&'static str`, for [slices](Slice) of
/// buffers and, on Linux, for `PoolBuffer`.
///
/// # Safety
/// As long as the value is neither dropped nor used through a mutable reference, [`pointer`](Buffer::pointer)
/// returns the same pointer wherever the value is moved, and [`filled`](Buffer::filled) bytes can be read
/// there.
///
/// # Examples
/// ```
/// use tress_driver::Buffer;
///
/// let buffer = b"hello".to_vec();
/// assert_eq!((buffer.filled(), buffer.bytes()), (5, &b"hello"[..]));
/// ```
pub unsafe trait Buffer: Send + 'static {
    /// Returns the address of the first byte.
    fn pointer(&self) -> *const u8;

    /// Returns the number of initialised bytes: those that a write would write.
    fn filled(&self) -> usize;

    /// Returns the initialised bytes.
    fn bytes(&self) -> &[u8] {
        // SAFETY: readable by the trait's promise, for as long as the buffer is borrowed.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.filled()) }
    }

    /// Restricts the buffer to a range of its bytes, so that an operation writes or fills only those.
    ///
    /// The range may reach beyond the buffer; it is cut to what there is. `buffer.slice(buffer.len()..)` fills
    /// a vector behind its contents. [`Slice::into_inner`] returns the whole buffer.
    ///
    /// # Panics
    /// If the range starts behind its end.
    ///
    /// # Examples
    /// ```
    /// use tress_driver::Buffer;
    ///
    /// let part = b"hello, world".to_vec().slice(7..);
    /// assert_eq!(part.bytes(), b"world");
    /// assert_eq!(part.into_inner(), b"hello, world");
    /// ```
    fn slice(self, range: impl RangeBounds<usize>) -> Slice<Self>
    where
        Self: Sized,
    {
        // Saturating is enough: no buffer is that long.
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&start) => start.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&end) => end.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => usize::MAX,
        };
        assert!(start <= end, "a slice from {start} to {end}");
        Slice {
            buffer: self,
            start,
            end,
        }
    }
}

/// A [`Buffer`] that the kernel may fill.
///
/// A read fills it from the start. Use a [slice](Buffer::slice) to keep what is there.
///
/// # Safety
/// As for [`Buffer`]; and [`room`](BufferMut::room) bytes can be written at
/// [`pointer_mut`](BufferMut::pointer_mut), which is the same address as [`pointer`](Buffer::pointer).
///
/// # Examples
/// ```
/// use tress_driver::{Buffer, BufferMut};
///
/// let buffer = Vec::with_capacity(4096);
/// assert_eq!((buffer.filled(), buffer.room()), (0, 4096));
/// ```
pub unsafe trait BufferMut: Buffer {
    /// Returns the address of the first byte, for writing.
    fn pointer_mut(&mut self) -> *mut u8;

    /// Returns the number of bytes that fit, including those that are initialised.
    fn room(&self) -> usize;

    /// Records that the first `filled` bytes are initialised. Never shortens the buffer.
    ///
    /// # Safety
    /// The first `filled` bytes are initialised, and `filled` is at most [`room`](BufferMut::room).
    unsafe fn set_filled(&mut self, filled: usize);
}

// SAFETY: the heap block of a vector does not move with it.
unsafe impl Buffer for Vec<u8> {
    fn pointer(&self) -> *const u8 {
        self.as_ptr()
    }

    fn filled(&self) -> usize {
        self.len()
    }
}

// SAFETY: `capacity` bytes are writable.
unsafe impl BufferMut for Vec<u8> {
    fn pointer_mut(&mut self) -> *mut u8 {
        self.as_mut_ptr()
    }

    fn room(&self) -> usize {
        self.capacity()
    }

    unsafe fn set_filled(&mut self, filled: usize) {
        if filled > self.len() {
            // SAFETY: filled, and within the capacity, by the caller's promise.
            unsafe { self.set_len(filled) };
        }
    }
}

// SAFETY: the heap block of a box does not move with it.
unsafe impl Buffer for Box<[u8]> {
    fn pointer(&self) -> *const u8 {
        self.as_ptr()
    }

    fn filled(&self) -> usize {
        self.len()
    }
}

// SAFETY: all of it is writable, and filled from the start.
unsafe impl BufferMut for Box<[u8]> {
    fn pointer_mut(&mut self) -> *mut u8 {
        self.as_mut_ptr()
    }

    fn room(&self) -> usize {
        self.len()
    }

    unsafe fn set_filled(&mut self, _: usize) {}
}

// SAFETY: lives for ever, in one place.
unsafe impl Buffer for &'static [u8] {
    fn pointer(&self) -> *const u8 {
        self.as_ptr()
    }

    fn filled(&self) -> usize {
        self.len()
    }
}

// SAFETY: lives for ever, in one place.
unsafe impl Buffer for &'static str {
    fn pointer(&self) -> *const u8 {
        self.as_ptr()
    }

    fn filled(&self) -> usize {
        self.len()
    }
}

// SAFETY: the heap block of a string does not move with it.
unsafe impl Buffer for String {
    fn pointer(&self) -> *const u8 {
        self.as_ptr()
    }

    fn filled(&self) -> usize {
        self.len()
    }
}

/// A range of a buffer; created by [`Buffer::slice`].
///
/// It is a buffer itself. Its start is kept within the initialised bytes of the whole buffer, and its end
/// within the room.
///
/// # Examples
/// ```
/// use tress_driver::{Buffer, BufferMut};
///
/// let mut buffer = Vec::with_capacity(16);
/// buffer.extend_from_slice(b"head");
/// let rest = buffer.slice(4..10);
/// assert_eq!((rest.filled(), rest.room()), (0, 6));
/// ```
pub struct Slice<B> {
    buffer: B,
    start: usize,
    end: usize,
}

impl<B> Slice<B> {
    /// Returns the whole buffer.
    pub fn into_inner(self) -> B {
        self.buffer
    }

    /// Returns a reference to the whole buffer.
    pub fn get_ref(&self) -> &B {
        &self.buffer
    }
}

impl<B> fmt::Debug for Slice<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slice")
            .field("start", &self.start)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

// SAFETY: the start is kept within what is filled, and so is the end.
unsafe impl<B: Buffer> Buffer for Slice<B> {
    fn pointer(&self) -> *const u8 {
        let start = self.start.min(self.buffer.filled());
        // SAFETY: within the filled bytes.
        unsafe { self.buffer.pointer().add(start) }
    }

    fn filled(&self) -> usize {
        self.end
            .min(self.buffer.filled())
            .saturating_sub(self.start)
    }
}

// SAFETY: the start is kept within what is filled, which is where `pointer` is, and the end within what
// there is room for.
unsafe impl<B: BufferMut> BufferMut for Slice<B> {
    fn pointer_mut(&mut self) -> *mut u8 {
        let start = self.start.min(self.buffer.filled());
        // SAFETY: within the buffer.
        unsafe { self.buffer.pointer_mut().add(start) }
    }

    fn room(&self) -> usize {
        let start = self.start.min(self.buffer.filled());
        self.end.min(self.buffer.room()).saturating_sub(start)
    }

    unsafe fn set_filled(&mut self, filled: usize) {
        let start = self.start.min(self.buffer.filled());
        // SAFETY: what is before the start is filled, and the caller promises the rest.
        unsafe { self.buffer.set_filled(start + filled) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn slices_stay_within_their_buffers() {
        let whole = b"0123456789".to_vec();
        let part = whole.slice(2..5);
        assert_eq!(part.bytes(), b"234");
        let part = part.into_inner().slice(..);
        assert_eq!(part.bytes(), b"0123456789");
        let part = part.into_inner().slice(8..100);
        assert_eq!(part.bytes(), b"89");
        let part = part.into_inner().slice(20..);
        assert_eq!(part.bytes(), b"");
        assert_eq!(part.get_ref().len(), 10);
    }

    #[test]
    fn ranges_reach_to_the_last_number() {
        let part = b"0123".to_vec().slice(..=usize::MAX);
        assert_eq!(part.bytes(), b"0123");
        let last = (Bound::Excluded(usize::MAX), Bound::Unbounded);
        let part = part.into_inner().slice(last);
        assert_eq!(part.bytes(), b"");
    }

    #[test]
    fn a_slice_is_filled_from_its_start() {
        let mut buffer = Vec::with_capacity(16);
        buffer.extend_from_slice(b"head");
        let mut part = buffer.slice(4..10);
        assert_eq!(part.filled(), 0);
        assert_eq!(part.room(), 6);
        // SAFETY: three bytes are written, and there is room for six.
        unsafe {
            part.pointer_mut().copy_from(b"xyz".as_ptr(), 3);
            part.set_filled(3);
        }
        assert_eq!(part.bytes(), b"xyz");
        assert_eq!(part.into_inner(), b"headxyz");
    }

    #[test]
    fn filling_never_shortens() {
        let mut buffer = b"abc".to_vec();
        // SAFETY: filled already.
        unsafe { buffer.set_filled(1) };
        assert_eq!(buffer, b"abc");
    }
}

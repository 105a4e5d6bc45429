use std::fmt;
use std::ops::{Bound, RangeBounds};

/// Memory that can be lent to the kernel: it is owned, and stays where it is when its owner moves.
///
/// # Safety
/// As long as the value is neither dropped nor used through a mutable reference, `pointer` returns the
/// same pointer wherever the value is moved, and `filled` bytes can be read there.
pub unsafe trait Buffer: Send + 'static {
    /// Where the bytes are.
    fn pointer(&self) -> *const u8;

    /// How many bytes have a value: as many as a write would write.
    fn filled(&self) -> usize;

    /// The filled bytes.
    fn bytes(&self) -> &[u8] {
        // SAFETY: readable by the trait's promise, for as long as the buffer is borrowed.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.filled()) }
    }

    /// A part of the buffer, to write or to fill only that: `buffer.slice(buffer.len()..)` is filled
    /// behind what is there.
    ///
    /// # Panics
    /// If the range starts behind its end.
    fn slice(self, range: impl RangeBounds<usize>) -> Slice<Self>
    where
        Self: Sized,
    {
        // No buffer reaches as far as where this would overflow.
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

/// Memory that the kernel may fill.
///
/// # Safety
/// As for [`Buffer`]; and `room` bytes can be written at `pointer_mut`, which is where `pointer` is.
pub unsafe trait BufferMut: Buffer {
    /// Where the bytes are.
    fn pointer_mut(&mut self) -> *mut u8;

    /// How many bytes fit, those already filled included: a read fills from the start.
    fn room(&self) -> usize;

    /// Says that the first `filled` bytes have a value now. Never makes the buffer less filled than it is.
    ///
    /// # Safety
    /// They do, and there are no more than `room`.
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

/// A part of a buffer, made by [`Buffer::slice`].
pub struct Slice<B> {
    buffer: B,
    start: usize,
    end: usize,
}

impl<B> Slice<B> {
    /// The whole buffer.
    pub fn into_inner(self) -> B {
        self.buffer
    }

    /// The whole buffer.
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

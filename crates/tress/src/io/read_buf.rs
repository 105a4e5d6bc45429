use std::fmt;
use std::mem::MaybeUninit;

/// A buffer that reads append to, which need not be initialised.
///
/// ```text
/// [             capacity              ]
/// [ filled |         unfilled         ]
/// [    initialized    | uninitialized ]
/// ```
///
/// It keeps two marks over a slice of bytes: how many are filled, that is, hold what was read, and
/// how many have been initialised at some time, which are at least those. A reader fills it in one
/// of two ways: with [`put_slice`](ReadBuf::put_slice), or by writing to
/// [`initialize_unfilled`](ReadBuf::initialize_unfilled) and saying how much it was with
/// [`advance`](ReadBuf::advance).
///
/// ```
/// use std::mem::MaybeUninit;
/// use tress::io::ReadBuf;
///
/// let mut space = [const { MaybeUninit::uninit() }; 8];
/// let mut buf = ReadBuf::uninit(&mut space);
/// buf.put_slice(b"abc");
/// buf.initialize_unfilled_to(2).copy_from_slice(b"de");
/// buf.advance(2);
/// assert_eq!(buf.filled(), b"abcde");
/// assert_eq!(buf.remaining(), 3);
/// ```
pub struct ReadBuf<'a> {
    buf: &'a mut [MaybeUninit<u8>],
    /// At most `initialized`.
    filled: usize,
    /// The first so many bytes of `buf` are initialised. At most its length.
    initialized: usize,
}

impl<'a> ReadBuf<'a> {
    /// A buffer over bytes that are initialised, with none of them filled.
    #[inline]
    pub fn new(buf: &'a mut [u8]) -> ReadBuf<'a> {
        let initialized = buf.len();
        let raw = buf as *mut [u8] as *mut [MaybeUninit<u8>];
        ReadBuf {
            // SAFETY: the layout is the same, and nothing but initialised bytes is ever written
            // through it: what hands out `MaybeUninit` is unsafe and asks for that.
            buf: unsafe { &mut *raw },
            filled: 0,
            initialized,
        }
    }

    /// A buffer over bytes that need not be initialised.
    ///
    /// If some are, [`assume_init`](ReadBuf::assume_init) tells it.
    #[inline]
    pub fn uninit(buf: &'a mut [MaybeUninit<u8>]) -> ReadBuf<'a> {
        ReadBuf {
            buf,
            filled: 0,
            initialized: 0,
        }
    }

    /// How many bytes it can hold.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// The bytes that were read.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        // SAFETY: filled bytes are initialised.
        unsafe { assume_init_ref(&self.buf[..self.filled]) }
    }

    /// The bytes that were read.
    #[inline]
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: filled bytes are initialised.
        unsafe { assume_init_mut(&mut self.buf[..self.filled]) }
    }

    /// A buffer over the unfilled part, or over the first `n` bytes of it.
    ///
    /// It knows nothing about what is initialised, and what happens to it is not noticed here:
    /// when it has been filled, call [`assume_init`](ReadBuf::assume_init) and
    /// [`advance`](ReadBuf::advance).
    ///
    /// ```
    /// # use tress::io::ReadBuf;
    /// let mut space = [0; 8];
    /// let mut buf = ReadBuf::new(&mut space);
    /// let mut part = buf.take(3);
    /// part.put_slice(b"abc");
    /// assert_eq!(part.remaining(), 0);
    /// buf.advance(3);
    /// assert_eq!(buf.filled(), b"abc");
    /// ```
    #[inline]
    pub fn take(&mut self, n: usize) -> ReadBuf<'_> {
        let n = n.min(self.remaining());
        ReadBuf::uninit(&mut self.buf[self.filled..self.filled + n])
    }

    /// The bytes that are initialised: the filled ones and perhaps more.
    #[inline]
    pub fn initialized(&self) -> &[u8] {
        // SAFETY: that is what the mark means.
        unsafe { assume_init_ref(&self.buf[..self.initialized]) }
    }

    /// The bytes that are initialised: the filled ones and perhaps more.
    #[inline]
    pub fn initialized_mut(&mut self) -> &mut [u8] {
        // SAFETY: that is what the mark means.
        unsafe { assume_init_mut(&mut self.buf[..self.initialized]) }
    }

    /// The whole buffer.
    ///
    /// # Safety
    /// The caller must not write uninitialised bytes over what is initialised.
    #[inline]
    pub unsafe fn inner_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        self.buf
    }

    /// The part that is not filled, initialised or not.
    ///
    /// # Safety
    /// The caller must not write uninitialised bytes over what is initialised.
    #[inline]
    pub unsafe fn unfilled_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.buf[self.filled..]
    }

    /// Marks `n` bytes behind the filled ones as initialised. The mark never moves back.
    ///
    /// # Panics
    /// If there are fewer bytes.
    ///
    /// # Safety
    /// They must be.
    #[inline]
    #[track_caller]
    pub unsafe fn assume_init(&mut self, n: usize) {
        assert!(n <= self.remaining(), "assume_init beyond the buffer's end");
        self.initialized = self.initialized.max(self.filled + n);
    }

    /// The part that is not filled, set to zero as far as it was not initialised.
    #[inline]
    pub fn initialize_unfilled(&mut self) -> &mut [u8] {
        self.initialize_unfilled_to(self.remaining())
    }

    /// The first `n` bytes of what is not filled, set to zero as far as they were not initialised.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    #[track_caller]
    pub fn initialize_unfilled_to(&mut self, n: usize) -> &mut [u8] {
        assert!(
            n <= self.remaining(),
            "n is more than what remains of the buffer"
        );
        let end = self.filled + n;
        if self.initialized < end {
            self.buf[self.initialized..end].fill(MaybeUninit::new(0));
            self.initialized = end;
        }
        // SAFETY: everything below `initialized`, which is at least `end`.
        unsafe { assume_init_mut(&mut self.buf[self.filled..end]) }
    }

    /// How many bytes more it can take.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.buf.len() - self.filled
    }

    /// Makes it empty. What is initialised stays so.
    #[inline]
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Counts the next `n` bytes as filled.
    ///
    /// # Panics
    /// If they are not all initialised.
    #[inline]
    #[track_caller]
    pub fn advance(&mut self, n: usize) {
        let filled = self
            .filled
            .checked_add(n)
            .expect("the filled part would overflow");
        self.set_filled(filled);
    }

    /// Counts exactly the first `n` bytes as filled.
    ///
    /// # Panics
    /// If they are not all initialised.
    #[inline]
    #[track_caller]
    pub fn set_filled(&mut self, n: usize) {
        assert!(
            n <= self.initialized,
            "bytes that were never initialised cannot be counted as filled"
        );
        self.filled = n;
    }

    /// Appends bytes.
    ///
    /// # Panics
    /// If there is not enough room for them.
    #[inline]
    #[track_caller]
    pub fn put_slice(&mut self, bytes: &[u8]) {
        assert!(
            bytes.len() <= self.remaining(),
            "there is no room for the bytes in the buffer; `remaining` tells how much there is"
        );
        let end = self.filled + bytes.len();
        let target = &mut self.buf[self.filled..end];
        // SAFETY: both are as long as `bytes`, and the borrows keep them apart.
        unsafe {
            target
                .as_mut_ptr()
                .cast::<u8>()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        self.filled = end;
        self.initialized = self.initialized.max(end);
    }
}

#[cfg(feature = "bytes")]
// SAFETY: `chunk_mut` is the unfilled part and as long as `remaining_mut` says; what follows it
// stays in place until the buffer is advanced.
unsafe impl bytes::BufMut for ReadBuf<'_> {
    #[inline]
    fn remaining_mut(&self) -> usize {
        self.remaining()
    }

    #[inline]
    unsafe fn advance_mut(&mut self, n: usize) {
        // SAFETY: the caller has written them.
        unsafe { self.assume_init(n) };
        self.advance(n);
    }

    #[inline]
    fn chunk_mut(&mut self) -> &mut bytes::buf::UninitSlice {
        // SAFETY: an `UninitSlice` cannot be made less initialised by safe code.
        bytes::buf::UninitSlice::uninit(unsafe { self.unfilled_mut() })
    }
}

impl fmt::Debug for ReadBuf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadBuf")
            .field("filled", &self.filled)
            .field("initialized", &self.initialized)
            .field("capacity", &self.capacity())
            .finish()
    }
}

/// # Safety
/// All bytes are initialised.
#[inline]
unsafe fn assume_init_ref(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: the layout is the same; the rest is the caller's promise.
    unsafe { &*(bytes as *const [MaybeUninit<u8>] as *const [u8]) }
}

/// # Safety
/// All bytes are initialised.
#[inline]
unsafe fn assume_init_mut(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: the layout is the same; the rest is the caller's promise.
    unsafe { &mut *(bytes as *mut [MaybeUninit<u8>] as *mut [u8]) }
}

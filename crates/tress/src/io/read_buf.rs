use std::fmt;
use std::mem::MaybeUninit;

/// A buffer that a reader appends bytes to, and that need not be initialized.
///
/// It keeps two marks over a slice of bytes: how many are *filled*, that is, hold what was read, and how
/// many are *initialized*, which are at least the filled ones.
///
/// ```text
/// [             capacity              ]
/// [ filled |         unfilled         ]
/// [    initialized    | uninitialized ]
/// ```
///
/// A reader fills it in one of two ways: by [`put_slice`](ReadBuf::put_slice), or by writing to the slice
/// that [`initialize_unfilled`](ReadBuf::initialize_unfilled) returns and calling
/// [`advance`](ReadBuf::advance). The mark of the initialized bytes never moves back, so that memory that
/// is used for several reads is set to zero at most once.
///
/// # Examples
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
    /// Number of bytes that are filled: at most `initialized`.
    filled: usize,
    /// Number of bytes, from the start of `buf`, that are initialized: at most its length.
    initialized: usize,
}

impl<'a> ReadBuf<'a> {
    /// Creates a buffer over initialized bytes, with none of them filled.
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [0; 8];
    /// let buf = ReadBuf::new(&mut space);
    /// assert_eq!(buf.initialized().len(), 8);
    /// assert_eq!(buf.remaining(), 8);
    /// ```
    #[inline]
    pub fn new(buf: &'a mut [u8]) -> ReadBuf<'a> {
        let initialized = buf.len();
        let raw = buf as *mut [u8] as *mut [MaybeUninit<u8>];
        ReadBuf {
            // SAFETY: the layout is the same, and only initialized bytes are ever written through it: the
            // functions that hand out `MaybeUninit` are unsafe and require that.
            buf: unsafe { &mut *raw },
            filled: 0,
            initialized,
        }
    }

    /// Creates a buffer over bytes that need not be initialized.
    ///
    /// If some of them are, call [`assume_init`](ReadBuf::assume_init).
    ///
    /// # Examples
    /// ```
    /// use std::mem::MaybeUninit;
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [MaybeUninit::uninit(); 8];
    /// let mut buf = ReadBuf::uninit(&mut space);
    /// assert_eq!(buf.initialized(), b"");
    /// assert_eq!(buf.initialize_unfilled(), [0; 8]);
    /// ```
    #[inline]
    pub fn uninit(buf: &'a mut [MaybeUninit<u8>]) -> ReadBuf<'a> {
        ReadBuf {
            buf,
            filled: 0,
            initialized: 0,
        }
    }

    /// Returns the number of bytes that the buffer can hold, filled or not.
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [0; 8];
    /// let mut buf = ReadBuf::new(&mut space);
    /// buf.put_slice(b"abc");
    /// assert_eq!(buf.capacity(), 8);
    /// ```
    #[inline]
    pub fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// Returns the filled part: the bytes that were read.
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [0; 8];
    /// let mut buf = ReadBuf::new(&mut space);
    /// buf.put_slice(b"abc");
    /// assert_eq!(buf.filled(), b"abc");
    /// ```
    #[inline]
    pub fn filled(&self) -> &[u8] {
        // SAFETY: filled bytes are initialized.
        unsafe { assume_init_ref(&self.buf[..self.filled]) }
    }

    /// Returns the filled part, mutably.
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [0; 8];
    /// let mut buf = ReadBuf::new(&mut space);
    /// buf.put_slice(b"abc");
    /// buf.filled_mut().make_ascii_uppercase();
    /// assert_eq!(buf.filled(), b"ABC");
    /// ```
    #[inline]
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: filled bytes are initialized.
        unsafe { assume_init_mut(&mut self.buf[..self.filled]) }
    }

    /// Returns a buffer over the first `n` bytes of the unfilled part, or over all of it if it is shorter.
    ///
    /// The new buffer takes none of its bytes to be initialized, and this buffer does not notice when it is
    /// filled. When it has been, call [`assume_init`](ReadBuf::assume_init) (unless the bytes were
    /// initialized before) and [`advance`](ReadBuf::advance).
    ///
    /// # Examples
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

    /// Returns the initialized part: the filled bytes and perhaps more behind them.
    ///
    /// # Examples
    /// ```
    /// use std::mem::MaybeUninit;
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [MaybeUninit::uninit(); 8];
    /// let mut buf = ReadBuf::uninit(&mut space);
    /// buf.put_slice(b"abc");
    /// assert_eq!(buf.initialized(), b"abc");
    /// ```
    #[inline]
    pub fn initialized(&self) -> &[u8] {
        // SAFETY: that is what the mark means.
        unsafe { assume_init_ref(&self.buf[..self.initialized]) }
    }

    /// Returns the initialized part, mutably.
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [0; 4];
    /// let mut buf = ReadBuf::new(&mut space);
    /// buf.initialized_mut().copy_from_slice(b"abcd");
    /// buf.advance(2);
    /// assert_eq!(buf.filled(), b"ab");
    /// ```
    #[inline]
    pub fn initialized_mut(&mut self) -> &mut [u8] {
        // SAFETY: that is what the mark means.
        unsafe { assume_init_mut(&mut self.buf[..self.initialized]) }
    }

    /// Returns the whole buffer.
    ///
    /// # Safety
    /// The caller must not de-initialize bytes of the initialized part.
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [0; 4];
    /// let mut buf = ReadBuf::new(&mut space);
    /// // SAFETY: a byte is written, and none is de-initialized.
    /// unsafe { buf.inner_mut()[0].write(7) };
    /// buf.advance(1);
    /// assert_eq!(buf.filled(), [7]);
    /// ```
    #[inline]
    pub unsafe fn inner_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        self.buf
    }

    /// Returns the unfilled part, initialized or not.
    ///
    /// When bytes have been written to it, call [`assume_init`](ReadBuf::assume_init) and then
    /// [`advance`](ReadBuf::advance).
    ///
    /// # Safety
    /// The caller must not de-initialize bytes of the initialized part.
    ///
    /// # Examples
    /// ```
    /// use std::mem::MaybeUninit;
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [MaybeUninit::uninit(); 4];
    /// let mut buf = ReadBuf::uninit(&mut space);
    /// // SAFETY: a byte is written, none is de-initialized, and it is the one that is taken to be initialized.
    /// unsafe {
    ///     buf.unfilled_mut()[0].write(7);
    ///     buf.assume_init(1);
    /// }
    /// buf.advance(1);
    /// assert_eq!(buf.filled(), [7]);
    /// ```
    #[inline]
    pub unsafe fn unfilled_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.buf[self.filled..]
    }

    /// Marks the first `n` bytes of the unfilled part as initialized.
    ///
    /// The mark never moves back: nothing changes if more bytes are initialized already.
    ///
    /// # Panics
    /// Panics if the unfilled part is shorter than `n` bytes.
    ///
    /// # Safety
    /// The first `n` bytes of the unfilled part must be initialized.
    ///
    /// # Examples
    /// ```
    /// use std::mem::MaybeUninit;
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [MaybeUninit::uninit(); 8];
    /// let mut buf = ReadBuf::uninit(&mut space);
    /// // SAFETY: initialized bytes are written, and as many are marked.
    /// unsafe {
    ///     buf.unfilled_mut()[..2].fill(MaybeUninit::new(b'x'));
    ///     buf.assume_init(2);
    /// }
    /// buf.advance(2);
    /// assert_eq!(buf.filled(), b"xx");
    /// ```
    #[inline]
    #[track_caller]
    pub unsafe fn assume_init(&mut self, n: usize) {
        assert!(n <= self.remaining(), "assume_init beyond the buffer's end");
        self.initialized = self.initialized.max(self.filled + n);
    }

    /// Returns the unfilled part, after setting to zero what of it is not initialized.
    ///
    /// When bytes have been written to it, call [`advance`](ReadBuf::advance).
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [0; 8];
    /// let mut buf = ReadBuf::new(&mut space);
    /// buf.initialize_unfilled()[..2].copy_from_slice(b"hi");
    /// buf.advance(2);
    /// assert_eq!(buf.filled(), b"hi");
    /// ```
    #[inline]
    pub fn initialize_unfilled(&mut self) -> &mut [u8] {
        self.initialize_unfilled_to(self.remaining())
    }

    /// Returns the first `n` bytes of the unfilled part, after setting to zero what of them is not
    /// initialized.
    ///
    /// When bytes have been written to them, call [`advance`](ReadBuf::advance).
    ///
    /// # Panics
    /// Panics if the unfilled part is shorter than `n` bytes.
    ///
    /// # Examples
    /// ```
    /// use std::mem::MaybeUninit;
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [MaybeUninit::uninit(); 8];
    /// let mut buf = ReadBuf::uninit(&mut space);
    /// buf.initialize_unfilled_to(3).copy_from_slice(b"abc");
    /// buf.advance(3);
    /// assert_eq!(buf.filled(), b"abc");
    /// ```
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

    /// Returns the number of bytes in the unfilled part.
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [0; 8];
    /// let mut buf = ReadBuf::new(&mut space);
    /// buf.put_slice(b"abc");
    /// assert_eq!(buf.remaining(), 5);
    /// ```
    #[inline]
    pub fn remaining(&self) -> usize {
        self.buf.len() - self.filled
    }

    /// Marks all bytes as unfilled. Initialized bytes stay initialized.
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [0; 8];
    /// let mut buf = ReadBuf::new(&mut space);
    /// buf.put_slice(b"hello");
    /// buf.clear();
    /// assert_eq!(buf.remaining(), 8);
    /// ```
    #[inline]
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Marks the next `n` bytes as filled.
    ///
    /// # Panics
    /// Panics if they are not all initialized.
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = *b"abcd";
    /// let mut buf = ReadBuf::new(&mut space);
    /// buf.advance(2);
    /// assert_eq!(buf.filled(), b"ab");
    /// ```
    #[inline]
    #[track_caller]
    pub fn advance(&mut self, n: usize) {
        let filled = self
            .filled
            .checked_add(n)
            .expect("the filled part would overflow");
        self.set_filled(filled);
    }

    /// Marks the first `n` bytes, and no others, as filled.
    ///
    /// # Panics
    /// Panics if they are not all initialized.
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = *b"hello";
    /// let mut buf = ReadBuf::new(&mut space);
    /// buf.set_filled(4);
    /// assert_eq!(buf.filled(), b"hell");
    /// ```
    #[inline]
    #[track_caller]
    pub fn set_filled(&mut self, n: usize) {
        assert!(
            n <= self.initialized,
            "bytes that were never initialised cannot be counted as filled"
        );
        self.filled = n;
    }

    /// Appends bytes to the filled part.
    ///
    /// # Panics
    /// Panics if there is not enough room for them: see [`remaining`](ReadBuf::remaining).
    ///
    /// # Examples
    /// ```
    /// use tress::io::ReadBuf;
    ///
    /// let mut space = [0; 8];
    /// let mut buf = ReadBuf::new(&mut space);
    /// buf.put_slice(b"hello");
    /// assert_eq!(buf.filled(), b"hello");
    /// assert_eq!(buf.remaining(), 3);
    /// ```
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
        // SAFETY: an `UninitSlice` cannot be made less initialized by safe code.
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

/// Reinterprets initialized bytes.
///
/// # Safety
/// All bytes are initialized.
#[inline]
unsafe fn assume_init_ref(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: the layout is the same; the rest is the caller's promise.
    unsafe { &*(bytes as *const [MaybeUninit<u8>] as *const [u8]) }
}

/// Reinterprets initialized bytes.
///
/// # Safety
/// All bytes are initialized.
#[inline]
unsafe fn assume_init_mut(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: the layout is the same; the rest is the caller's promise.
    unsafe { &mut *(bytes as *mut [MaybeUninit<u8>] as *mut [u8]) }
}

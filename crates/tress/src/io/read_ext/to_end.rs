use crate::io::operation::Step;
use crate::io::uninit::poll_read_uninit;
use crate::io::{AsyncRead, ReadBuf, is_interrupted};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Minimum size of a read. A vector does not grow before a read of this size has shown that there is more.
const SMALL: usize = 32;

/// The operation of [`AsyncReadExt::read_to_end`](crate::io::AsyncReadExt::read_to_end).
#[derive(Debug)]
pub struct ReadToEnd<'a> {
    buf: &'a mut Vec<u8>,
    start: usize,
    spare: Spare,
}

impl<'a> ReadToEnd<'a> {
    pub(super) fn new(buf: &'a mut Vec<u8>) -> Self {
        let start = buf.len();
        let spare = Spare::new(buf);
        ReadToEnd { buf, start, spare }
    }
}

impl<R: AsyncRead + ?Sized> Step<R> for ReadToEnd<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        ready!(self.spare.poll_read_to_end(reader, cx, self.buf))?;
        Poll::Ready(Ok(self.buf.len() - self.start))
    }
}

/// State of the space behind a vector's bytes.
#[derive(Debug)]
pub(super) struct Spare {
    /// Number of initialized bytes, so that a reader that needs initialized memory sets it to zero only
    /// once.
    initialized: usize,
    /// Capacity of the vector at the beginning, which may have been chosen to fit exactly.
    capacity: usize,
}

impl Spare {
    pub(super) fn new(vec: &Vec<u8>) -> Self {
        Spare {
            initialized: 0,
            capacity: vec.capacity(),
        }
    }

    /// Appends everything up to the end. It must be given the same vector each time.
    pub(super) fn poll_read_to_end<R: AsyncRead + ?Sized>(
        &mut self,
        mut reader: Pin<&mut R>,
        cx: &mut Context<'_>,
        vec: &mut Vec<u8>,
    ) -> Poll<io::Result<()>> {
        loop {
            match ready!(self.poll_read_some(reader.as_mut(), cx, vec)) {
                Ok(0) => return Poll::Ready(Ok(())),
                Ok(_) => {}
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn poll_read_some<R: AsyncRead + ?Sized>(
        &mut self,
        reader: Pin<&mut R>,
        cx: &mut Context<'_>,
        vec: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        if vec.capacity() - vec.len() < SMALL {
            if vec.capacity() == self.capacity && self.capacity >= SMALL {
                return self.poll_read_aside(reader, cx, vec);
            }
            vec.reserve(SMALL);
            self.initialized = 0;
        }
        let len = vec.len();
        // SAFETY: the last read has left `initialized` bytes initialized, and nothing has touched them
        // since.
        let filled = ready!(unsafe {
            poll_read_uninit(reader, cx, vec.spare_capacity_mut(), self.initialized)
        })?;
        // SAFETY: these are initialized, and within the capacity.
        unsafe { vec.set_len(len + filled.len) };
        self.initialized = filled.initialized - filled.len;
        Poll::Ready(Ok(filled.len))
    }

    /// Reads into memory on the stack, so that a vector that is just large enough does not grow only to
    /// find out that this was the end.
    fn poll_read_aside<R: AsyncRead + ?Sized>(
        &mut self,
        reader: Pin<&mut R>,
        cx: &mut Context<'_>,
        vec: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        let mut aside = [const { MaybeUninit::uninit() }; SMALL];
        let mut buf = ReadBuf::uninit(&mut aside);
        ready!(reader.poll_read(cx, &mut buf))?;
        vec.extend_from_slice(buf.filled());
        self.initialized = 0;
        Poll::Ready(Ok(buf.filled().len()))
    }
}

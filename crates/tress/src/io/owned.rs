//! Reads and writes with buffers that are given away and come back.

use super::source::Source;
use crate::task::coop;
use std::future::{Future, poll_fn};
use std::io;
use std::mem::MaybeUninit;
use tress_driver::{Buffer, BufferMut, Interest};

/// Reads into buffers that the reader owns meanwhile.
///
/// With io_uring a read is an operation of the kernel, which writes straight into the buffer when there is
/// something: nobody waits for readiness first, and nothing is copied on the way. On other backends, and
/// with kernels that lack the operation, the same methods try, wait for readiness, and try again.
///
/// A buffer is a [`BufferMut`], such as a `Vec<u8>`, of which the capacity counts: it is filled from its
/// start, over what is there. To keep that, read into a [slice](Buffer::slice) behind it.
///
/// ```
/// use tress::io::{AsyncReadOwned, AsyncWriteOwned};
/// use tress::net::UnixStream;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (mut near, mut far) = UnixStream::pair()?;
/// let (written, _) = near.write_all_owned("hello").await;
/// written?;
/// let (read, buffer) = far.read_owned(Vec::with_capacity(64)).await;
/// assert_eq!(read?, 5);
/// assert_eq!(buffer, b"hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub trait AsyncReadOwned {
    /// Reads once, and returns how much, with the buffer. 0 is the end, or a buffer without room.
    ///
    /// # Errors
    /// What the system says; that the runtime has shut down. The buffer comes back in any case.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the read, and loses no byte: what the kernel had put into the buffer by then is
    /// copied, and the next read of the stream returns it first, whichever kind of read that is. (A file is read at
    /// a position that moves when the read is over.) The buffer is lost, but lives until the kernel is done with it,
    /// as does the descriptor. A stream that is made one of the standard library's with such bytes unread returns
    /// an error instead, as do `try_io` and `async_io`: read them first.
    fn read_owned<B: BufferMut>(
        &mut self,
        buffer: B,
    ) -> impl Future<Output = (io::Result<usize>, B)> + Send;

    /// Reads until there is no more room in the buffer.
    ///
    /// ```
    /// use tress::io::{AsyncReadOwned, AsyncWriteOwned};
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut sender, mut receiver) = pipe::pipe()?;
    /// for part in ["ab", "cd", "ef"] {
    ///     sender.write_all_owned(part).await.0?;
    /// }
    /// let (read, four) = receiver.read_exact_owned(vec![0; 4]).await;
    /// read?;
    /// assert_eq!(four, b"abcd");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `UnexpectedEof` at the end; else as for [`read_owned`](Self::read_owned).
    ///
    /// # Cancel safety
    /// What earlier reads have put into the buffer is lost with it. The read that waits loses nothing, as
    /// [`read_owned`](Self::read_owned).
    fn read_exact_owned<B: BufferMut>(
        &mut self,
        mut buffer: B,
    ) -> impl Future<Output = (io::Result<()>, B)> + Send
    where
        Self: Send,
    {
        async move {
            let mut filled = 0;
            while filled < buffer.room() {
                let (read, rest) = self.read_owned(buffer.slice(filled..)).await;
                buffer = rest.into_inner();
                match read {
                    Ok(0) => return (Err(super::ended_early()), buffer),
                    Ok(n) => filled += n,
                    Err(error) => return (Err(error), buffer),
                }
            }
            (Ok(()), buffer)
        }
    }
}

/// Writes buffers that the writer owns meanwhile. The counterpart of [`AsyncReadOwned`].
///
/// A buffer is a [`Buffer`]: a `Vec<u8>`, a `String`, `&'static` bytes or text, a
/// [`PooledBuf`](crate::net::PooledBuf), or a [slice](Buffer::slice) of one.
pub trait AsyncWriteOwned {
    /// Writes once, and returns how much of what the buffer is filled with, with the buffer.
    ///
    /// # Errors
    /// What the system says; that the runtime has shut down. The buffer comes back in any case.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the write: nothing, some or all of it may be written. The buffer and the
    /// descriptor live until the kernel is done with them.
    fn write_owned<B: Buffer>(
        &mut self,
        buffer: B,
    ) -> impl Future<Output = (io::Result<usize>, B)> + Send;

    /// Writes everything that the buffer is filled with.
    ///
    /// # Errors
    /// `WriteZero` if nothing more is taken; else as for [`write_owned`](Self::write_owned).
    ///
    /// # Cancel safety
    /// As for [`write_owned`](Self::write_owned).
    fn write_all_owned<B: Buffer>(
        &mut self,
        buffer: B,
    ) -> impl Future<Output = (io::Result<()>, B)> + Send
    where
        Self: Send,
    {
        async move {
            if buffer.filled() == 0 {
                return (Ok(()), buffer);
            }
            // Mostly all of it goes at once, and needs no slice.
            let (mut result, mut buffer) = self.write_owned(buffer).await;
            let mut written = 0;
            loop {
                match result {
                    Ok(0) => return (Err(super::write_zero()), buffer),
                    Ok(n) => written += n,
                    Err(error) => return (Err(error), buffer),
                }
                if written >= buffer.filled() {
                    return (Ok(()), buffer);
                }
                let rest;
                (result, rest) = self.write_owned(buffer.slice(written..)).await;
                buffer = rest.into_inner();
            }
        }
    }
}

/// A buffer that no operation was made of.
#[derive(Debug)]
pub(crate) struct Refused<B> {
    pub(super) buffer: B,
    /// None: it is to be done another way.
    pub(super) error: Option<io::Error>,
}

/// All of the memory that may be filled.
pub(crate) fn room<B: BufferMut>(buffer: &mut B) -> &mut [MaybeUninit<u8>] {
    // SAFETY: so many bytes are writable there for as long as the buffer is borrowed.
    unsafe { std::slice::from_raw_parts_mut(buffer.pointer_mut().cast(), buffer.room()) }
}

/// Reads by the operation that `start` makes (`ring::read`, or `ring::recv` for a socket), or by readiness if
/// there is none.
///
/// # Safety
/// `read` initialises the bytes whose number it returns.
pub(crate) async unsafe fn fill<T, B, F>(
    source: &Source<T>,
    mut buffer: B,
    start: impl FnOnce(&Source<T>, B) -> Result<F, Refused<B>>,
    mut read: impl FnMut(&T, &mut [MaybeUninit<u8>]) -> io::Result<usize>,
) -> (io::Result<usize>, B)
where
    T: tress_driver::Source,
    B: BufferMut,
    F: Future<Output = (io::Result<usize>, B)>,
{
    coop::consume_budget().await;
    if source.leftover().is_some() {
        if let Some(result) = fill_from_leftover(source, &mut buffer).await {
            return (result, buffer);
        }
    }
    let mut buffer = match finish(start(source, buffer)).await {
        Ok(done) => return done,
        Err(buffer) => buffer,
    };
    let result = source
        .io(Interest::READABLE, |inner| read(inner, room(&mut buffer)))
        .await;
    if let Ok(n) = result {
        // SAFETY: so many were initialised, by the caller's promise.
        unsafe { buffer.set_filled(n) };
    }
    (result, buffer)
}

/// Reads what an earlier read has received that was dropped, once that is over. `None` if it is nothing.
async fn fill_from_leftover<T, B>(source: &Source<T>, buffer: &mut B) -> Option<io::Result<usize>>
where
    T: tress_driver::Source,
    B: BufferMut,
{
    let leftover = source.leftover()?;
    if !poll_fn(|cx| leftover.poll(cx)).await {
        return None;
    }
    let result = leftover.read(room(buffer))?;
    if let Ok(n) = result {
        // SAFETY: so many were initialised.
        unsafe { buffer.set_filled(n) };
    }
    Some(result)
}

/// Writes by the operation that `start` makes (`ring::write`, or `ring::send` for a socket), or by readiness if
/// there is none.
pub(crate) async fn empty<T, B, F>(
    source: &Source<T>,
    buffer: B,
    start: impl FnOnce(&Source<T>, B) -> Result<F, Refused<B>>,
    mut write: impl FnMut(&T, &[u8]) -> io::Result<usize>,
) -> (io::Result<usize>, B)
where
    T: tress_driver::Source,
    B: Buffer,
    F: Future<Output = (io::Result<usize>, B)>,
{
    coop::consume_budget().await;
    let mut buffer = match finish(start(source, buffer)).await {
        Ok(done) => return done,
        Err(buffer) => buffer,
    };
    // Borrowed as if it were changed: it need not be `Sync` then.
    let lent = &mut buffer;
    let result = source
        .io(Interest::WRITABLE, move |inner| write(inner, lent.bytes()))
        .await;
    (result, buffer)
}

/// What became of the operation; or the buffer, if it is to be used another way.
async fn finish<B, F>(started: Result<F, Refused<B>>) -> Result<(io::Result<usize>, B), B>
where
    F: Future<Output = (io::Result<usize>, B)>,
{
    match started {
        Ok(submission) => match submission.await {
            // Kernels that do not wait for things in non-blocking mode.
            (Err(error), buffer) if error.kind() == io::ErrorKind::WouldBlock => Err(buffer),
            done => Ok(done),
        },
        Err(Refused {
            buffer,
            error: None,
        }) => Err(buffer),
        Err(Refused {
            buffer,
            error: Some(error),
        }) => Ok((Err(error), buffer)),
    }
}

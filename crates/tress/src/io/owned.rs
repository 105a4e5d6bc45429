//! Reads and writes with buffers that are given away and come back.

use super::source::Source;
use crate::sight::{self, WaitKind};
use crate::task::coop;
use crate::words;
use std::future::{Future, poll_fn};
use std::io;
use std::mem::MaybeUninit;
use std::pin::pin;
use tress_driver::{Buffer, BufferMut, Interest};

/// Methods for reading into buffers that the operation owns until it is done.
///
/// With io_uring each read is an operation of the kernel, which writes straight into the buffer as soon as
/// there are bytes: there is no wait for readiness first, and no copy on the way. On other backends, and
/// with kernels that lack the operation, the same methods try, wait for readiness, and try again.
///
/// Sockets, files and pipes implement this trait. A buffer is a [`BufferMut`], such as a `Vec<u8>`, whose
/// *capacity* counts: it is filled from its start, over what is there, and a `Vec` grows to the length that
/// was read but never becomes shorter. To keep what is there, read into a [slice](Buffer::slice) behind it.
///
/// Every method returns the buffer with the result, also after an error.
///
/// # Examples
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
    /// Reads into `buffer` once, and returns how many bytes were read, with the buffer.
    ///
    /// A return value of 0 means that the source is at its end, or that the buffer has no room.
    ///
    /// # Errors
    /// Any error of `recv(2)` for a socket or `read(2)` for files and pipes, or that the runtime has shut
    /// down. The buffer comes back in any case.
    ///
    /// # Cancel safety
    /// This method is cancel safe: dropping the future cancels the read and loses no byte. Bytes that the
    /// kernel had put into the buffer by then are copied, and the next read of the stream returns them
    /// first, whichever kind of read it is. (A file is read at a position that moves only when the read is
    /// over.)
    ///
    /// The buffer itself is lost. It lives until the kernel is done with it, as does the descriptor.
    ///
    /// As long as such bytes are unread, `try_io`, `async_io` and converting the stream to one of the
    /// standard library return an error: read them first.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadOwned, AsyncWriteOwned};
    /// use tress::net::UnixStream;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut near, mut far) = UnixStream::pair()?;
    /// near.write_all_owned("hello").await.0?;
    /// drop(near);
    ///
    /// let mut buffer = vec![0; 4];
    /// let mut text = Vec::new();
    /// loop {
    ///     let read;
    ///     (read, buffer) = far.read_owned(buffer).await;
    ///     match read? {
    ///         0 => break,
    ///         n => text.extend_from_slice(&buffer[..n]),
    ///     }
    /// }
    /// assert_eq!(text, b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn read_owned<B: BufferMut>(
        &mut self,
        buffer: B,
    ) -> impl Future<Output = (io::Result<usize>, B)> + Send;

    /// Reads until `buffer` is full, and returns it.
    ///
    /// # Errors
    /// - [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the source ends before the buffer is full.
    /// - Any error of [`read_owned`](Self::read_owned).
    ///
    /// The buffer comes back in any case.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: if it is dropped, bytes that finished reads have put into the buffer
    /// are lost with it. The read that is under way loses nothing, as with
    /// [`read_owned`](Self::read_owned).
    ///
    /// # Examples
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
                    Ok(0) => return (Err(words::early_end()), buffer),
                    Ok(n) => filled += n,
                    Err(error) => return (Err(error), buffer),
                }
            }
            (Ok(()), buffer)
        }
    }
}

/// Methods for writing buffers that the operation owns until it is done.
///
/// This is the counterpart of [`AsyncReadOwned`]: with io_uring each write is an operation of the kernel.
/// Sockets, files and pipes implement it.
///
/// A buffer is a [`Buffer`]: a `Vec<u8>`, a `String`, `&'static` bytes or text, a
/// [`PooledBuf`](crate::net::PooledBuf), or a [slice](Buffer::slice) of one of these. Every method returns
/// the buffer with the result, also after an error.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadOwned, AsyncWriteOwned};
/// use tress::net::unix::pipe;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (mut sender, mut receiver) = pipe::pipe()?;
/// let (written, buffer) = sender.write_all_owned(b"hello".to_vec()).await;
/// written?;
/// // The buffer can be used again: here it receives what it has sent.
/// let (read, buffer) = receiver.read_owned(buffer).await;
/// assert_eq!(read?, 5);
/// assert_eq!(buffer, b"hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub trait AsyncWriteOwned {
    /// Writes from `buffer` once, and returns how many bytes were written, with the buffer.
    ///
    /// Only the filled part of the buffer is written, and possibly not all of it. To write all, use
    /// [`write_all_owned`](Self::write_all_owned).
    ///
    /// # Errors
    /// Any error of `send(2)` for a socket or `write(2)` for files and pipes, or that the runtime has shut
    /// down. The buffer comes back in any case.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: dropping the future cancels the write, but none, some or all of the
    /// bytes may have been written. The buffer is lost. It lives until the kernel is done with it, as does
    /// the descriptor.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncWriteOwned;
    /// use tress::net::UnixStream;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut near, _far) = UnixStream::pair()?;
    /// let (written, buffer) = near.write_owned(vec![0; 100]).await;
    /// println!("{} of {} bytes are on their way", written?, buffer.len());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    fn write_owned<B: Buffer>(
        &mut self,
        buffer: B,
    ) -> impl Future<Output = (io::Result<usize>, B)> + Send;

    /// Writes all bytes that `buffer` is filled with, and returns it.
    ///
    /// # Errors
    /// - [`WriteZero`](io::ErrorKind::WriteZero) if the sink takes no more bytes.
    /// - Any error of [`write_owned`](Self::write_owned).
    ///
    /// The buffer comes back in any case.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: if it is dropped, none, some or all of the bytes may have been
    /// written.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, AsyncWriteOwned};
    /// use tress::net::UnixStream;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut near, mut far) = UnixStream::pair()?;
    /// near.write_all_owned(String::from("hello")).await.0?;
    /// drop(near);
    /// let mut text = String::new();
    /// far.read_to_string(&mut text).await?;
    /// assert_eq!(text, "hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
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
            // Usually one write takes all of it, and no slice is needed.
            let (mut result, mut buffer) = self.write_owned(buffer).await;
            let mut written = 0;
            loop {
                match result {
                    Ok(0) => return (Err(words::write_zero()), buffer),
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
    /// `None` if the transfer is to be done in another way.
    pub(super) error: Option<io::Error>,
}

/// Returns all memory that may be filled.
pub(crate) fn room<B: BufferMut>(buffer: &mut B) -> &mut [MaybeUninit<u8>] {
    // SAFETY: `room` bytes are writable there for as long as the buffer is borrowed.
    unsafe { std::slice::from_raw_parts_mut(buffer.pointer_mut().cast(), buffer.room()) }
}

/// Reads by the operation that `start` makes (`ring::read`, or `ring::recv` for a socket), or by readiness
/// if there is none.
///
/// # Safety
/// `read` initializes the bytes whose number it returns.
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
    let mut buffer = match finish(start(source, buffer), WaitKind::Read).await {
        Ok(done) => return done,
        Err(buffer) => buffer,
    };
    let result = source
        .io(Interest::READABLE, |inner| read(inner, room(&mut buffer)))
        .await;
    if let Ok(n) = result {
        // SAFETY: `n` bytes were initialized, by the caller's promise.
        unsafe { buffer.set_filled(n) };
    }
    (result, buffer)
}

/// Reads bytes that an earlier, dropped read has received, once that read is over. Returns `None` if there
/// are none.
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
        // SAFETY: `n` bytes were initialized.
        unsafe { buffer.set_filled(n) };
    }
    Some(result)
}

/// Writes by the operation that `start` makes (`ring::write`, or `ring::send` for a socket), or by
/// readiness if there is none.
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
    let mut buffer = match finish(start(source, buffer), WaitKind::Write).await {
        Ok(done) => return done,
        Err(buffer) => buffer,
    };
    // It is borrowed mutably, so that it need not be `Sync`.
    let lent = &mut buffer;
    let result = source
        .io(Interest::WRITABLE, move |inner| write(inner, lent.bytes()))
        .await;
    (result, buffer)
}

/// Waits for an operation, and notes that the running task does.
async fn noted<F: Future>(operation: F, kind: WaitKind) -> F::Output {
    let mut operation = pin!(operation);
    poll_fn(|cx| {
        let polled = operation.as_mut().poll(cx);
        let resource = sight::address(&*operation);
        match polled.is_pending() {
            true => sight::waits_longer(kind, resource, None),
            false => sight::served(resource),
        }
        polled
    })
    .await
}

/// Returns the result of the operation, or the buffer if it is to be used in another way.
///
/// While it waits, it does so for what `kind` says.
async fn finish<B, F>(
    started: Result<F, Refused<B>>,
    kind: WaitKind,
) -> Result<(io::Result<usize>, B), B>
where
    F: Future<Output = (io::Result<usize>, B)>,
{
    match started {
        Ok(submission) => match noted(submission, kind).await {
            // Some kernels do not wait for descriptors in non-blocking mode.
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

//! Operations on open files.

use super::{KeptBy, Operation, Prepare, descriptor, keep, length};
use crate::uring::buffer::{Buffer, BufferMut};
use crate::uring::leftover::Leftover;
use io_uring::squeue::{Entry, Flags};
use io_uring::{opcode, types};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The offset that stands for the file's own position.
const CURRENT: u64 = u64::MAX;

/// How the kernel begins a read or a write.
#[derive(Debug, Clone, Copy)]
enum Begin {
    /// On the thread that hands it over, if the kernel believes that it would not block.
    AtOnce,
    /// On a worker thread of the kernel.
    Apart,
}

impl Begin {
    fn flags(self) -> Flags {
        match self {
            Begin::AtOnce => Flags::empty(),
            Begin::Apart => Flags::ASYNC,
        }
    }
}

/// Reads from a file into a buffer, from the buffer's start.
///
/// Resolves to the number of bytes read, 0 at the end of the file, and the buffer. Fails with any error of
/// `pread(2)` or `read(2)`.
///
/// # Examples
/// ```
/// use std::fs::File;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Read<File, Vec<u8>>>() {
///     let read = op::Read::at(File::open("/dev/zero")?, Vec::with_capacity(8), 0);
///     let (read, buffer) = block_on(&driver, driver.submit(read));
///     assert_eq!((read?, buffer), (8, vec![0; 8]));
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Read<F, B> {
    file: F,
    buffer: B,
    offset: u64,
    begin: Begin,
    leftover: Option<KeptBy<F>>,
}

impl<F, B> Read<F, B> {
    /// Creates a read at `offset`, which does not move the file's position.
    pub fn at(file: F, buffer: B, offset: u64) -> Self {
        Read {
            file,
            buffer,
            offset,
            begin: Begin::AtOnce,
            leftover: None,
        }
    }

    /// Creates a read at the file's own position, which moves, or from something without positions, such as a
    /// pipe.
    pub fn next(file: F, buffer: B) -> Self {
        Read::at(file, buffer, CURRENT)
    }

    /// Makes a worker thread of the kernel do the read from the beginning.
    ///
    /// For files that do not support `RWF_NOWAIT`. The kernel may try those on the submitting thread all the
    /// same (Linux 6.18 does so if they can be polled), and a FUSE file, which always claims to be ready, then
    /// blocks the driver's owner until its server answers.
    pub fn apart(self) -> Self {
        Read {
            begin: Begin::Apart,
            ..self
        }
    }

    /// Keeps what the read has received if its submission is dropped; see
    /// [`Recv::keeping`](super::Recv::keeping).
    pub fn keeping(self, leftover: fn(&F) -> &Leftover) -> Self {
        Read {
            leftover: Some(leftover),
            ..self
        }
    }
}

impl<F: AsFd + Send + 'static, B: BufferMut> Prepare for Read<F, B> {
    const OPCODE: u8 = opcode::Read::CODE;

    fn entry(&mut self) -> Entry {
        let room = length(self.buffer.room());
        opcode::Read::new(descriptor(&self.file), self.buffer.pointer_mut(), room)
            .offset(self.offset)
            .build()
            .flags(self.begin.flags())
    }

    unsafe fn discard(&mut self, value: i32) {
        if let Some(leftover) = self.leftover {
            // SAFETY: by the caller's promise it is the result.
            unsafe { keep(leftover(&self.file), &mut self.buffer, value) };
        }
    }
}

impl<F: AsFd + Send + 'static, B: BufferMut> Operation for Read<F, B> {
    type Output = (io::Result<usize>, B);

    unsafe fn finish(mut self, result: io::Result<u32>) -> Self::Output {
        let result = result.map(|read| {
            // SAFETY: the kernel has filled that much.
            unsafe { self.buffer.set_filled(read as usize) };
            read as usize
        });
        (result, self.buffer)
    }
}

/// Writes the initialised bytes of a buffer to a file.
///
/// Resolves to the number of bytes written, which may be fewer than asked for, and the buffer. Fails with any
/// error of `pwrite(2)` or `write(2)`.
///
/// # Examples
/// ```
/// use std::fs::File;
/// use std::sync::Arc;
/// use tress_driver::{Buffer, Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Write<Arc<File>, Vec<u8>>>() {
///     let file = Arc::new(File::create("/dev/null")?);
///     let mut buffer = b"all of it".to_vec();
///     let mut done = 0;
///     while done < buffer.len() {
///         let rest = buffer.slice(done..);
///         let write = driver.submit(op::Write::next(file.clone(), rest));
///         let (written, rest) = block_on(&driver, write);
///         done += written?;
///         buffer = rest.into_inner();
///     }
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Write<F, B> {
    file: F,
    buffer: B,
    offset: u64,
    begin: Begin,
}

impl<F, B> Write<F, B> {
    /// Creates a write at `offset`, which does not move the file's position.
    pub fn at(file: F, buffer: B, offset: u64) -> Self {
        Write {
            file,
            buffer,
            offset,
            begin: Begin::AtOnce,
        }
    }

    /// Creates a write at the file's own position, which moves, or to something without positions, such as a
    /// pipe.
    pub fn next(file: F, buffer: B) -> Self {
        Write::at(file, buffer, CURRENT)
    }

    /// Makes a worker thread of the kernel do the write from the beginning; see [`Read::apart`].
    pub fn apart(self) -> Self {
        Write {
            begin: Begin::Apart,
            ..self
        }
    }
}

impl<F: AsFd + Send + 'static, B: Buffer> Prepare for Write<F, B> {
    const OPCODE: u8 = opcode::Write::CODE;

    fn entry(&mut self) -> Entry {
        let filled = length(self.buffer.filled());
        opcode::Write::new(descriptor(&self.file), self.buffer.pointer(), filled)
            .offset(self.offset)
            .build()
            .flags(self.begin.flags())
    }
}

impl<F: AsFd + Send + 'static, B: Buffer> Operation for Write<F, B> {
    type Output = (io::Result<usize>, B);

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        (result.map(|written| written as usize), self.buffer)
    }
}

/// A list of buffers for the kernel. The pointers are those of buffers that the same operation owns.
#[derive(Debug, Default)]
struct Vectors(Vec<libc::iovec>);

// SAFETY: the pointers lead to buffers that the same operation owns and that are `Send`.
unsafe impl Send for Vectors {}

impl Vectors {
    /// Maximum number of buffers that the kernel takes.
    const MOST: usize = 1024;

    fn set(&mut self, parts: impl Iterator<Item = (*mut u8, usize)>) -> (*const libc::iovec, u32) {
        self.0 = parts
            .take(Vectors::MOST)
            .map(|(pointer, length)| libc::iovec {
                iov_base: pointer.cast(),
                iov_len: length,
            })
            .collect();
        (self.0.as_ptr(), self.0.len() as u32)
    }
}

/// Reads from a file into several buffers, one after the other. Uses at most the first 1,024 buffers.
///
/// Resolves to the number of bytes read and the buffers. Fails with any error of `preadv(2)` or `readv(2)`.
///
/// # Examples
/// ```
/// use std::fs::File;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Readv<File, Vec<u8>>>() {
///     let buffers = vec![Vec::with_capacity(2), Vec::with_capacity(4)];
///     let read = op::Readv::at(File::open("/dev/zero")?, buffers, 0);
///     let (read, buffers) = block_on(&driver, driver.submit(read));
///     assert_eq!(read?, 6);
///     assert_eq!(buffers, [vec![0; 2], vec![0; 4]]);
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Readv<F, B> {
    file: F,
    buffers: Vec<B>,
    offset: u64,
    vectors: Vectors,
}

impl<F, B> Readv<F, B> {
    /// Creates a read at `offset`, which does not move the file's position.
    pub fn at(file: F, buffers: Vec<B>, offset: u64) -> Self {
        Readv {
            file,
            buffers,
            offset,
            vectors: Vectors::default(),
        }
    }

    /// Creates a read at the file's own position, which moves, or from something without positions.
    pub fn next(file: F, buffers: Vec<B>) -> Self {
        Readv::at(file, buffers, CURRENT)
    }
}

impl<F: AsFd + Send + 'static, B: BufferMut> Prepare for Readv<F, B> {
    const OPCODE: u8 = opcode::Readv::CODE;

    fn entry(&mut self) -> Entry {
        let parts = self
            .buffers
            .iter_mut()
            .map(|buffer| (buffer.pointer_mut(), buffer.room()));
        let (vectors, count) = self.vectors.set(parts);
        opcode::Readv::new(descriptor(&self.file), vectors, count)
            .offset(self.offset)
            .build()
    }
}

impl<F: AsFd + Send + 'static, B: BufferMut> Operation for Readv<F, B> {
    type Output = (io::Result<usize>, Vec<B>);

    unsafe fn finish(mut self, result: io::Result<u32>) -> Self::Output {
        let result = result.map(|read| {
            let mut left = read as usize;
            for buffer in &mut self.buffers {
                let part = left.min(buffer.room());
                // SAFETY: the kernel fills the buffers one after the other, this one that far.
                unsafe { buffer.set_filled(part) };
                left -= part;
            }
            read as usize
        });
        (result, self.buffers)
    }
}

/// Writes the initialised bytes of several buffers to a file, one after the other. Uses at most the first 1,024
/// buffers.
///
/// Resolves to the number of bytes written, which may be fewer than asked for, and the buffers. Fails with any
/// error of `pwritev(2)` or `writev(2)`.
///
/// # Examples
/// ```
/// use std::fs::File;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Writev<File, &'static str>>() {
///     let write = op::Writev::next(File::create("/dev/null")?, vec!["head ", "body"]);
///     let (written, _buffers) = block_on(&driver, driver.submit(write));
///     assert_eq!(written?, 9);
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Writev<F, B> {
    file: F,
    buffers: Vec<B>,
    offset: u64,
    vectors: Vectors,
}

impl<F, B> Writev<F, B> {
    /// Creates a write at `offset`, which does not move the file's position.
    pub fn at(file: F, buffers: Vec<B>, offset: u64) -> Self {
        Writev {
            file,
            buffers,
            offset,
            vectors: Vectors::default(),
        }
    }

    /// Creates a write at the file's own position, which moves, or to something without positions.
    pub fn next(file: F, buffers: Vec<B>) -> Self {
        Writev::at(file, buffers, CURRENT)
    }
}

impl<F: AsFd + Send + 'static, B: Buffer> Prepare for Writev<F, B> {
    const OPCODE: u8 = opcode::Writev::CODE;

    fn entry(&mut self) -> Entry {
        let parts = self
            .buffers
            .iter()
            .map(|buffer| (buffer.pointer().cast_mut(), buffer.filled()));
        let (vectors, count) = self.vectors.set(parts);
        opcode::Writev::new(descriptor(&self.file), vectors, count)
            .offset(self.offset)
            .build()
    }
}

impl<F: AsFd + Send + 'static, B: Buffer> Operation for Writev<F, B> {
    type Output = (io::Result<usize>, Vec<B>);

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        (result.map(|written| written as usize), self.buffers)
    }
}

/// Makes what was written to a file durable.
///
/// Fails with any error of `fsync(2)`.
///
/// # Examples
/// ```
/// use std::fs::File;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Fsync<File>>() {
///     # let path = std::env::temp_dir().join(format!("tress-fsync-{}", std::process::id()));
///     let file = File::create(&path)?;
///     block_on(&driver, driver.submit(op::Fsync::all(file)))?;
///     # std::fs::remove_file(path)?;
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Fsync<F> {
    file: F,
    data_only: bool,
}

impl<F> Fsync<F> {
    /// Creates an operation that stores the bytes and all metadata, like `fsync(2)`.
    pub fn all(file: F) -> Self {
        Fsync {
            file,
            data_only: false,
        }
    }

    /// Creates an operation that stores the bytes and the metadata that is needed to read them, like
    /// `fdatasync(2)`.
    pub fn data(file: F) -> Self {
        Fsync {
            file,
            data_only: true,
        }
    }
}

impl<F: AsFd + Send + 'static> Prepare for Fsync<F> {
    const OPCODE: u8 = opcode::Fsync::CODE;

    fn entry(&mut self) -> Entry {
        let flags = if self.data_only {
            types::FsyncFlags::DATASYNC
        } else {
            types::FsyncFlags::empty()
        };
        opcode::Fsync::new(descriptor(&self.file))
            .flags(flags)
            .build()
    }
}

impl<F: AsFd + Send + 'static> Operation for Fsync<F> {
    type Output = io::Result<()>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        result.map(drop)
    }
}

/// Sets the length of a file (Linux 6.9).
///
/// Fails with any error of `ftruncate(2)`.
///
/// # Examples
/// ```
/// use std::fs::File;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Ftruncate<Arc<File>>>() {
///     # let path = std::env::temp_dir().join(format!("tress-ftruncate-{}", std::process::id()));
///     let file = Arc::new(File::create(&path)?);
///     block_on(&driver, driver.submit(op::Ftruncate::new(file.clone(), 100)))?;
///     assert_eq!(file.metadata()?.len(), 100);
///     # std::fs::remove_file(path)?;
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Ftruncate<F> {
    file: F,
    length: u64,
}

impl<F> Ftruncate<F> {
    /// Creates an operation that sets the file's length to `length` bytes.
    pub fn new(file: F, length: u64) -> Self {
        Ftruncate { file, length }
    }
}

impl<F: AsFd + Send + 'static> Prepare for Ftruncate<F> {
    const OPCODE: u8 = opcode::Ftruncate::CODE;

    fn entry(&mut self) -> Entry {
        opcode::Ftruncate::new(descriptor(&self.file), self.length).build()
    }
}

impl<F: AsFd + Send + 'static> Operation for Ftruncate<F> {
    type Output = io::Result<()>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        result.map(drop)
    }
}

/// Reserves or releases room in a file, or whatever else `fallocate(2)` can do.
///
/// Fails with any error of `fallocate(2)`.
///
/// # Examples
/// ```
/// use std::fs::File;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Fallocate<Arc<File>>>() {
///     # let path = std::env::temp_dir().join(format!("tress-fallocate-{}", std::process::id()));
///     let file = Arc::new(File::create(&path)?);
///     let reserve = op::Fallocate::new(file.clone(), 0, 0, 4096);
///     if block_on(&driver, driver.submit(reserve)).is_ok() {
///         assert_eq!(file.metadata()?.len(), 4096);
///     }
///     # std::fs::remove_file(path)?;
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Fallocate<F> {
    file: F,
    mode: i32,
    offset: u64,
    length: u64,
}

impl<F> Fallocate<F> {
    /// Creates an operation on `length` bytes at `offset`, with a mode of `fallocate(2)`. The mode 0 reserves
    /// room and grows the file as needed.
    pub fn new(file: F, mode: i32, offset: u64, length: u64) -> Self {
        Fallocate {
            file,
            mode,
            offset,
            length,
        }
    }
}

impl<F: AsFd + Send + 'static> Prepare for Fallocate<F> {
    const OPCODE: u8 = opcode::Fallocate::CODE;

    fn entry(&mut self) -> Entry {
        opcode::Fallocate::new(descriptor(&self.file), self.length)
            .offset(self.offset)
            .mode(self.mode)
            .build()
    }
}

impl<F: AsFd + Send + 'static> Operation for Fallocate<F> {
    type Output = io::Result<()>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        result.map(drop)
    }
}

/// Moves bytes between two descriptors, one of which is a pipe, without copying them through the program's
/// memory.
///
/// Resolves to the number of bytes moved, and both descriptors. Fails with any error of `splice(2)`.
///
/// # Examples
/// ```
/// use std::fs::File;
/// use std::process::{ChildStdout, Command, Stdio};
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Splice<ChildStdout, File>>() {
///     let mut child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
///     let from = child.stdout.take().expect("it is piped");
///     let splice = op::Splice::new(from, None, File::create("/dev/null")?, None, 64);
///     let (moved, _from, _to) = block_on(&driver, driver.submit(splice));
///     assert_eq!(moved?, 6);
///     child.wait()?;
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Splice<F, T> {
    from: F,
    from_offset: i64,
    to: T,
    to_offset: i64,
    length: u32,
}

impl<F, T> Splice<F, T> {
    /// Creates an operation that moves at most `length` bytes. `None` as an offset means the descriptor's own
    /// position; pipes take nothing else.
    pub fn new(
        from: F,
        from_offset: Option<i64>,
        to: T,
        to_offset: Option<i64>,
        length: u32,
    ) -> Self {
        Splice {
            from,
            from_offset: from_offset.unwrap_or(-1),
            to,
            to_offset: to_offset.unwrap_or(-1),
            length,
        }
    }
}

impl<F: AsFd + Send + 'static, T: AsFd + Send + 'static> Prepare for Splice<F, T> {
    const OPCODE: u8 = opcode::Splice::CODE;

    fn entry(&mut self) -> Entry {
        opcode::Splice::new(
            descriptor(&self.from),
            self.from_offset,
            descriptor(&self.to),
            self.to_offset,
            self.length,
        )
        .build()
    }
}

impl<F: AsFd + Send + 'static, T: AsFd + Send + 'static> Operation for Splice<F, T> {
    type Output = (io::Result<usize>, F, T);

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        (result.map(|moved| moved as usize), self.from, self.to)
    }
}

/// Closes a descriptor and reports the error of `close(2)`.
///
/// Dropping a descriptor ignores that error, and may block while a network file system flushes. The operation
/// is never repeated, because the descriptor's number may belong to another file by then. If the operation is
/// refused, the descriptor is closed on the calling thread.
///
/// # Examples
/// ```
/// use std::fs::File;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Close>() {
///     let file = File::open("/dev/null")?;
///     block_on(&driver, driver.submit(op::Close::new(file.into())))?;
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Close {
    /// The kernel closes it. If the kernel was never asked to, dropping the operation does.
    fd: ManuallyDrop<OwnedFd>,
    is_closed: bool,
}

impl Close {
    /// Creates an operation that closes `fd`.
    pub fn new(fd: OwnedFd) -> Self {
        Close {
            fd: ManuallyDrop::new(fd),
            is_closed: false,
        }
    }
}

impl Prepare for Close {
    const OPCODE: u8 = opcode::Close::CODE;
    // The descriptor is gone even then, and its number may belong to another file.
    const REPEATS_IF_INTERRUPTED: bool = false;
    // The descriptor may be gone: the answer of a file that was asked to flush looks like that of a ring that
    // never got to it. It is better to leave a descriptor open than to close another file's.
    const REPEATS_IF_CANCELLED: u32 = 0;

    fn entry(&mut self) -> Entry {
        opcode::Close::new(types::Fd(self.fd.as_raw_fd())).build()
    }

    fn answered(&mut self) {
        // Errors come from the file, after the descriptor was given up.
        self.is_closed = true;
    }

    unsafe fn discard(&mut self, _: i32) {
        self.answered();
    }
}

impl Operation for Close {
    type Output = io::Result<()>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        match result {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            result => result.map(drop),
        }
    }
}

impl Drop for Close {
    fn drop(&mut self) {
        if !self.is_closed {
            // SAFETY: dropped once, here, and the kernel was not asked to close it.
            unsafe { ManuallyDrop::drop(&mut self.fd) };
        }
    }
}

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

/// How a read or a write is begun.
#[derive(Debug, Clone, Copy)]
enum Begin {
    /// At once, on the thread that hands it over, if the kernel believes that nothing waits.
    AtOnce,
    /// On a thread of the kernel's.
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

/// Reads into a buffer, from its start.
#[derive(Debug)]
pub struct Read<F, B> {
    file: F,
    buffer: B,
    offset: u64,
    begin: Begin,
    leftover: Option<KeptBy<F>>,
}

impl<F, B> Read<F, B> {
    /// From a position of the file.
    pub fn at(file: F, buffer: B, offset: u64) -> Self {
        Read {
            file,
            buffer,
            offset,
            begin: Begin::AtOnce,
            leftover: None,
        }
    }

    /// From the file's own position, which moves; or from something that has none.
    pub fn next(file: F, buffer: B) -> Self {
        Read::at(file, buffer, CURRENT)
    }

    /// Has a thread of the kernel's do it from the beginning. For files that do not know `RWF_NOWAIT`: the
    /// kernel may try them at once all the same (Linux 6.18 does if they can be polled), and those of FUSE,
    /// which say that they are ready, then hold up the driver's owner until their server answers.
    pub fn apart(self) -> Self {
        Read {
            begin: Begin::Apart,
            ..self
        }
    }

    /// As [`Recv::keeping`](super::Recv::keeping).
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

/// Writes what a buffer is filled with.
#[derive(Debug)]
pub struct Write<F, B> {
    file: F,
    buffer: B,
    offset: u64,
    begin: Begin,
}

impl<F, B> Write<F, B> {
    /// To a position of the file.
    pub fn at(file: F, buffer: B, offset: u64) -> Self {
        Write {
            file,
            buffer,
            offset,
            begin: Begin::AtOnce,
        }
    }

    /// To the file's own position, which moves; or to something that has none.
    pub fn next(file: F, buffer: B) -> Self {
        Write::at(file, buffer, CURRENT)
    }

    /// As [`Read::apart`]. A file of FUSE is also asked whether it can be polled.
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

/// A list of buffers as the kernel wants it; the pointers are those of buffers owned next to it.
#[derive(Debug, Default)]
struct Vectors(Vec<libc::iovec>);

// SAFETY: the pointers lead to buffers that the same operation owns and that are `Send`.
unsafe impl Send for Vectors {}

impl Vectors {
    /// More than this many the kernel does not take.
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

/// Reads into several buffers, one after the other. Takes the first 1024 of them.
#[derive(Debug)]
pub struct Readv<F, B> {
    file: F,
    buffers: Vec<B>,
    offset: u64,
    vectors: Vectors,
}

impl<F, B> Readv<F, B> {
    /// From a position of the file.
    pub fn at(file: F, buffers: Vec<B>, offset: u64) -> Self {
        Readv {
            file,
            buffers,
            offset,
            vectors: Vectors::default(),
        }
    }

    /// From the file's own position, which moves; or from something that has none.
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

/// Writes several buffers, one after the other. Takes the first 1024 of them.
#[derive(Debug)]
pub struct Writev<F, B> {
    file: F,
    buffers: Vec<B>,
    offset: u64,
    vectors: Vectors,
}

impl<F, B> Writev<F, B> {
    /// To a position of the file.
    pub fn at(file: F, buffers: Vec<B>, offset: u64) -> Self {
        Writev {
            file,
            buffers,
            offset,
            vectors: Vectors::default(),
        }
    }

    /// To the file's own position, which moves; or to something that has none.
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
#[derive(Debug)]
pub struct Fsync<F> {
    file: F,
    data_only: bool,
}

impl<F> Fsync<F> {
    /// The bytes and everything that is known about them (`fsync`).
    pub fn all(file: F) -> Self {
        Fsync {
            file,
            data_only: false,
        }
    }

    /// The bytes and what is needed to find them (`fdatasync`).
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

/// Sets a file's length (Linux 6.9).
#[derive(Debug)]
pub struct Ftruncate<F> {
    file: F,
    length: u64,
}

impl<F> Ftruncate<F> {
    /// To this length.
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

/// Reserves room in a file, or does with it what else `fallocate` can.
#[derive(Debug)]
pub struct Fallocate<F> {
    file: F,
    mode: i32,
    offset: u64,
    length: u64,
}

impl<F> Fallocate<F> {
    /// With the mode of `fallocate`, 0 for the usual one.
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

/// Moves bytes between two descriptors, one of which is a pipe, without copying them through memory.
#[derive(Debug)]
pub struct Splice<F, T> {
    from: F,
    from_offset: i64,
    to: T,
    to_offset: i64,
    length: u32,
}

impl<F, T> Splice<F, T> {
    /// At most `length` bytes. No offset means the descriptor's own position; pipes have no other.
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

/// Closes a descriptor, and tells what `close` says.
#[derive(Debug)]
pub struct Close {
    /// The kernel closes it; if it was never asked, we do.
    fd: ManuallyDrop<OwnedFd>,
    is_closed: bool,
}

impl Close {
    /// This one.
    pub fn new(fd: OwnedFd) -> Self {
        Close {
            fd: ManuallyDrop::new(fd),
            is_closed: false,
        }
    }
}

impl Prepare for Close {
    const OPCODE: u8 = opcode::Close::CODE;
    // The descriptor is gone even then, and its number may be somebody else's.
    const REPEATS_IF_INTERRUPTED: bool = false;
    // It may be: the answer of a file that was asked to flush is not told from that of a ring that never got to
    // it. A descriptor that stays open is better than a stranger's that is closed.
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

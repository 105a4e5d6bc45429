//! Operations on the io_uring of the current worker.
//!
//! Each function returns `None`, or returns its arguments, if there is no ring or the kernel lacks the
//! operation. The caller then uses the blocking pool.

mod position;

use super::file::{Memory, Refusal};
use crate::context;
use crate::runtime::Busy;
use crate::runtime::driver::with_current_driver;
use crate::sight::{self, WaitKind};
use position::Position;
use std::ffi::CString;
use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tress_driver::op::{self, Operation};
use tress_driver::{Buffer, BufferMut, Slice, Submission};

/// An operation in progress.
#[derive(Debug)]
pub(super) struct UnderWay<O: Operation> {
    submission: Submission<O>,
    /// Keeps a paused clock from jumping meanwhile, as a job of the blocking pool does.
    _busy: Option<Busy>,
}

impl<O: Operation> Future for UnderWay<O> {
    type Output = O::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<O::Output> {
        let polled = Pin::new(&mut self.submission).poll(cx);
        if polled.is_pending() {
            let operation = sight::address(&self.submission);
            sight::waits_longer(WaitKind::Operation, operation, None);
        }
        polled
    }
}

/// Starts an operation, or returns the parts that it would have been made of.
fn submit<T, O: Operation>(parts: T, make: impl FnOnce(T) -> O) -> Result<UnderWay<O>, T> {
    let mut made_of = Some((parts, make));
    let mut submission = None;
    with_current_driver(&mut |driver| {
        if driver.supports::<O>() {
            submission = made_of
                .take()
                .map(|(parts, make)| driver.submit(make(parts)));
        }
    });
    match (submission, made_of) {
        (Some(submission), _) => Ok(UnderWay {
            submission,
            _busy: held_clock(),
        }),
        (None, Some((parts, _))) => Err(parts),
        (None, None) => unreachable!("taken only for a submission"),
    }
}

/// Keeps the current runtime's clock from being advanced while an operation is under way.
fn held_clock() -> Option<Busy> {
    context::runtime().and_then(|runtime| runtime.hold_clock())
}

/// Returns the path as a C string. `None` if it contains a NUL byte: the standard library reports that.
fn name(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_bytes()).ok()
}

/// Returns whether the path exists, following symbolic links.
pub(super) fn exists(path: &Path) -> Option<impl Future<Output = io::Result<bool>> + use<>> {
    let asked = submit(name(path)?, |path| op::Statx::new(None, path, 0, 0)).ok()?;
    Some(async {
        match asked.await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    })
}

pub(super) fn remove_file(path: &Path) -> Option<UnderWay<op::UnlinkAt>> {
    submit(name(path)?, |path| op::UnlinkAt::new(None, path, 0)).ok()
}

pub(super) fn remove_dir(path: &Path) -> Option<UnderWay<op::UnlinkAt>> {
    let make = |path| op::UnlinkAt::new(None, path, libc::AT_REMOVEDIR);
    submit(name(path)?, make).ok()
}

pub(super) fn create_dir(path: &Path, mode: u32) -> Option<UnderWay<op::MkDirAt>> {
    submit(name(path)?, |path| op::MkDirAt::new(None, path, mode)).ok()
}

pub(super) fn rename(from: &Path, to: &Path) -> Option<UnderWay<op::RenameAt>> {
    let make = |(from, to)| op::RenameAt::new((None, from), (None, to), 0);
    submit((name(from)?, name(to)?), make).ok()
}

pub(super) fn hard_link(original: &Path, link: &Path) -> Option<UnderWay<op::LinkAt>> {
    let make = |(original, link)| op::LinkAt::new((None, original), (None, link), 0);
    submit((name(original)?, name(link)?), make).ok()
}

pub(super) fn symlink(original: &Path, link: &Path) -> Option<UnderWay<op::SymlinkAt>> {
    let make = |(original, link)| op::SymlinkAt::new(original, (None, link));
    submit((name(original)?, name(link)?), make).ok()
}

pub(super) fn sync_all(file: &Arc<File>) -> Option<UnderWay<op::Fsync<Arc<File>>>> {
    submit(file.clone(), op::Fsync::all).ok()
}

pub(super) fn sync_data(file: &Arc<File>) -> Option<UnderWay<op::Fsync<Arc<File>>>> {
    submit(file.clone(), op::Fsync::data).ok()
}

/// A change of the length of a file, in progress.
pub(super) type SetLen = UnderWay<op::Ftruncate<Arc<File>>>;

pub(super) fn set_len(file: &Arc<File>, length: u64) -> Option<SetLen> {
    submit(file.clone(), |file| op::Ftruncate::new(file, length)).ok()
}

/// A read at the position of the file, in progress.
#[derive(Debug)]
pub(super) struct Read {
    read: UnderWay<op::Read<Arc<File>, Slice<Memory>>>,
    from: Position,
}

impl Future for Read {
    /// Memory that holds the bytes that were read and no others.
    type Output = io::Result<Memory>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (result, bytes) = ready!(Pin::new(&mut self.read).poll(cx));
        self.from.move_by(result?)?;
        Poll::Ready(Ok(bytes.into_inner()))
    }
}

/// Reads up to `most` bytes into empty memory that has room for them.
pub(super) fn read(
    file: &Arc<File>,
    bytes: Memory,
    most: usize,
    refusal: Refusal,
) -> Result<Read, Memory> {
    let from = Position::of(file);
    match submit((file.clone(), bytes), |(file, bytes)| {
        reading(file, bytes.slice(..most), None, refusal)
    }) {
        Ok(read) => Ok(Read { read, from }),
        Err((_, bytes)) => Err(bytes),
    }
}

/// Makes a read that cannot block the worker: a file that cannot be asked not to wait is left to a
/// thread of the kernel.
fn reading<B>(
    file: Arc<File>,
    buffer: B,
    at: Option<u64>,
    refusal: Refusal,
) -> op::Read<Arc<File>, B> {
    let read = match at {
        Some(offset) => op::Read::at(file, buffer, offset),
        None => op::Read::next(file, buffer),
    };
    match refusal {
        Refusal::Busy => read,
        Refusal::Unable => read.apart(),
    }
}

/// Reads at an offset, or at the position of the file, which moves.
pub(super) fn read_into<B: BufferMut>(
    file: &Arc<File>,
    buffer: B,
    at: Option<u64>,
    refusal: Refusal,
) -> Result<UnderWay<op::Read<Arc<File>, B>>, B> {
    submit((file.clone(), buffer), |(file, buffer)| {
        reading(file, buffer, at, refusal)
    })
    .map_err(|(_, buffer)| buffer)
}

/// Writes at an offset, or at the position of the file, which moves.
pub(super) fn write_from<B: Buffer>(
    file: &Arc<File>,
    buffer: B,
    at: Option<u64>,
    refusal: Refusal,
) -> Result<impl Future<Output = (io::Result<usize>, B)> + use<B>, B> {
    let from = at.is_none().then(|| Position::of(file));
    let write = submit((file.clone(), buffer), |(file, buffer)| {
        let write = match at {
            Some(offset) => op::Write::at(file, buffer, offset),
            None => op::Write::next(file, buffer),
        };
        match refusal {
            Refusal::Busy => write,
            Refusal::Unable => write.apart(),
        }
    })
    .map_err(|(_, buffer)| buffer)?;
    Ok(async {
        let (written, buffer) = write.await;
        let moved = match (from, &written) {
            (Some(from), &Ok(n)) => from.move_by_write(n).await,
            _ => Ok(()),
        };
        (moved.and(written), buffer)
    })
}

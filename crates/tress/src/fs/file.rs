//! [`File`]: an open file, with its position, its metadata and its conversions.
//!
//! The position and what waits at it are `cursor`'s; reads and writes with owned buffers are `owned`'s,
//! and those at a given offset `positional`'s.

use super::{FileTimes, Metadata, OpenOptions, Permissions, blocking, ring};
use crate::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use crate::sync::Mutex;
use crate::words;
use cursor::Cursor;
pub(super) use memory::Memory;
pub(super) use nowait::Refusal;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, SeekFrom};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

mod cursor;
mod lent;
mod memory;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(super) mod nowait;
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
#[path = "file/no_nowait.rs"]
mod nowait;
mod owned;
#[cfg(unix)]
mod positional;
#[cfg(unix)]
mod unix;
mod way;
#[cfg(windows)]
mod windows;

/// The default maximum number of bytes that one read or write moves.
const MAX_BUF_SIZE: usize = 2 * 1024 * 1024;

/// An open file.
///
/// A `File` is read, written and sought through [`AsyncReadExt`](crate::io::AsyncReadExt),
/// [`AsyncWriteExt`](crate::io::AsyncWriteExt) and [`AsyncSeekExt`](crate::io::AsyncSeekExt), at a
/// position that moves with each operation. On Unix it can also be read and written at any offset with
/// [`read_at`](File::read_at) and [`write_at`](File::write_at), by any number of tasks at once.
///
/// # Writing
///
/// A write that would have to wait is copied, handed to the blocking pool and reported as complete. If
/// it fails, its error is returned by the next write, [`flush`](crate::io::AsyncWriteExt::flush) or
/// [`set_len`](File::set_len). A flush waits for it. Such a write is performed even if the file is
/// dropped or the runtime is shut down, but without a flush there is no telling when.
///
/// A flush does not make the contents durable: see [`sync_all`](File::sync_all).
///
/// # Shared positions
///
/// Handles that share a position, because one is a [clone](File::try_clone) of the other, may be used
/// concurrently: no byte is read twice, and no write overwrites another. To ensure this without
/// blocking a worker, all operations at the shared position are performed by the blocking pool. That is
/// slower, and remains so after the clone has been dropped.
///
/// A file made [from a file of the standard library](File::from_std) may share its position with
/// duplicates too. It is read and written directly where memory suffices and by the blocking pool
/// otherwise; a worker may then have to wait for an operation of another thread on a duplicate.
///
/// Duplicates made through `as_fd` are not known to the file: do not use both concurrently.
///
/// # Direct I/O
///
/// A file that was opened with `O_DIRECT` must be read and written in pieces whose length and position
/// are multiples of its block size. Bytes that pass through memory of the file's own are aligned to
/// 4096 bytes there.
///
/// # Cancel safety
///
/// Dropping the future of an operation loses no data:
///
/// - The bytes that a dropped read has read are returned by the next read. If another operation comes
///   first, the position moves back to before them.
/// - A dropped write has written nothing.
/// - A dropped seek may or may not have moved the position, and its error is discarded.
///
/// An operation that continues after its future was dropped belongs to the runtime in which it was
/// started, and the next operation waits for it. If the next operation is called in another runtime,
/// the first one must either keep running (a current-thread runtime runs only inside `block_on`) or
/// have been shut down.
///
/// # Examples
///
/// ```
/// use std::io::SeekFrom;
/// use tress::fs::File;
/// use tress::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
///
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-file-{}", std::process::id()));
/// let mut file = File::options().read(true).write(true).create(true).open(&path).await?;
/// file.write_all(b"hello world").await?;
/// file.seek(SeekFrom::Start(6)).await?;
/// let mut text = String::new();
/// file.read_to_string(&mut text).await?;
/// assert_eq!(text, "world");
/// # tress::fs::remove_file(path).await
/// # }
/// ```
pub struct File {
    std: Arc<std::fs::File>,
    cursor: Mutex<Cursor>,
    max_buf_size: usize,
}

impl File {
    /// Opens a file in read-only mode.
    ///
    /// See [`OpenOptions`] for other modes.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::File::open`]: the file does not exist, or the process may not read it.
    ///
    /// # Cancel safety
    ///
    /// This function is cancel safe: it changes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() {
    /// let error = tress::fs::File::open("./no such thing").await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// # }
    /// ```
    pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().read(true).open(path).await
    }

    /// Opens a file in write-only mode, creating it if it does not exist and emptying it if it does.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::File::create`]: the directory does not exist, or the process may not write
    /// to it or to the file.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future once it has been polled does not stop the operation: the file may still be
    /// created or emptied. It does not stay open.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::io::AsyncWriteExt;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-create-{}", std::process::id()));
    /// let mut file = tress::fs::File::create(&path).await?;
    /// file.write_all(b"first").await?;
    /// file.flush().await?;
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        options.open(path).await
    }

    /// Creates a file that does not exist yet, open for reading and writing.
    ///
    /// The check and the creation are one atomic operation.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::File::create_new`]; [`AlreadyExists`](io::ErrorKind::AlreadyExists) if the
    /// file exists.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future once it has been polled does not stop the operation: the file may still be
    /// created. It does not stay open.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-file-new-{}", std::process::id()));
    /// tress::fs::File::create_new(&path).await?;
    /// assert!(tress::fs::File::create_new(&path).await.is_err());
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn create_new<P: AsRef<Path>>(path: P) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        options.open(path).await
    }

    /// Returns a new [`OpenOptions`], to open a file in other modes.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-mode-{}", std::process::id()));
    /// let log = tress::fs::File::options().append(true).create(true).open(&path).await?;
    /// # drop(log);
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Converts a file of the standard library.
    ///
    /// It is assumed to [share its position](File#shared-positions) with duplicates.
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tress-doc-from-{}", std::process::id()));
    /// let file = tress::fs::File::from_std(std::fs::File::create(&path)?);
    /// # drop(file);
    /// # std::fs::remove_file(path)?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn from_std(std: std::fs::File) -> File {
        // The caller may have a duplicate.
        File::new(std, Cursor::shared())
    }

    /// Wraps a file that was just opened, and so has no duplicates.
    pub(super) fn opened(std: std::fs::File) -> File {
        File::new(std, Cursor::default())
    }

    fn new(std: std::fs::File, cursor: Cursor) -> File {
        File {
            std: Arc::new(std),
            cursor: Mutex::new(cursor),
            max_buf_size: MAX_BUF_SIZE,
        }
    }

    /// Synchronises the contents and the metadata of the file with the storage device.
    ///
    /// Waits for an earlier write first. When this returns, the file survives a crash of the system.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::File::sync_all`]. The error of an earlier write is not returned here, but by
    /// the next write or flush.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: dropping the future loses no data, but leaves open whether it has been
    /// made durable.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::io::AsyncWriteExt;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-sync-{}", std::process::id()));
    /// let mut file = tress::fs::File::create(&path).await?;
    /// file.write_all(b"to keep").await?;
    /// file.sync_all().await?;
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn sync_all(&self) -> io::Result<()> {
        self.cursor.lock().await.settle().await;
        match ring::sync_all(&self.std) {
            Some(synced) => synced.await,
            None => {
                let std = self.std.clone();
                blocking(move || std.sync_all()).await
            }
        }
    }

    /// Synchronises the contents of the file with the storage device, and as much of the metadata as is
    /// needed to read them back.
    ///
    /// This may be cheaper than [`sync_all`](File::sync_all): times, for example, need not be written.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::File::sync_data`], and otherwise as for [`sync_all`](File::sync_all).
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe in the same way as [`sync_all`](File::sync_all).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-data-{}", std::process::id()));
    /// let file = tress::fs::File::create(&path).await?;
    /// file.set_len(10).await?;
    /// file.sync_data().await?;
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn sync_data(&self) -> io::Result<()> {
        self.cursor.lock().await.settle().await;
        match ring::sync_data(&self.std) {
            Some(synced) => synced.await,
            None => {
                let std = self.std.clone();
                blocking(move || std.sync_data()).await
            }
        }
    }

    /// Truncates the file to `size` bytes, or extends it with zeros.
    ///
    /// The position does not change.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::File::set_len`], and the error of an earlier write, in which case the length
    /// is not changed.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the length may or may not change. The next operation at the position of
    /// the file waits for the outcome, so that it never cuts off what is written later.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-len-{}", std::process::id()));
    /// let file = tress::fs::File::create(&path).await?;
    /// file.set_len(10).await?;
    /// assert_eq!(file.metadata().await?.len(), 10);
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        self.cursor.lock().await.set_len(&self.std, size).await
    }

    /// Returns the metadata of the file.
    ///
    /// Bytes of writes that have not been [flushed](crate::io::AsyncWriteExt::flush) may be missing from its
    /// length.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::File::metadata`].
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: it changes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-fmeta-{}", std::process::id()));
    /// let file = tress::fs::File::create(&path).await?;
    /// assert!(file.metadata().await?.is_file());
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = self.std.clone();
        blocking(move || std.metadata()).await
    }

    /// Creates a new handle to the same open file.
    ///
    /// Both handles [share one position](File#shared-positions), and both are slower from then on than a
    /// file that does not.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::File::try_clone`]: too many files are open. If a read was dropped, also any
    /// error of `lseek(2)`, as the position has to move back first.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: no data is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::io::AsyncWriteExt;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-clone-{}", std::process::id()));
    /// let mut one = tress::fs::File::create(&path).await?;
    /// let mut other = one.try_clone().await?;
    /// one.write_all(b"one ").await?;
    /// one.flush().await?;
    /// other.write_all(b"other").await?;
    /// other.flush().await?;
    /// assert_eq!(tress::fs::read(&path).await?, b"one other");
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn try_clone(&self) -> io::Result<File> {
        let mut cursor = self.cursor.lock().await;
        // The clone must see the bytes that a dropped read has read.
        poll_fn(|cx| cursor.poll_go_back(cx, &self.std)).await?;
        // The system only counts a reference: this does not block.
        let mut clone = File::from_std(self.std.try_clone()?);
        clone.cursor.get_mut().share();
        cursor.share();
        clone.max_buf_size = self.max_buf_size;
        Ok(clone)
    }

    /// Converts the file into one of the standard library, once all of its operations have ended.
    ///
    /// If a read was dropped, the position is before the bytes that it has read. Files without a position,
    /// such as terminals, lose these bytes. An error of an earlier write is discarded: flush first.
    ///
    /// # Panics
    ///
    /// If an operation whose future was dropped still holds the file, and the file cannot be duplicated
    /// because too many files are open.
    ///
    /// # Cancel safety
    ///
    /// This method is not cancel safe: the file is closed if the future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-into-{}", std::process::id()));
    /// let file = tress::fs::File::create(&path).await?;
    /// let std: std::fs::File = file.into_std().await;
    /// # drop(std);
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn into_std(mut self) -> std::fs::File {
        let (cursor, std) = (self.cursor.get_mut(), &self.std);
        // A file whose position cannot move back is returned all the same.
        let _ = poll_fn(|cx| cursor.poll_go_back(cx, std)).await;
        match Arc::try_unwrap(self.std) {
            Ok(std) => std,
            Err(shared) => shared
                .try_clone()
                .expect("a file that an operation still has can be duplicated"),
        }
    }

    /// Converts the file into one of the standard library, unless an operation is in progress.
    ///
    /// See [`into_std`](File::into_std), which waits instead.
    ///
    /// # Errors
    ///
    /// Returns the file if an operation is in progress, or if a read was dropped and the position cannot
    /// move back to before it.
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tress-doc-try-{}", std::process::id()));
    /// let file = tress::fs::File::from_std(std::fs::File::create(&path)?);
    /// assert!(file.try_into_std().is_ok());
    /// # std::fs::remove_file(path)?;
    /// # std::io::Result::Ok(())
    /// ```
    #[allow(
        clippy::result_large_err,
        reason = "the file is the caller's, and comes back"
    )]
    pub fn try_into_std(mut self) -> Result<std::fs::File, Self> {
        let cursor = self.cursor.get_mut();
        // This does nothing unless a read was dropped. It might then wait for an operation of a clone.
        if !cursor.is_idle() || cursor.forget_ahead(&self.std).is_err() {
            return Err(self);
        }
        match Arc::try_unwrap(self.std) {
            Ok(std) => Ok(std),
            Err(std) => Err(File { std, ..self }),
        }
    }

    /// Changes the permissions of the file.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::File::set_permissions`]: the process may not change them.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future once it has been polled does not stop the operation: the permissions are still
    /// changed.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-fmode-{}", std::process::id()));
    /// let file = tress::fs::File::create(&path).await?;
    /// let mut permissions = file.metadata().await?.permissions();
    /// permissions.set_readonly(true);
    /// file.set_permissions(permissions).await?;
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        let std = self.std.clone();
        blocking(move || std.set_permissions(permissions)).await
    }

    /// Changes the times of the file.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::File::set_times`]: the process may not change them, or the file system cannot
    /// represent them.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future once it has been polled does not stop the operation: the times are still
    /// changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use tress::fs::{File, FileTimes};
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-times-{}", std::process::id()));
    /// let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    /// let file = File::create(&path).await?;
    /// file.set_times(FileTimes::new().set_accessed(then).set_modified(then)).await?;
    /// assert_eq!(file.metadata().await?.modified()?, then);
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn set_times(&self, times: FileTimes) -> io::Result<()> {
        let std = self.std.clone();
        blocking(move || std.set_times(times.into_std())).await
    }

    /// Changes the time of the last modification of the file.
    ///
    /// [`set_times`](File::set_times) changes several times at once.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::File::set_modified`], under the conditions of
    /// [`set_times`](File::set_times).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future once it has been polled does not stop the operation: the time is still changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-touch-{}", std::process::id()));
    /// let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    /// let file = tress::fs::File::create(&path).await?;
    /// file.set_modified(then).await?;
    /// assert_eq!(file.metadata().await?.modified()?, then);
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(time)).await
    }

    /// Sets the maximum number of bytes that one read or write moves.
    ///
    /// This bounds the memory that the file uses, not what can be read or written: an operation on a longer
    /// buffer moves fewer bytes than the buffer holds. The default is 2 MiB.
    ///
    /// # Panics
    ///
    /// If `max_buf_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-buf-{}", std::process::id()));
    /// tress::fs::write(&path, "0123456789").await?;
    /// let mut file = tress::fs::File::open(&path).await?;
    /// file.set_max_buf_size(4);
    /// assert_eq!(file.read(&mut [0; 100]).await?, 4);
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    #[track_caller]
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        assert!(max_buf_size > 0, "{}", words::NO_BUFFER);
        self.max_buf_size = max_buf_size;
    }

    /// Returns the maximum number of bytes that one read or write moves.
    ///
    /// [`set_max_buf_size`](File::set_max_buf_size) changes it.
    ///
    /// # Examples
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tress-doc-max-{}", std::process::id()));
    /// let file = tress::fs::File::from_std(std::fs::File::create(&path)?);
    /// assert_eq!(file.max_buf_size(), 2 * 1024 * 1024);
    /// # std::fs::remove_file(path)?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn max_buf_size(&self) -> usize {
        self.max_buf_size
    }

    fn parts(self: Pin<&mut Self>) -> (&mut Cursor, &Arc<std::fs::File>, usize) {
        let this = self.get_mut();
        (this.cursor.get_mut(), &this.std, this.max_buf_size)
    }
}

impl AsyncRead for File {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (cursor, std, most) = self.parts();
        cursor.poll_read(cx, buf, std, most)
    }
}

impl AsyncSeek for File {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        let (cursor, std, _) = self.parts();
        cursor.start_seek(std, position)
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let (cursor, std, _) = self.parts();
        cursor.poll_complete(cx, std)
    }

    fn poll_settled(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Option<u64>>> {
        self.parts().0.poll_settled(cx).map(Ok)
    }
}

impl AsyncWrite for File {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let (cursor, std, most) = self.parts();
        cursor.poll_write(cx, std, &buf[..buf.len().min(most)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let (cursor, std, most) = self.parts();
        cursor.poll_write_vectored(cx, std, bufs, most)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.parts().0.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl From<std::fs::File> for File {
    fn from(std: std::fs::File) -> File {
        File::from_std(std)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(words::FILE)
            .field("std", &self.std)
            .finish_non_exhaustive()
    }
}

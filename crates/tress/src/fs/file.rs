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
#[cfg(windows)]
mod windows;

/// As much as is read or written at once.
const MAX_BUF_SIZE: usize = 2 * 1024 * 1024;

/// An open file.
///
/// It is read, written and sought by the traits of [`io`](crate::io), at a position that moves along.
/// On Unix it can also be read and written [at any position](File::read_at), by many at a time.
///
/// A write that would have to wait is reported as done when its bytes are on their way; its error shows
/// in the next write, or in [`flush`](crate::io::AsyncWriteExt::flush), which waits for it. It is made even
/// if the file is dropped or the runtime shut down; without a flush nobody knows when.
///
/// Files that share a position, because one is a [clone](File::try_clone) of the other, may be used at once:
/// no byte is read twice, and none is written over what the other has written. So that this holds, and none
/// waits for the other on a worker, the blocking pool does whatever they do at their position, which is
/// slower, even when the clone is gone. What was not opened here but made [from a
/// file](File::from_std) of the standard library may have duplicates too: it is read and written at once
/// where memory suffices, else by the pool, but then a worker may have to wait for what another thread
/// does with a duplicate. Of duplicates made through `as_fd` a file does not know: do not use both at once.
///
/// A file that is open for direct input and output (`O_DIRECT`) is read and written as it asks for: in pieces whose
/// length and position are multiples of its block size. Where bytes go through memory of the file's own, that is
/// aligned to 4096 bytes.
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
///
/// # Cancel safety
/// Nothing is lost by dropping an operation: what a dropped read has read is returned by the next one, or
/// the position goes back to before it; a dropped write has not written anything; a dropped seek may
/// have moved the position, and if it fails nobody hears of it.
///
/// What goes on after it was dropped belongs to the runtime that it was begun in, and the next operation waits
/// for it. If that is begun in another runtime, the first one has to be driven meanwhile, as a
/// current-thread runtime is only inside of `block_on`, or to be shut down.
pub struct File {
    std: Arc<std::fs::File>,
    cursor: Mutex<Cursor>,
    max_buf_size: usize,
}

impl File {
    /// Opens a file to read from it.
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() {
    /// let error = tress::fs::File::open("./no such thing").await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`std::fs::File::open`].
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().read(true).open(path).await
    }

    /// Opens a file to write to it; makes it if there is none, empties it if there is.
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
    ///
    /// # Errors
    /// As [`std::fs::File::create`].
    ///
    /// # Cancel safety
    /// That of [`OpenOptions::open`].
    pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        options.open(path).await
    }

    /// Makes a file that does not exist yet, to read from it and write to it.
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
    ///
    /// # Errors
    /// As [`std::fs::File::create_new`]: `AlreadyExists`.
    ///
    /// # Cancel safety
    /// That of [`OpenOptions::open`].
    pub async fn create_new<P: AsRef<Path>>(path: P) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        options.open(path).await
    }

    /// Other ways to open a file.
    ///
    /// ```
    /// let options = tress::fs::File::options();
    /// # let _ = options;
    /// ```
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// A file of the standard library. It may share its position with others.
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tress-doc-from-{}", std::process::id()));
    /// let file = tress::fs::File::from_std(std::fs::File::create(&path)?);
    /// # drop(file);
    /// # std::fs::remove_file(path)?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn from_std(std: std::fs::File) -> File {
        // Whoever made it may have a duplicate.
        File::new(std, Cursor::shared())
    }

    /// A file that was just opened: nobody else has it.
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

    /// Makes contents and metadata durable.
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
    ///
    /// # Errors
    /// As [`std::fs::File::sync_all`]. The error of an earlier write stays for the next write or flush.
    ///
    /// # Cancel safety
    /// Nothing is lost.
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

    /// Makes the contents durable, and of the metadata what is needed to find them.
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
    ///
    /// # Errors
    /// As [`sync_all`](File::sync_all).
    ///
    /// # Cancel safety
    /// Nothing is lost.
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

    /// Cuts the file off, or fills it up with zeros. The position stays.
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
    ///
    /// # Errors
    /// As [`std::fs::File::set_len`]; or that of an earlier write.
    ///
    /// # Cancel safety
    /// It may be done or not; the next operation on the file's position comes after it.
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        self.cursor.lock().await.set_len(&self.std, size).await
    }

    /// What is known about the file.
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
    ///
    /// # Errors
    /// As [`std::fs::File::metadata`].
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = self.std.clone();
        blocking(move || std.metadata()).await
    }

    /// Another handle of the same open file: both share one position, and both are slower than one that
    /// does not.
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
    ///
    /// # Errors
    /// As [`std::fs::File::try_clone`]: there are too many open files. As for a seek, if a read was dropped.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub async fn try_clone(&self) -> io::Result<File> {
        let mut cursor = self.cursor.lock().await;
        // The clone is to see what a dropped read has read.
        poll_fn(|cx| cursor.poll_go_back(cx, &self.std)).await?;
        // The system only counts it: nothing waits.
        let mut clone = File::from_std(self.std.try_clone()?);
        clone.cursor.get_mut().share();
        cursor.share();
        clone.max_buf_size = self.max_buf_size;
        Ok(clone)
    }

    /// The file of the standard library, when nothing is going on any more. Its position is before what a
    /// dropped read has read; of something without a position, such as a terminal, that is lost.
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
    ///
    /// # Panics
    /// If another operation, whose future was dropped, still has the file, and it cannot be duplicated
    /// because there are too many open files.
    ///
    /// # Cancel safety
    /// The file is closed.
    pub async fn into_std(mut self) -> std::fs::File {
        let (cursor, std) = (self.cursor.get_mut(), &self.std);
        // A file that cannot go back is returned all the same: there is nothing to be done about it.
        let _ = poll_fn(|cx| cursor.poll_go_back(cx, std)).await;
        match Arc::try_unwrap(self.std) {
            Ok(std) => std,
            Err(shared) => shared
                .try_clone()
                .expect("a file that an operation still has can be duplicated"),
        }
    }

    /// The file of the standard library, unless something is going on. As [`into_std`](File::into_std).
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("tress-doc-try-{}", std::process::id()));
    /// let file = tress::fs::File::from_std(std::fs::File::create(&path)?);
    /// assert!(file.try_into_std().is_ok());
    /// # std::fs::remove_file(path)?;
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// The file, if something is going on, or it cannot go back.
    #[allow(
        clippy::result_large_err,
        reason = "the file is the caller's, and comes back"
    )]
    pub fn try_into_std(mut self) -> Result<std::fs::File, Self> {
        let cursor = self.cursor.get_mut();
        // Only after a read was dropped does this do anything, and might wait for a clone.
        if !cursor.is_idle() || cursor.forget_ahead(&self.std).is_err() {
            return Err(self);
        }
        match Arc::try_unwrap(self.std) {
            Ok(std) => Ok(std),
            Err(std) => Err(File { std, ..self }),
        }
    }

    /// Changes what may be done with the file.
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
    ///
    /// # Errors
    /// As [`std::fs::File::set_permissions`].
    ///
    /// # Cancel safety
    /// It goes on.
    pub async fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        let std = self.std.clone();
        blocking(move || std.set_permissions(permissions)).await
    }

    /// Changes the times of the file.
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
    ///
    /// # Errors
    /// As [`std::fs::File::set_times`].
    ///
    /// # Cancel safety
    /// It goes on.
    pub async fn set_times(&self, times: FileTimes) -> io::Result<()> {
        let std = self.std.clone();
        blocking(move || std.set_times(times)).await
    }

    /// Changes when the file was last modified.
    ///
    /// # Errors
    /// As [`std::fs::File::set_modified`].
    ///
    /// # Cancel safety
    /// It goes on.
    pub async fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(time)).await
    }

    /// Sets how many bytes one read or write moves at most. Default: 2 MiB.
    ///
    /// It bounds the memory of a file, not what can be read or written: a longer read or write is a short
    /// one.
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
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        assert!(max_buf_size > 0, "{}", words::NO_BUFFER);
        self.max_buf_size = max_buf_size;
    }

    /// How many bytes one read or write moves at most.
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

use super::blocking;
use crate::io::offload::{Job, lost, spawn};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::{FileType, Metadata};
use std::future::{Future, poll_fn};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The number of entries that one trip to the blocking pool fetches.
const BATCH: usize = 64;

/// Returns the entries of a directory.
///
/// The entries come in no particular order, without `.` and `..`.
///
/// # Errors
///
/// Any error of [`std::fs::read_dir`]: the path does not exist, is not a directory, or the process may
/// not read it.
///
/// # Cancel safety
///
/// This function is cancel safe: it changes nothing.
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-list-{}", std::process::id()));
/// # tress::fs::create_dir(&path).await?;
/// # tress::fs::write(path.join("a"), "").await?;
/// let mut entries = tress::fs::read_dir(&path).await?;
/// while let Some(entry) = entries.next_entry().await? {
///     println!("{:?}", entry.file_name());
/// }
/// # tress::fs::remove_dir_all(path).await
/// # }
/// ```
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref().to_owned();
    let batch = blocking(move || {
        let rest = std::fs::read_dir(path)?;
        Ok(fetch(VecDeque::new(), rest))
    })
    .await?;
    Ok(ReadDir(State::Here(batch)))
}

/// The entries of a directory, in no particular order.
///
/// Returned by [`read_dir`].
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-entries-{}", std::process::id()));
/// # tress::fs::create_dir(&path).await?;
/// # tress::fs::write(path.join("notes"), "").await?;
/// let mut names = Vec::new();
/// let mut entries = tress::fs::read_dir(&path).await?;
/// while let Some(entry) = entries.next_entry().await? {
///     names.push(entry.file_name());
/// }
/// assert_eq!(names, ["notes"]);
/// # tress::fs::remove_dir_all(path).await
/// # }
/// ```
#[derive(Debug)]
#[must_use = "entries are read when they are asked for"]
pub struct ReadDir(State);

#[derive(Debug)]
// The lint fires on Windows. Each `ReadDir` holds one state and changes between the two often, so
// a box would cost more than the room.
#[allow(clippy::large_enum_variant)]
enum State {
    Here(Batch),
    Fetching(Job<Batch>),
}

#[derive(Debug)]
struct Batch {
    entries: VecDeque<io::Result<DirEntry>>,
    /// Yields the entries after these; `None` at the end of the directory.
    rest: Option<std::fs::ReadDir>,
}

/// Fetches the next entries, into the memory of the previous ones.
fn fetch(mut entries: VecDeque<io::Result<DirEntry>>, mut rest: std::fs::ReadDir) -> Batch {
    while entries.len() < BATCH {
        match rest.next() {
            Some(entry) => entries.push_back(entry.map(DirEntry::new)),
            None => {
                return Batch {
                    entries,
                    rest: None,
                };
            }
        }
    }
    Batch {
        entries,
        rest: Some(rest),
    }
}

impl ReadDir {
    /// Returns the next entry, or `None` at the end of the directory.
    ///
    /// # Errors
    ///
    /// Any error of `readdir(3)`. Further entries may follow one that could not be read. An error of the
    /// runtime or its blocking pool ends the listing.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: an entry that was not returned is returned by the next call.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-next-{}", std::process::id()));
    /// # tress::fs::create_dir(&path).await?;
    /// let mut entries = tress::fs::read_dir(&path).await?;
    /// assert!(entries.next_entry().await?.is_none());
    /// # tress::fs::remove_dir(path).await
    /// # }
    /// ```
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// Polls for the next entry.
    ///
    /// Returns `Poll::Ready(Ok(None))` at the end of the directory. When this returns `Poll::Pending`, the
    /// waker of the most recent call is woken once entries have been fetched. See
    /// [`next_entry`](ReadDir::next_entry).
    ///
    /// # Errors
    ///
    /// Those of [`next_entry`](ReadDir::next_entry).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-poll-{}", std::process::id()));
    /// # tress::fs::create_dir(&path).await?;
    /// let mut entries = tress::fs::read_dir(&path).await?;
    /// let entry = poll_fn(|cx| entries.poll_next_entry(cx)).await?;
    /// assert!(entry.is_none());
    /// # tress::fs::remove_dir(path).await
    /// # }
    /// ```
    pub fn poll_next_entry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        loop {
            match &mut self.0 {
                State::Here(batch) => {
                    if let Some(entry) = batch.entries.pop_front() {
                        return Poll::Ready(entry.map(Some));
                    }
                    let Some(rest) = batch.rest.take() else {
                        return Poll::Ready(Ok(None));
                    };
                    let entries = std::mem::take(&mut batch.entries);
                    // If the pool refuses the job, the listing ends.
                    self.0 = State::Fetching(spawn(move || fetch(entries, rest))?);
                }
                State::Fetching(job) => {
                    let fetched = ready!(Pin::new(job).poll(cx));
                    let (batch, error) = match fetched {
                        Ok(batch) => (batch, None),
                        Err(error) => {
                            let entries = VecDeque::new();
                            let none = Batch {
                                entries,
                                rest: None,
                            };
                            (none, Some(lost(error)))
                        }
                    };
                    self.0 = State::Here(batch);
                    if let Some(error) = error {
                        return Poll::Ready(Err(error));
                    }
                }
            }
        }
    }
}

/// An entry of a directory.
///
/// Returned by [`ReadDir::next_entry`].
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-entry-{}", std::process::id()));
/// # tress::fs::create_dir_all(path.join("sub")).await?;
/// let mut entries = tress::fs::read_dir(&path).await?;
/// while let Some(entry) = entries.next_entry().await? {
///     if entry.file_type().await?.is_dir() {
///         println!("directory {}", entry.path().display());
///     }
/// }
/// # tress::fs::remove_dir_all(path).await
/// # }
/// ```
pub struct DirEntry {
    std: Arc<std::fs::DirEntry>,
    /// Most file systems keep it in the directory itself. It is asked for on the blocking pool, with
    /// the entry.
    file_type: Option<FileType>,
}

impl DirEntry {
    fn new(std: std::fs::DirEntry) -> DirEntry {
        DirEntry {
            file_type: std.file_type().ok(),
            std: Arc::new(std),
        }
    }

    /// Returns the full path of the entry.
    ///
    /// It is the path that was given to [`read_dir`], joined with the name of the entry.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-path-{}", std::process::id()));
    /// # tress::fs::create_dir_all(path.join("sub")).await?;
    /// let mut entries = tress::fs::read_dir(&path).await?;
    /// let entry = entries.next_entry().await?.unwrap();
    /// assert_eq!(entry.path(), path.join("sub"));
    /// # tress::fs::remove_dir_all(path).await
    /// # }
    /// ```
    pub fn path(&self) -> PathBuf {
        self.std.path()
    }

    /// Returns the name of the entry, without any directory.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-name-{}", std::process::id()));
    /// # tress::fs::create_dir_all(path.join("sub")).await?;
    /// let mut entries = tress::fs::read_dir(&path).await?;
    /// assert_eq!(entries.next_entry().await?.unwrap().file_name(), "sub");
    /// # tress::fs::remove_dir_all(path).await
    /// # }
    /// ```
    pub fn file_name(&self) -> OsString {
        self.std.file_name()
    }

    /// Returns the metadata of the entry, without following a symbolic link.
    ///
    /// [`fs::metadata`](super::metadata) of the [`path`](DirEntry::path) follows links.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::DirEntry::metadata`]: the entry may have been removed since it was listed.
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
    /// # let path = std::env::temp_dir().join(format!("tress-doc-meta-{}", std::process::id()));
    /// # tress::fs::create_dir_all(path.join("sub")).await?;
    /// let mut entries = tress::fs::read_dir(&path).await?;
    /// assert!(entries.next_entry().await?.unwrap().metadata().await?.is_dir());
    /// # tress::fs::remove_dir_all(path).await
    /// # }
    /// ```
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = self.std.clone();
        blocking(move || std.metadata()).await
    }

    /// Returns the type of the entry, without following a symbolic link.
    ///
    /// On most file systems the type was read together with the entry, and this returns immediately.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::DirEntry::file_type`].
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
    /// # let path = std::env::temp_dir().join(format!("tress-doc-type-{}", std::process::id()));
    /// # tress::fs::create_dir_all(path.join("sub")).await?;
    /// let mut entries = tress::fs::read_dir(&path).await?;
    /// assert!(entries.next_entry().await?.unwrap().file_type().await?.is_dir());
    /// # tress::fs::remove_dir_all(path).await
    /// # }
    /// ```
    pub async fn file_type(&self) -> io::Result<FileType> {
        if let Some(file_type) = self.file_type {
            return Ok(file_type);
        }
        let std = self.std.clone();
        blocking(move || std.file_type()).await
    }

    /// Returns the inode number of the entry.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-ino-{}", std::process::id()));
    /// # tress::fs::create_dir_all(path.join("sub")).await?;
    /// let mut entries = tress::fs::read_dir(&path).await?;
    /// assert_ne!(entries.next_entry().await?.unwrap().ino(), 0);
    /// # tress::fs::remove_dir_all(path).await
    /// # }
    /// ```
    #[cfg(unix)]
    pub fn ino(&self) -> u64 {
        std::os::unix::fs::DirEntryExt::ino(&*self.std)
    }
}

impl fmt::Debug for DirEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.std.fmt(f)
    }
}

use super::blocking;
use crate::io::offload::{lost, spawn};
use crate::task::JoinHandle;
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

/// So many entries are fetched with one way to the blocking pool.
const BATCH: usize = 64;

/// The entries of a directory, in no particular order, without itself and its parent.
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
///
/// # Errors
/// As [`std::fs::read_dir`]: there is none, it is not a directory, or it may not be read.
///
/// # Cancel safety
/// It changes nothing.
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref().to_owned();
    let batch = blocking(move || {
        let rest = std::fs::read_dir(path)?;
        Ok(fetch(VecDeque::new(), rest))
    })
    .await?;
    Ok(ReadDir(State::Here(batch)))
}

/// The entries of a directory; made by [`read_dir`].
#[derive(Debug)]
#[must_use = "entries are read when they are asked for"]
pub struct ReadDir(State);

#[derive(Debug)]
// On Windows; each `ReadDir` has one, and it changes between them all the time.
#[allow(clippy::large_enum_variant)]
enum State {
    Here(Batch),
    Fetching(JoinHandle<Batch>),
}

#[derive(Debug)]
struct Batch {
    entries: VecDeque<io::Result<DirEntry>>,
    /// Where more are; none at the end.
    rest: Option<std::fs::ReadDir>,
}

/// The next entries, into the memory of the last ones.
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
    /// The next entry, or `None` at the end.
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
    ///
    /// # Errors
    /// What the system says about this entry; there may be others after it.
    ///
    /// # Cancel safety
    /// Cancel safe: an entry is returned or comes again.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// The next entry, as [`next_entry`](ReadDir::next_entry) returns it, if it is there.
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
                    // If the pool takes nothing more, that is the end.
                    self.0 = State::Fetching(spawn(move || fetch(entries, rest), false)?);
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

/// An entry of a directory; made by [`ReadDir::next_entry`].
pub struct DirEntry {
    std: Arc<std::fs::DirEntry>,
    /// Known from the directory itself on most file systems, and asked for while we block elsewhere.
    file_type: Option<FileType>,
}

impl DirEntry {
    fn new(std: std::fs::DirEntry) -> DirEntry {
        DirEntry {
            file_type: std.file_type().ok(),
            std: Arc::new(std),
        }
    }

    /// The directory's path as it was given, and the name.
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

    /// The name.
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

    /// What is known about it, or about the link if it is one.
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
    ///
    /// # Errors
    /// As [`std::fs::DirEntry::metadata`]: it may be gone by now.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = self.std.clone();
        blocking(move || std.metadata()).await
    }

    /// What it is. Links are not followed.
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
    ///
    /// # Errors
    /// As [`std::fs::DirEntry::file_type`].
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn file_type(&self) -> io::Result<FileType> {
        if let Some(file_type) = self.file_type {
            return Ok(file_type);
        }
        let std = self.std.clone();
        blocking(move || std.file_type()).await
    }

    /// The number of its inode.
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

use super::{File, blocking};
use std::io;
use std::path::Path;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

/// Options that determine how a file is opened.
///
/// Start from [`new`](OpenOptions::new) or [`File::options`], set options, and call
/// [`open`](OpenOptions::open). [`File::open`] and [`File::create`] cover the usual cases.
///
/// # Examples
///
/// ```
/// use tress::fs::OpenOptions;
/// use tress::io::AsyncWriteExt;
///
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-options-{}", std::process::id()));
/// let mut log = OpenOptions::new().append(true).create(true).open(&path).await?;
/// log.write_all(b"started\n").await?;
/// log.flush().await?;
/// # tress::fs::remove_file(path).await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    std: std::fs::OpenOptions,
}

macro_rules! option {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub fn $name(&mut self, $name: bool) -> &mut Self {
            self.std.$name($name);
            self
        }
    };
}

impl OpenOptions {
    /// Creates a set of options with every option set to `false`.
    ///
    /// A file cannot be opened before at least one of [`read`](OpenOptions::read),
    /// [`write`](OpenOptions::write) and [`append`](OpenOptions::append) is set.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() {
    /// let nothing = tress::fs::OpenOptions::new().open(".").await.unwrap_err();
    /// assert_eq!(nothing.kind(), std::io::ErrorKind::InvalidInput);
    /// # }
    /// ```
    pub fn new() -> OpenOptions {
        OpenOptions {
            std: std::fs::OpenOptions::new(),
        }
    }

    option! {
        /// Sets whether the file can be read.
        ///
        /// # Examples
        ///
        /// ```
        /// # #[tress::main]
        /// # async fn main() -> std::io::Result<()> {
        /// let directory = tress::fs::OpenOptions::new().read(true).open(".").await;
        /// # #[cfg(unix)]
        /// assert!(directory?.metadata().await?.is_dir());
        /// # Ok(())
        /// # }
        /// ```
        read
    }

    option! {
        /// Sets whether the file can be written.
        ///
        /// Writes start at the beginning of the file and overwrite what is there;
        /// [`truncate`](OpenOptions::truncate) empties the file first, and [`append`](OpenOptions::append)
        /// writes at its end.
        ///
        /// # Examples
        ///
        /// ```
        /// let mut options = tress::fs::OpenOptions::new();
        /// options.read(true).write(true);
        /// ```
        write
    }

    option! {
        /// Sets whether every write goes to the end of the file.
        ///
        /// The end is determined by each write, so that several processes can append to the same file. Implies
        /// [`write`](OpenOptions::write).
        ///
        /// # Examples
        ///
        /// ```
        /// let mut options = tress::fs::OpenOptions::new();
        /// options.append(true);
        /// ```
        append
    }

    option! {
        /// Sets whether the file is emptied when it is opened.
        ///
        /// Requires [`write`](OpenOptions::write).
        ///
        /// # Examples
        ///
        /// ```
        /// let mut options = tress::fs::OpenOptions::new();
        /// options.write(true).truncate(true);
        /// ```
        truncate
    }

    option! {
        /// Sets whether the file is created if it does not exist.
        ///
        /// Requires [`write`](OpenOptions::write) or [`append`](OpenOptions::append).
        ///
        /// # Examples
        ///
        /// ```
        /// let mut options = tress::fs::OpenOptions::new();
        /// options.write(true).create(true);
        /// ```
        create
    }

    option! {
        /// Sets whether the file is created, failing if it exists already.
        ///
        /// The check and the creation are one atomic operation. If set, [`create`](OpenOptions::create) and
        /// [`truncate`](OpenOptions::truncate) are ignored.
        ///
        /// # Examples
        ///
        /// ```
        /// # #[tress::main]
        /// # async fn main() -> std::io::Result<()> {
        /// # let path = std::env::temp_dir().join(format!("tress-doc-new-{}", std::process::id()));
        /// let mut lock = tress::fs::OpenOptions::new();
        /// lock.write(true).create_new(true);
        /// lock.open(&path).await?;
        /// assert_eq!(lock.open(&path).await.unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
        /// # tress::fs::remove_file(path).await
        /// # }
        /// ```
        create_new
    }

    /// Opens the file at `path` with these options.
    ///
    /// Opening a FIFO waits until another process opens its other end.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::OpenOptions::open`]:
    ///
    /// - [`InvalidInput`](io::ErrorKind::InvalidInput) if no access mode is set or the options contradict
    ///   each other;
    /// - [`NotFound`](io::ErrorKind::NotFound) if the file does not exist and is not to be created;
    /// - [`AlreadyExists`](io::ErrorKind::AlreadyExists) if [`create_new`](OpenOptions::create_new) is set
    ///   and the file exists;
    /// - any error of `open(2)`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future once it has been polled does not stop the operation: the file may still be
    /// created or emptied. It does not stay open.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-open-{}", std::process::id()));
    /// let file = tress::fs::OpenOptions::new().write(true).create(true).open(&path).await?;
    /// # drop(file);
    /// # tress::fs::remove_file(path).await
    /// # }
    /// ```
    // D-FS-02
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref().to_owned();
        let options = self.std.clone();
        // Not on the ring: see `tress_driver::op::OpenAt`.
        let opened = blocking(move || options.open(path)).await;
        opened.map(File::opened)
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions::new()
    }
}

impl From<std::fs::OpenOptions> for OpenOptions {
    fn from(std: std::fs::OpenOptions) -> OpenOptions {
        OpenOptions { std }
    }
}

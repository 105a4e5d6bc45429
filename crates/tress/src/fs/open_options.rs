use super::{File, blocking};
use std::io;
use std::path::Path;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

/// How to open a file.
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
    /// Nothing is set: such a file could not be opened.
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
        /// To be read from.
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
        /// To be written to, from its start, over what is there.
        ///
        /// ```
        /// let mut options = tress::fs::OpenOptions::new();
        /// options.read(true).write(true);
        /// ```
        write
    }

    option! {
        /// Each write goes to the file's end, wherever that is then.
        ///
        /// ```
        /// let mut options = tress::fs::OpenOptions::new();
        /// options.append(true);
        /// ```
        append
    }

    option! {
        /// Emptied first. Needs [`write`](OpenOptions::write).
        ///
        /// ```
        /// let mut options = tress::fs::OpenOptions::new();
        /// options.write(true).truncate(true);
        /// ```
        truncate
    }

    option! {
        /// Made if there is none. Needs [`write`](OpenOptions::write) or
        /// [`append`](OpenOptions::append).
        ///
        /// ```
        /// let mut options = tress::fs::OpenOptions::new();
        /// options.write(true).create(true);
        /// ```
        create
    }

    option! {
        /// Made, and it is an error if there is one. No other process can come between.
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

    /// Opens a file.
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
    ///
    /// # Errors
    /// As [`std::fs::OpenOptions::open`]: `InvalidInput` for options that contradict each other, and
    /// what the system says.
    ///
    /// # Cancel safety
    /// A file may be made or emptied all the same; it does not stay open.
    // D-FS-02
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref().to_owned();
        let options = self.std.clone();
        // Not by the ring: see `tress_driver::op::OpenAt`.
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

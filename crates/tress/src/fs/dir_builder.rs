use super::blocking;
use std::io;
use std::path::Path;

/// A builder that creates directories with options.
///
/// [`create_dir`](super::create_dir) and [`create_dir_all`](super::create_dir_all) cover the usual
/// cases.
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-builder-{}", std::process::id()));
/// let mut builder = tress::fs::DirBuilder::new();
/// # #[cfg(unix)]
/// builder.mode(0o700);
/// builder.recursive(true).create(path.join("private/notes")).await?;
/// # tress::fs::remove_dir_all(path).await
/// # }
/// ```
#[derive(Debug, Default)]
pub struct DirBuilder {
    recursive: bool,
    #[cfg(unix)]
    mode: Option<u32>,
}

impl DirBuilder {
    /// Creates a builder with default options: not [recursive](DirBuilder::recursive), and on Unix with the
    /// mode `0o777`.
    ///
    /// # Examples
    ///
    /// ```
    /// let builder = tress::fs::DirBuilder::new();
    /// # let _ = builder;
    /// ```
    pub fn new() -> DirBuilder {
        DirBuilder::default()
    }

    /// Sets whether missing parents are created too.
    ///
    /// If set, [`create`](DirBuilder::create) also succeeds if the directory exists already. The default is
    /// `false`.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut builder = tress::fs::DirBuilder::new();
    /// builder.recursive(true);
    /// ```
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// Sets the permission bits of the directories to create.
    ///
    /// The process's `umask` is applied to them. The default is `0o777`.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut builder = tress::fs::DirBuilder::new();
    /// builder.mode(0o750);
    /// ```
    #[cfg(unix)]
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = Some(mode);
        self
    }

    /// Creates the directory at `path` with the options of this builder.
    ///
    /// # Errors
    ///
    /// Any error of [`std::fs::DirBuilder::create`]: the path exists already (unless
    /// [`recursive`](DirBuilder::recursive) is set), or its parent does not exist (likewise), or the process
    /// may not write to it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future once it has been polled may or may not leave the directory created; see the
    /// [module documentation](super#cancel-safety). If [`recursive`](DirBuilder::recursive) is set, the
    /// directories are still created.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-build-{}", std::process::id()));
    /// tress::fs::DirBuilder::new().create(&path).await?;
    /// # tress::fs::remove_dir(path).await
    /// # }
    /// ```
    pub async fn create(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        #[cfg(unix)]
        if !self.recursive {
            if let Some(made) = super::ring::create_dir(path, self.mode.unwrap_or(0o777)) {
                return made.await;
            }
        }
        let path = path.to_owned();
        let builder = self.as_std();
        blocking(move || builder.create(path)).await
    }

    fn as_std(&self) -> std::fs::DirBuilder {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(self.recursive);
        #[cfg(unix)]
        if let Some(mode) = self.mode {
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
        }
        builder
    }
}

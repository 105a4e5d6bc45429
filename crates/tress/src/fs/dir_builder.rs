use super::blocking;
use std::io;
use std::path::Path;

/// Makes directories in other ways than [`create_dir`](super::create_dir).
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
    /// As [`create_dir`](super::create_dir) does it.
    ///
    /// ```
    /// let builder = tress::fs::DirBuilder::new();
    /// # let _ = builder;
    /// ```
    pub fn new() -> DirBuilder {
        DirBuilder::default()
    }

    /// Makes the directories in between too, and is content with one that exists. Default: no.
    ///
    /// ```
    /// let mut builder = tress::fs::DirBuilder::new();
    /// builder.recursive(true);
    /// ```
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// The mode of new directories, of which the process's mask is taken. Default: `0o777`.
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

    /// Makes the directory.
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-build-{}", std::process::id()));
    /// tress::fs::DirBuilder::new().create(&path).await?;
    /// # tress::fs::remove_dir(path).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`std::fs::DirBuilder::create`].
    ///
    /// # Cancel safety
    /// [That of the module](super#cancel-safety).
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

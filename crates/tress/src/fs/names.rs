//! Functions that work on paths rather than on open files.

use super::{blocking, ring};
use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// Returns the absolute form of a path, with all symbolic links resolved and all `.` and `..`
/// components removed.
///
/// # Errors
///
/// Any error of [`std::fs::canonicalize`]: the path does not exist, or a component other than the last
/// is not a directory.
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
/// let here = tress::fs::canonicalize(".").await?;
/// assert!(here.is_absolute());
/// # Ok(())
/// # }
/// ```
pub async fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::canonicalize(path)).await
}

/// Creates a directory whose parent exists.
///
/// [`create_dir_all`] creates missing parents too, and [`DirBuilder`](super::DirBuilder) sets
/// permissions.
///
/// # Errors
///
/// Any error of [`std::fs::create_dir`]: the path exists already, its parent does not exist, or the
/// process may not write to the parent.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled may or may not leave the directory created; see the
/// [module documentation](super#cancel-safety).
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-mkdir-{}", std::process::id()));
/// tress::fs::create_dir(&path).await?;
/// assert!(tress::fs::create_dir(&path).await.is_err());
/// tress::fs::remove_dir(&path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    super::DirBuilder::new().create(path).await
}

/// Creates a directory and those of its parents that do not exist.
///
/// Succeeds if the directory exists already.
///
/// # Errors
///
/// Any error of [`std::fs::create_dir_all`]. Parents that were created before the error remain.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled does not stop the operation: the directories are still
/// created.
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let base = std::env::temp_dir().join(format!("tress-doc-mkdirs-{}", std::process::id()));
/// tress::fs::create_dir_all(base.join("a/b")).await?;
/// tress::fs::create_dir_all(base.join("a/b")).await?; // exists already
/// tress::fs::remove_dir_all(base).await?;
/// # Ok(())
/// # }
/// ```
pub async fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    super::DirBuilder::new().recursive(true).create(path).await
}

/// Creates a hard link: another name, `link`, for the file `original`.
///
/// # Errors
///
/// Any error of [`std::fs::hard_link`]: `original` does not exist, `link` exists already, or the two
/// are on different file systems.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled may or may not leave the link created; see the
/// [module documentation](super#cancel-safety).
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let base = std::env::temp_dir().join(format!("tress-doc-link-{}", std::process::id()));
/// # tress::fs::create_dir(&base).await?;
/// # let (original, link) = (base.join("one"), base.join("two"));
/// tress::fs::write(&original, "contents").await?;
/// tress::fs::hard_link(&original, &link).await?;
/// assert_eq!(tress::fs::read(&link).await?, b"contents");
/// # tress::fs::remove_dir_all(base).await
/// # }
/// ```
pub async fn hard_link(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref(), link.as_ref());
    match ring::hard_link(original, link) {
        Some(done) => done.await,
        None => {
            let (original, link) = (original.to_owned(), link.to_owned());
            blocking(move || std::fs::hard_link(original, link)).await
        }
    }
}

/// Returns the metadata of the file or directory that a path leads to, following symbolic links.
///
/// [`symlink_metadata`] describes the link itself.
///
/// # Errors
///
/// Any error of [`std::fs::metadata`]: the path does not exist, or the process may not search one of
/// its directories.
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
/// assert!(tress::fs::metadata(".").await?.is_dir());
/// # Ok(())
/// # }
/// ```
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::metadata(path)).await
}

/// Returns the metadata of a file or directory without following a symbolic link.
///
/// If the path is a symbolic link, the metadata describes the link. [`metadata`] follows it instead.
///
/// # Errors
///
/// Any error of [`std::fs::symlink_metadata`], under the conditions of [`metadata`].
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
/// assert!(!tress::fs::symlink_metadata(".").await?.is_symlink());
/// # Ok(())
/// # }
/// ```
pub async fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::symlink_metadata(path)).await
}

/// Returns the path that a symbolic link points to.
///
/// # Errors
///
/// Any error of [`std::fs::read_link`]: the path does not exist, or is not a symbolic link.
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
/// let error = tress::fs::read_link(".").await.unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput); // a directory is not a link
/// # Ok(())
/// # }
/// ```
pub async fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::read_link(path)).await
}

/// Removes an empty directory.
///
/// [`remove_dir_all`] removes a directory with its contents.
///
/// # Errors
///
/// Any error of [`std::fs::remove_dir`]: the path does not exist, is not a directory, or the directory
/// is not empty.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled may or may not leave the directory removed; see the
/// [module documentation](super#cancel-safety).
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-rmdir-{}", std::process::id()));
/// tress::fs::create_dir(&path).await?;
/// tress::fs::remove_dir(&path).await?;
/// assert!(!tress::fs::try_exists(&path).await?);
/// # Ok(())
/// # }
/// ```
pub async fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    match ring::remove_dir(path) {
        Some(done) => done.await,
        None => {
            let path = path.to_owned();
            blocking(move || std::fs::remove_dir(path)).await
        }
    }
}

/// Removes a directory and all of its contents.
///
/// Symbolic links in it are removed, not followed.
///
/// # Errors
///
/// Any error of [`std::fs::remove_dir_all`]. What was removed before the error stays removed.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled does not stop the operation: the directory is still
/// removed.
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-rmall-{}", std::process::id()));
/// tress::fs::create_dir_all(path.join("a/b/c")).await?;
/// tress::fs::remove_dir_all(&path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::remove_dir_all(path)).await
}

/// Removes a file from its directory.
///
/// On Unix the contents are freed when the last name of the file is removed and the last descriptor of
/// it is closed.
///
/// # Errors
///
/// Any error of [`std::fs::remove_file`]: the path does not exist, is a directory, or the process may
/// not remove it.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled may or may not leave the file removed; see the
/// [module documentation](super#cancel-safety).
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-rm-{}", std::process::id()));
/// tress::fs::write(&path, "").await?;
/// tress::fs::remove_file(&path).await?;
/// # Ok(())
/// # }
/// ```
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    match ring::remove_file(path) {
        Some(done) => done.await,
        None => {
            let path = path.to_owned();
            blocking(move || std::fs::remove_file(path)).await
        }
    }
}

/// Renames a file or directory, replacing what `to` named before.
///
/// Both paths must be on the same file system.
///
/// # Errors
///
/// Any error of [`std::fs::rename`]: `from` does not exist, or `to` is on another file system.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled may or may not leave the file renamed; see the
/// [module documentation](super#cancel-safety).
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let base = std::env::temp_dir().join(format!("tress-doc-mv-{}", std::process::id()));
/// # tress::fs::create_dir(&base).await?;
/// # let (draft, letter) = (base.join("draft"), base.join("letter"));
/// tress::fs::write(&draft, "Dear all").await?;
/// tress::fs::rename(&draft, &letter).await?;
/// assert!(!tress::fs::try_exists(&draft).await?);
/// # tress::fs::remove_dir_all(base).await
/// # }
/// ```
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    match ring::rename(from, to) {
        Some(done) => done.await,
        None => {
            let (from, to) = (from.to_owned(), to.to_owned());
            blocking(move || std::fs::rename(from, to)).await
        }
    }
}

/// Changes the permissions of a file or directory.
///
/// [`File::set_permissions`](super::File::set_permissions) does the same for an open file.
///
/// # Errors
///
/// Any error of [`std::fs::set_permissions`]: the path does not exist, or the process may not change
/// its permissions.
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
/// # let path = std::env::temp_dir().join(format!("tress-doc-chmod-{}", std::process::id()));
/// tress::fs::write(&path, "").await?;
/// let mut permissions = tress::fs::metadata(&path).await?.permissions();
/// permissions.set_readonly(true);
/// tress::fs::set_permissions(&path, permissions).await?;
/// assert!(tress::fs::metadata(&path).await?.permissions().readonly());
/// # tress::fs::remove_file(path).await
/// # }
/// ```
pub async fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::set_permissions(path, permissions)).await
}

/// Returns whether a path leads to an existing file or directory.
///
/// Symbolic links are followed: a link whose target does not exist yields `false`.
///
/// # Errors
///
/// Any error of [`std::fs::exists`]: the answer cannot be determined, for example because the process
/// may not search one of the directories of the path.
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
/// assert!(tress::fs::try_exists(".").await?);
/// assert!(!tress::fs::try_exists("./no such thing").await?);
/// # Ok(())
/// # }
/// ```
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref();
    match ring::exists(path) {
        Some(answer) => answer.await,
        None => {
            let path = path.to_owned();
            blocking(move || path.try_exists()).await
        }
    }
}

/// Creates a symbolic link at `link` that points to `original`.
///
/// `original` need not exist, and is resolved relative to the directory of `link` unless it is
/// absolute.
///
/// # Errors
///
/// Any error of [`std::os::unix::fs::symlink`]: `link` exists already, or the process may not write to
/// its directory.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled may or may not leave the link created; see the
/// [module documentation](super#cancel-safety).
///
/// # Examples
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let link = std::env::temp_dir().join(format!("tress-doc-symlink-{}", std::process::id()));
/// tress::fs::symlink("somewhere", &link).await?;
/// assert_eq!(tress::fs::read_link(&link).await?, std::path::Path::new("somewhere"));
/// # tress::fs::remove_file(link).await
/// # }
/// ```
#[cfg(unix)]
pub async fn symlink(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref(), link.as_ref());
    match ring::symlink(original, link) {
        Some(done) => done.await,
        None => {
            let (original, link) = (original.to_owned(), link.to_owned());
            blocking(move || std::os::unix::fs::symlink(original, link)).await
        }
    }
}

/// Creates a symbolic link at `link` that points to the directory `original`.
///
/// [`symlink_file`] creates links to files.
///
/// # Errors
///
/// Any error of [`std::os::windows::fs::symlink_dir`]: `link` exists already, or the process lacks the
/// privilege to create symbolic links.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled does not stop the operation: the link is still created.
///
/// # Examples
///
/// ```no_run
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// tress::fs::symlink_dir("releases/2", "current").await?;
/// # Ok(())
/// # }
/// ```
#[cfg(windows)]
pub async fn symlink_dir(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    blocking(move || std::os::windows::fs::symlink_dir(original, link)).await
}

/// Creates a symbolic link at `link` that points to the file `original`.
///
/// [`symlink_dir`] creates links to directories.
///
/// # Errors
///
/// Any error of [`std::os::windows::fs::symlink_file`]: `link` exists already, or the process lacks the
/// privilege to create symbolic links.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled does not stop the operation: the link is still created.
///
/// # Examples
///
/// ```no_run
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// tress::fs::symlink_file("config.default", "config").await?;
/// # Ok(())
/// # }
/// ```
#[cfg(windows)]
pub async fn symlink_file(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    blocking(move || std::os::windows::fs::symlink_file(original, link)).await
}

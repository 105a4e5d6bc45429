//! What is done with names rather than with open files.

use super::{blocking, ring};
use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// The absolute path that a name leads to, without links and dots.
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// let here = tress::fs::canonicalize(".").await?;
/// assert!(here.is_absolute());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`std::fs::canonicalize`]: the path does not exist, or goes through something that is not a
/// directory.
///
/// # Cancel safety
/// It changes nothing.
pub async fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::canonicalize(path)).await
}

/// Makes a directory in one that exists. For those in between too there is [`create_dir_all`].
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
///
/// # Errors
/// As [`std::fs::create_dir`]: it exists, its parent does not, or it is not allowed.
///
/// # Cancel safety
/// [That of the module](super#cancel-safety).
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    super::DirBuilder::new().create(path).await
}

/// Makes a directory, and those in between that do not exist.
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let base = std::env::temp_dir().join(format!("tress-doc-mkdirs-{}", std::process::id()));
/// tress::fs::create_dir_all(base.join("a/b")).await?;
/// tress::fs::create_dir_all(base.join("a/b")).await?; // it may exist already
/// tress::fs::remove_dir_all(base).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`std::fs::create_dir_all`].
///
/// # Cancel safety
/// It goes on.
pub async fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    super::DirBuilder::new().recursive(true).create(path).await
}

/// Gives a file one more name.
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
///
/// # Errors
/// As [`std::fs::hard_link`]: there is no such file, the name is taken, or it is on another file system.
///
/// # Cancel safety
/// [That of the module](super#cancel-safety).
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

/// What is known about a file, links followed.
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// assert!(tress::fs::metadata(".").await?.is_dir());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`std::fs::metadata`]: there is no such file, or a directory on the way cannot be searched.
///
/// # Cancel safety
/// It changes nothing.
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::metadata(path)).await
}

/// What is known about a file, or about the link if it is one.
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// assert!(!tress::fs::symlink_metadata(".").await?.is_symlink());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`metadata`].
///
/// # Cancel safety
/// It changes nothing.
pub async fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::symlink_metadata(path)).await
}

/// Where a symbolic link leads.
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// let error = tress::fs::read_link(".").await.unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput); // a directory is not a link
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`std::fs::read_link`]: there is no such file, or it is not a link.
///
/// # Cancel safety
/// It changes nothing.
pub async fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::read_link(path)).await
}

/// Removes a directory, which must be empty.
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
///
/// # Errors
/// As [`std::fs::remove_dir`]: there is none, it is not empty, or not a directory.
///
/// # Cancel safety
/// [That of the module](super#cancel-safety).
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

/// Removes a directory and everything in it. Does not follow links.
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
///
/// # Errors
/// As [`std::fs::remove_dir_all`].
///
/// # Cancel safety
/// It goes on.
pub async fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::remove_dir_all(path)).await
}

/// Removes a file's name; the file goes with its last name and its last descriptor.
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
///
/// # Errors
/// As [`std::fs::remove_file`]: there is none, it is a directory, or it is not allowed.
///
/// # Cancel safety
/// [That of the module](super#cancel-safety).
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

/// Gives a file or directory another name, in place of what had that name.
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
///
/// # Errors
/// As [`std::fs::rename`]: there is none, or the new name is on another file system.
///
/// # Cancel safety
/// [That of the module](super#cancel-safety).
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

/// Changes what may be done with a file.
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
///
/// # Errors
/// As [`std::fs::set_permissions`].
///
/// # Cancel safety
/// It goes on.
pub async fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::set_permissions(path, permissions)).await
}

/// Is there something of that name? Links are followed: one that leads nowhere counts as nothing.
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// assert!(tress::fs::try_exists(".").await?);
/// assert!(!tress::fs::try_exists("./no such thing").await?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If it cannot be known, because a directory on the way cannot be searched.
///
/// # Cancel safety
/// It changes nothing.
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

/// Makes a symbolic link that leads to `original`, which need not exist.
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
///
/// # Errors
/// As [`std::os::unix::fs::symlink`].
///
/// # Cancel safety
/// [That of the module](super#cancel-safety).
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

/// Makes a symbolic link that leads to a directory.
///
/// # Errors
/// As [`std::os::windows::fs::symlink_dir`].
///
/// # Cancel safety
/// It goes on.
#[cfg(windows)]
pub async fn symlink_dir(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    blocking(move || std::os::windows::fs::symlink_dir(original, link)).await
}

/// Makes a symbolic link that leads to a file.
///
/// # Errors
/// As [`std::os::windows::fs::symlink_file`].
///
/// # Cancel safety
/// It goes on.
#[cfg(windows)]
pub async fn symlink_file(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    blocking(move || std::os::windows::fs::symlink_file(original, link)).await
}

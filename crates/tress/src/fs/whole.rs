//! Whole files at once.

use super::blocking;
use std::io;
use std::path::Path;

/// Reads a whole file.
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-read-{}", std::process::id()));
/// tress::fs::write(&path, [1, 2, 3]).await?;
/// assert_eq!(tress::fs::read(&path).await?, [1, 2, 3]);
/// # tress::fs::remove_file(path).await
/// # }
/// ```
///
/// # Errors
/// As [`std::fs::read`]: there is no such file, it is a directory, or it may not be read.
///
/// # Cancel safety
/// It changes nothing.
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::read(path)).await
}

/// Reads a whole file, which must be UTF-8.
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-text-{}", std::process::id()));
/// tress::fs::write(&path, "text").await?;
/// assert_eq!(tress::fs::read_to_string(&path).await?, "text");
/// # tress::fs::remove_file(path).await
/// # }
/// ```
///
/// # Errors
/// As [`read`], and `InvalidData` if it is not UTF-8.
///
/// # Cancel safety
/// It changes nothing.
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let contents = read(path).await?;
    String::from_utf8(contents).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Writes a whole file, in place of what was in it.
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-write-{}", std::process::id()));
/// tress::fs::write(&path, b"a long line").await?;
/// tress::fs::write(&path, "short").await?;
/// assert_eq!(tress::fs::read(&path).await?, b"short");
/// # tress::fs::remove_file(path).await
/// # }
/// ```
///
/// # Errors
/// As [`std::fs::write`].
///
/// # Cancel safety
/// It goes on: the file is written as a whole.
// D-FS-01
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let contents = contents.as_ref().to_owned();
    blocking(move || std::fs::write(path, contents)).await
}

/// Copies a file's contents and permissions, in place of what was there, and returns how many bytes it
/// has.
///
/// To show progress, or copy between things that are not files, there is [`io::copy`](crate::io::copy()).
///
/// ```
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let base = std::env::temp_dir().join(format!("tress-doc-copy-{}", std::process::id()));
/// # tress::fs::create_dir(&base).await?;
/// # let (from, to) = (base.join("from"), base.join("to"));
/// tress::fs::write(&from, "contents").await?;
/// assert_eq!(tress::fs::copy(&from, &to).await?, 8);
/// # tress::fs::remove_dir_all(base).await
/// # }
/// ```
///
/// # Errors
/// As [`std::fs::copy`].
///
/// # Cancel safety
/// It goes on.
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    blocking(move || std::fs::copy(from, to)).await
}

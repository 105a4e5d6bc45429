//! Functions that read, write and copy whole files.

use super::blocking;
use std::io;
use std::path::Path;

/// Reads the entire contents of a file into a vector.
///
/// To read a file in pieces, open it with [`File::open`](super::File::open).
///
/// # Errors
///
/// Any error of [`std::fs::read`]: the file does not exist, it is a directory, or the process may not
/// read it.
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
/// # let path = std::env::temp_dir().join(format!("tress-doc-read-{}", std::process::id()));
/// tress::fs::write(&path, [1, 2, 3]).await?;
/// assert_eq!(tress::fs::read(&path).await?, [1, 2, 3]);
/// # tress::fs::remove_file(path).await
/// # }
/// ```
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref().to_owned();
    blocking(move || std::fs::read(path)).await
}

/// Reads the entire contents of a file into a string.
///
/// # Errors
///
/// Any error of [`read`](read()), and [`InvalidData`](io::ErrorKind::InvalidData) if the contents are
/// not valid UTF-8.
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
/// # let path = std::env::temp_dir().join(format!("tress-doc-text-{}", std::process::id()));
/// tress::fs::write(&path, "text").await?;
/// assert_eq!(tress::fs::read_to_string(&path).await?, "text");
/// # tress::fs::remove_file(path).await
/// # }
/// ```
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let contents = read(path).await?;
    String::from_utf8(contents).or_else(|error| {
        // The standard library's own error, which it returns for such bytes.
        io::read_to_string(error.as_bytes())
    })
}

/// Writes a slice as the entire contents of a file.
///
/// The file is created if it does not exist, and its previous contents are replaced if it does.
/// `contents` is copied, so that the write can outlive the future.
///
/// # Errors
///
/// Any error of [`std::fs::write`]. If writing fails midway, the file may hold part of the new
/// contents.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled does not stop the operation: the file is still written
/// as a whole.
///
/// # Examples
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
// D-FS-01
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let contents = contents.as_ref().to_owned();
    blocking(move || std::fs::write(path, contents)).await
}

/// Copies the contents and the permissions of a file to another, and returns the number of bytes
/// copied.
///
/// The previous contents of `to` are replaced. Use [`io::copy`](crate::io::copy()) to copy between
/// other readers and writers.
///
/// # Errors
///
/// Any error of [`std::fs::copy`]: `from` does not exist or is not a file, or the process may not read
/// `from` or write `to`.
///
/// # Cancel safety
///
/// Dropping the future once it has been polled does not stop the operation: the copy is still made.
///
/// # Examples
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
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    blocking(move || std::fs::copy(from, to)).await
}

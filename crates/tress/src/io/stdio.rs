use super::offload::{Input, Output};
use super::{AsyncRead, AsyncWrite, ReadBuf};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

/// Creates a handle to the standard input of the process.
///
/// Reads are made by a thread of the blocking pool, and a read that waits for input cannot be stopped: a
/// runtime that is dropped meanwhile waits for it, for example until a line is entered at the terminal,
/// unless it is ended by [`shutdown_background`](crate::runtime::Runtime::shutdown_background). This is
/// fine for input from a file or a pipe. For interactive input a thread of its own with blocking reads is
/// the better choice.
///
/// # Examples
/// ```no_run
/// use tress::io::{AsyncBufReadExt, BufReader, stdin};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut lines = BufReader::new(stdin()).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{} bytes", line.len());
/// }
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub fn stdin() -> Stdin {
    Stdin {
        std: io::stdin(),
        input: Input::default(),
    }
}

/// A handle to the standard input of the process, created by [`stdin`].
///
/// # Cancel safety
/// Reads are cancel safe: if one is dropped, the bytes that it receives later are returned by the next read
/// of the same handle.
///
/// # Examples
/// ```no_run
/// use tress::io::{AsyncReadExt, Stdin};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut input: Stdin = tress::io::stdin();
/// let first = input.read_u8().await?;
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Stdin {
    std: io::Stdin,
    input: Input,
}

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.input.poll_read(cx, buf, io::stdin)
    }
}

/// Defines a writer whose writes are made by the blocking pool.
macro_rules! writer {
    ($name:ident, $stream:literal, $function:ident) => {
        #[doc = concat!("A handle to the standard ", $stream, " of the process, created by [`", stringify!($function), "`].")]
        ///
        /// # Cancel safety
        /// Writes are cancel safe: if one is dropped before it is ready, none of its bytes are written.
        ///
        /// # Examples
        /// ```
        /// use tress::io::AsyncWriteExt;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        #[doc = concat!("let mut handle: tress::io::", stringify!($name), " = tress::io::", stringify!($function), "();")]
        /// handle.write_all(b"hello\n").await?;
        /// handle.flush().await?;
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[derive(Debug)]
        pub struct $name {
            std: io::$name,
            output: Output,
        }

        impl AsyncWrite for $name {
            fn poll_write(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.output.poll_write(cx, buf, io::$function)
            }

            fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.output.poll_flush(cx, io::$function)
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_flush(cx)
            }
        }
    };
}

/// Creates a handle to the standard output of the process.
///
/// Writes are made by a thread of the blocking pool. A write is ready when the pool has its bytes; if
/// writing them fails, the next operation of the handle returns the error.
/// [`flush`](super::AsyncWriteExt::flush) waits until everything is written. Bytes that the pool has are
/// written even if the runtime is shut down.
///
/// Each call creates an independent handle, and handles do not wait for each other: use one handle to keep
/// output in order. Bytes of a single write, up to 2 MiB, are not mixed with other output of this process.
///
/// # Examples
/// ```
/// use tress::io::{AsyncWriteExt, stdout};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut out = stdout();
/// for word in ["hello", "world"] {
///     out.write_all(word.as_bytes()).await?;
///     out.write_all(b"\n").await?;
/// }
/// out.flush().await?;
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub fn stdout() -> Stdout {
    Stdout {
        std: io::stdout(),
        output: Output::default(),
    }
}

writer!(Stdout, "output", stdout);

/// Creates a handle to the standard error of the process.
///
/// Writes behave as those of [`stdout`] do.
///
/// # Examples
/// ```
/// use tress::io::{AsyncWriteExt, stderr};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut err = stderr();
/// err.write_all(b"not found\n").await?;
/// err.flush().await?;
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub fn stderr() -> Stderr {
    Stderr {
        std: io::stderr(),
        output: Output::default(),
    }
}

writer!(Stderr, "error", stderr);

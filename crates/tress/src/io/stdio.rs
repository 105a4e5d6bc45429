use super::offload::{Input, Output};
use super::{AsyncRead, AsyncWrite, ReadBuf};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

/// The standard input of the process.
///
/// Reading it blocks a thread of the blocking pool, and that cannot be stopped: a runtime that is
/// dropped waits until somebody has pressed enter, unless it is given up with
/// [`shutdown_background`](crate::runtime::Runtime::shutdown_background). That is all right for input
/// from a file or a pipe. For a conversation a thread of its own, with blocking reads, does better.
///
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

/// The standard input of the process; made by [`stdin`].
///
/// # Cancel safety
/// If a read is dropped, what it will have read is returned by the next one of the same handle.
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

/// A writer whose writes are made by the blocking pool.
macro_rules! writer {
    ($name:ident, $stream:literal, $function:ident) => {
        #[doc = concat!("The standard ", $stream, " of the process; made by [`", stringify!($function), "`].")]
        ///
        /// # Cancel safety
        /// If a write is dropped before it is ready, nothing of it is written.
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

/// The standard output of the process.
///
/// A write is ready when its bytes are with the blocking pool, which writes them; an error shows in the
/// next operation of the handle, and [`flush`](super::AsyncWriteExt::flush) tells when everything is out.
/// What the pool has is written even if the runtime is shut down.
///
/// Each call makes a handle of its own, and handles do not wait for each other: to keep things in order
/// use one. What is written with one call, up to 2 MiB, is not mixed with other output of this process.
///
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

/// The standard error of the process. As [`stdout`].
///
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

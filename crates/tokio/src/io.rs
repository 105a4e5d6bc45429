//! Traits, helpers and types for asynchronous I/O; see [`tress::io`].

pub use tress::io::{
    AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, Error, ErrorKind, ReadBuf, Result, SeekFrom,
};

#[cfg(feature = "io-util")]
pub use tress::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, BufStream, BufWriter,
    Chain, DuplexStream, Empty, Join, Lines, ReadHalf, Repeat, SimplexStream, Sink, Split, Take,
    WriteHalf, copy, copy_bidirectional, copy_bidirectional_with_sizes, copy_buf, duplex, empty,
    join, repeat, simplex, sink, split,
};

#[cfg(feature = "io-std")]
pub use tress::io::{Stderr, Stdin, Stdout, stderr, stdin, stdout};

#[cfg(any(feature = "net", feature = "process", feature = "signal"))]
pub use tress::io::{Interest, Ready};

#[cfg(all(unix, feature = "net"))]
pub mod unix {
    //! Readiness of file descriptors, for Unix.

    pub use tress::io::{
        AsyncFd, AsyncFdReadyGuard, AsyncFdReadyMutGuard, AsyncFdRegisterError, TryIoError,
    };

    /// The former name of [`AsyncFdRegisterError`].
    #[deprecated = "it is called `AsyncFdRegisterError`"]
    pub type AsyncFdTryNewError<T> = AsyncFdRegisterError<T>;
}

//! Reading and writing.

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

//! Asynchronous reading, writing and seeking.
//!
//! Four traits say what a type can do: [`AsyncRead`], [`AsyncWrite`], [`AsyncSeek`] and
//! [`AsyncBufRead`]. Each has an extension with the methods one calls: [`AsyncReadExt`],
//! [`AsyncWriteExt`], [`AsyncSeekExt`], [`AsyncBufReadExt`]. Their shape is Tokio's, so that everything
//! written for it fits. Bytes in memory implement them here; sockets, files and pipes do in their own
//! modules.
//!
//! | to … | use |
//! |---|---|
//! | read or write in small pieces | [`BufReader`], [`BufWriter`], [`BufStream`] |
//! | read line by line | [`AsyncBufReadExt::lines`] |
//! | copy | [`copy`](copy()), [`copy_buf`](copy_buf()); in both directions [`copy_bidirectional`](copy_bidirectional()) |
//! | read and write in different tasks | [`split`](split()), [`join`](join()) |
//! | have a stream in memory | [`duplex`](duplex()), [`simplex`](simplex()), `&[u8]`, `Vec<u8>`, [`Cursor`](std::io::Cursor) |
//! | read a part, or one after the other | [`take`](AsyncReadExt::take), [`chain`](AsyncReadExt::chain) |
//! | have nothing, or no end of it | [`empty`](empty()), [`sink`](sink()), [`repeat`](repeat()) |
//! | give buffers to the kernel and get them back | `AsyncReadOwned`, `AsyncWriteOwned`, of sockets, files and pipes |
//! | talk to the terminal | [`stdin`], [`stdout`], [`stderr`] |
//! | wait for any other descriptor | `AsyncFd`, on Unix |
//!
//! ```
//! use tress::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex};
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let (mut client, server) = duplex(1024);
//! let task = tress::spawn(async move {
//!     let mut lines = BufReader::new(server).lines();
//!     let mut count = 0;
//!     while let Some(line) = lines.next_line().await? {
//!         count += line.len();
//!     }
//!     Ok::<_, std::io::Error>(count)
//! });
//! client.write_all(b"one\ntwo\n").await?;
//! drop(client);
//! assert_eq!(task.await.unwrap()?, 6);
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```
//!
//! What is always ready (memory, [`empty`](empty()), [`copy`](copy()) between such) takes part in cooperative
//! scheduling where it could otherwise go on for ever: see [`task::coop`](crate::task::coop).

use std::io;

#[cfg(all(unix, feature = "driver"))]
mod async_fd;
mod buf_read;
mod buf_read_ext;
mod buf_reader;
mod buf_stream;
mod buf_writer;
mod chain;
#[cfg(feature = "futures-io")]
pub mod compat;
mod copy;
mod copy_bidirectional;
mod copy_buf;
mod duplex;
mod empty;
#[cfg(feature = "hyper")]
pub mod hyper;
mod join;
#[cfg(feature = "driver")]
mod leftover;
mod lines;
pub(crate) mod offload;
mod operation;
#[cfg(feature = "driver")]
#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "mostly for sockets"))]
pub(crate) mod owned;
mod pipe;
mod read;
mod read_buf;
mod read_ext;
mod repeat;
#[cfg(all(
    feature = "driver",
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "powerpc64"
    )
))]
#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "mostly for sockets"))]
pub(crate) mod ring;
#[cfg(all(
    feature = "driver",
    not(all(
        target_os = "linux",
        any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            target_arch = "riscv64",
            target_arch = "loongarch64",
            target_arch = "powerpc64"
        )
    ))
))]
#[path = "no_ring.rs"]
#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "mostly for sockets"))]
pub(crate) mod ring;
mod seek;
mod seek_ext;
mod segments;
mod simplex;
mod sink;
#[cfg(feature = "driver")]
pub(crate) mod source;
mod split;
mod stdio;
mod take;
mod text;
mod transfer;
mod uninit;
mod wake;
mod write;
mod write_ext;

#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};
#[cfg(feature = "driver")]
pub use tress_driver::{Buffer, BufferMut, Interest, Ready, Slice};

#[cfg(all(unix, feature = "driver"))]
pub use async_fd::{
    AsyncFd, AsyncFdReadyGuard, AsyncFdReadyMutGuard, AsyncFdRegisterError, TryIoError,
};
pub use buf_read::AsyncBufRead;
pub use buf_read_ext::AsyncBufReadExt;
pub use buf_reader::BufReader;
pub use buf_stream::BufStream;
pub use buf_writer::BufWriter;
pub use chain::Chain;
pub use copy::copy;
pub use copy_bidirectional::{copy_bidirectional, copy_bidirectional_with_sizes};
pub use copy_buf::copy_buf;
pub use duplex::{DuplexStream, duplex};
pub use empty::{Empty, empty};
pub use join::{Join, join};
pub use lines::Lines;
#[cfg(feature = "driver")]
pub use owned::{AsyncReadOwned, AsyncWriteOwned};
pub use read::AsyncRead;
pub use read_buf::ReadBuf;
pub use read_ext::AsyncReadExt;
pub use repeat::{Repeat, repeat};
pub use seek::AsyncSeek;
pub use seek_ext::AsyncSeekExt;
pub use segments::Split;
pub use simplex::{SimplexStream, simplex};
pub use sink::{Sink, sink};
pub use split::{ReadHalf, WriteHalf, split};
pub use stdio::{Stderr, Stdin, Stdout, stderr, stdin, stdout};
pub use take::Take;
pub use write::AsyncWrite;
pub use write_ext::AsyncWriteExt;

pub mod futures {
    //! The futures of the extension methods.
    //!
    //! Most are an [`Operation`] on something; the other types here are what it can be.

    pub use super::buf_read_ext::{FillBuf, ReadLine, ReadUntil};
    pub use super::operation::Operation;
    #[cfg(feature = "bytes")]
    pub use super::read_ext::ReadInto;
    pub use super::read_ext::{Read, ReadExact, ReadNumber, ReadToEnd, ReadToString};
    pub use super::seek_ext::Seek;
    pub use super::write_ext::{Flush, Shutdown, Write, WriteAll, WriteNumber, WriteVectored};
    #[cfg(feature = "bytes")]
    pub use super::write_ext::{WriteAllFrom, WriteFrom};
}

/// The call did nothing because a signal came: it is made again.
fn is_interrupted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// The system looks at so many buffers of a vectored write, and leaves the others for the next one.
#[cfg(any(feature = "net", all(unix, feature = "process")))]
pub(crate) const MOST_BUFFERS: usize = 1024;

/// How much a vectored write offers to the system: one that takes less has found no more room.
#[cfg(any(feature = "net", all(unix, feature = "process")))]
pub(crate) fn offered(bufs: &[io::IoSlice<'_>]) -> usize {
    let lengths = bufs.iter().take(MOST_BUFFERS).map(|buf| buf.len());
    lengths.fold(0, usize::saturating_add)
}

/// Makes a system call, again if a signal came in between.
#[cfg(feature = "net")]
pub(crate) fn uninterrupted<R>(mut call: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match call() {
            Err(error) if is_interrupted(&error) => {}
            result => return result,
        }
    }
}

/// Where everything had to be filled.
fn ended_early() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the source has ended before the buffer was full",
    )
}

/// What a writer says it has written is no more than it was given.
#[inline]
#[track_caller]
fn check_written(n: usize, of: usize) {
    assert!(
        n <= of,
        "the writer says that it has written {n} bytes, and was given {of}"
    );
}

/// Where everything had to be written.
fn write_zero() -> io::Error {
    io::Error::new(
        io::ErrorKind::WriteZero,
        "the sink takes no more bytes, and there are some left to write",
    )
}

#[cfg(all(test, not(loom)))]
mod tests;

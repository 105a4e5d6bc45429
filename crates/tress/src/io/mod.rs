//! Asynchronous reading, writing and seeking.
//!
//! This module is the asynchronous counterpart of [`std::io`]. Four traits describe what a type can do:
//!
//! - [`AsyncRead`]: a source of bytes,
//! - [`AsyncWrite`]: a sink for bytes,
//! - [`AsyncSeek`]: a position that can be moved,
//! - [`AsyncBufRead`]: a source with a buffer of its own.
//!
//! These traits have only poll functions, to be implemented by readers and writers. The methods to call and
//! `.await` are in four extension traits: [`AsyncReadExt`], [`AsyncWriteExt`], [`AsyncSeekExt`] and
//! [`AsyncBufReadExt`]. Traits and methods have the names and the shape of Tokio's, so code that is written for
//! Tokio's traits carries over.
//!
//! Slices, `Vec<u8>` and [`Cursor`](std::io::Cursor) implement the traits here. Sockets, files and the
//! pipes of child processes implement them in [`net`](crate::net), [`fs`](crate::fs) and
//! [`process`](crate::process).
//!
//! # What is here
//! | to … | use |
//! |---|---|
//! | read or write in small pieces | [`BufReader`], [`BufWriter`], [`BufStream`] |
//! | read line by line, or up to a separator | [`AsyncBufReadExt::lines`], [`AsyncBufReadExt::split`] |
//! | copy everything from a reader to a writer | [`copy`](copy()), [`copy_buf`](copy_buf()) |
//! | connect two streams in both directions | [`copy_bidirectional`](copy_bidirectional()) |
//! | read and write one stream in different tasks | [`split`](split()); the way back is [`ReadHalf::unsplit`] |
//! | make one stream of a reader and a writer | [`join`](join()) |
//! | connect two tasks in memory | [`duplex`](duplex()) in both directions, [`simplex`](simplex()) in one |
//! | read only the first bytes, or two readers in a row | [`take`](AsyncReadExt::take), [`chain`](AsyncReadExt::chain) |
//! | have a placeholder | [`empty`](empty()), [`sink`](sink()), [`repeat`](repeat()) |
//! | read and write the standard streams | [`stdin`], [`stdout`], [`stderr`] |
//! | let the kernel read into a buffer, and get it back | [`AsyncReadOwned`], [`AsyncWriteOwned`] |
//! | wait for any other file descriptor | `AsyncFd`, on Unix |
//! | use types with the traits of `futures-io` | the module `compat`, behind the feature `futures-io` |
//! | use types with the traits of `hyper` | the crate `tress-hyper` |
//!
//! # How to choose
//! - A source that is read in small pieces, such as a socket that is read line by line, belongs in a
//!   [`BufReader`]: each read of the socket itself is a system call. Bytes in memory need no buffer.
//! - A [`BufWriter`] must be [flushed](AsyncWriteExt::flush) at the end: dropping it loses what is still in
//!   its buffer.
//! - TCP and Unix streams have methods `split` and `into_split` of their own, which need no lock. Prefer
//!   them to [`split`](split()).
//!
//! # Cancel safety
//! An operation can be dropped before it is ready, for example by [`select!`](crate::select) or by a time
//! limit. Each method says under "Cancel safety" what happens to its bytes then. In short:
//! [`read`](AsyncReadExt::read), [`write`](AsyncWriteExt::write) and [`next_line`](Lines::next_line) lose
//! nothing; [`read_exact`](AsyncReadExt::read_exact), [`write_all`](AsyncWriteExt::write_all) and
//! [`copy`](copy()) may.
//!
//! # Cooperative scheduling
//! Sources and sinks that are always ready and never end, such as [`repeat`](repeat()), and copies between
//! such types take part in cooperative scheduling, so that they cannot keep other tasks waiting: see
//! [`task::coop`](crate::task::coop).
//!
//! # Examples
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
#[cfg(feature = "driver")]
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
    //! The futures that the extension methods return.
    //!
    //! Most are an [`Operation`], which pairs the object with one of the other types here:
    //! `reader.read(&mut buf)` is an `Operation<'_, _, Read<'_>>`. There is seldom a reason to name them.

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

/// Whether a call did nothing because a signal arrived, so that it is to be made again.
fn is_interrupted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// Maximum number of buffers that the system uses in one vectored write. It leaves the others to the next
/// one.
#[cfg(any(feature = "net", all(unix, feature = "process")))]
pub(crate) const MOST_BUFFERS: usize = 1024;

/// Returns how many bytes a vectored write offers to the system. A write that takes fewer has found no more
/// room.
#[cfg(feature = "net")]
pub(crate) fn offered(bufs: &[io::IoSlice<'_>]) -> usize {
    let lengths = bufs.iter().take(MOST_BUFFERS).map(|buf| buf.len());
    lengths.fold(0, usize::saturating_add)
}

/// Makes a system call, and makes it again as long as a signal interrupts it.
#[cfg(feature = "net")]
pub(crate) fn uninterrupted<R>(mut call: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        let result = call();
        match &result {
            Err(error) if is_interrupted(error) => {}
            _ => return result,
        }
    }
}

/// Checks that a writer reports no more bytes as written than it was given.
#[inline]
#[track_caller]
fn check_written(n: usize, of: usize) {
    assert!(
        n <= of,
        "the writer says that it has written {n} bytes, and was given {of}"
    );
}

#[cfg(all(test, not(loom)))]
mod tests;

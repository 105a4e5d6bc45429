//! Reading and writing.

#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};
pub use tress::io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

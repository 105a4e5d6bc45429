//! Asynchronous reading, writing and seeking: the traits, and the buffer that reads fill.
//!
//! Their shape is Tokio's, so that everything written for it fits. Bytes in memory implement them
//! here; sockets, files and pipes will in their own modules.

mod buf_read;
mod read;
mod read_buf;
mod seek;
mod write;

pub use buf_read::AsyncBufRead;
pub use read::AsyncRead;
pub use read_buf::ReadBuf;
pub use seek::AsyncSeek;
pub use write::AsyncWrite;

#[cfg(all(test, not(loom)))]
mod tests;

//! Streams and files whose other side does something rare.

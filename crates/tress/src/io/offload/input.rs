use super::{Job, MAX_CHUNK, lost, read_once, spawn};
use crate::io::ReadBuf;
use std::future::Future;
use std::io::{self, Read};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Reads that are made by the blocking pool.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// Bytes that were read, of which those before `start` have been returned.
    bytes: Vec<u8>,
    start: usize,
    /// A read that is under way, with the memory of `bytes`.
    job: Option<Job<io::Result<Vec<u8>>>>,
}

impl Input {
    /// Reads from what `open` returns on the thread of the pool.
    pub(crate) fn poll_read<R: Read>(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        open: impl FnOnce() -> R + Send + 'static,
    ) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if self.start == self.bytes.len() {
            let job = match &mut self.job {
                Some(job) => job,
                none => {
                    let mut bytes = mem::take(&mut self.bytes);
                    self.start = 0;
                    bytes.resize(buf.remaining().min(MAX_CHUNK), 0);
                    let read = move || {
                        let n = read_once(open(), &mut bytes)?;
                        bytes.truncate(n);
                        Ok(bytes)
                    };
                    none.insert(spawn(read)?)
                }
            };
            let joined = ready!(Pin::new(job).poll(cx));
            self.job = None;
            self.bytes = joined.map_err(lost)??;
        }
        let rest = &self.bytes[self.start..];
        let n = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..n]);
        self.start += n;
        Poll::Ready(Ok(()))
    }
}

use super::{Job, MAX_CHUNK, lost, spawn_mandatory};
use std::future::Future;
use std::io::{self, Write};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Writes that are made by the blocking pool.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// A write or flush that is under way, with the memory of `spare`.
    job: Option<Job<(io::Result<()>, Vec<u8>)>>,
    /// Memory for the bytes of the next write.
    spare: Vec<u8>,
    /// Something was written since the last flush began.
    unflushed: bool,
}

impl Output {
    /// Writes to what `open` returns on the thread of the pool.
    pub(crate) fn poll_write<W: Write>(
        &mut self,
        cx: &mut Context<'_>,
        buf: &[u8],
        open: impl FnOnce() -> W + Send + 'static,
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_idle(cx))?;
        let n = buf.len().min(MAX_CHUNK);
        let mut bytes = mem::take(&mut self.spare);
        bytes.clear();
        bytes.extend_from_slice(&buf[..n]);
        self.job = Some(spawn_mandatory(move || (open().write_all(&bytes), bytes))?);
        self.unflushed = true;
        Poll::Ready(Ok(n))
    }

    pub(crate) fn poll_flush<W: Write>(
        &mut self,
        cx: &mut Context<'_>,
        open: impl FnOnce() -> W + Send + 'static,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_idle(cx))?;
        if self.unflushed {
            let spare = mem::take(&mut self.spare);
            self.job = Some(spawn_mandatory(move || (open().flush(), spare))?);
            self.unflushed = false;
            ready!(self.poll_idle(cx))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Waits for the job that is under way, and returns its result.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(job) = &mut self.job else {
            return Poll::Ready(Ok(()));
        };
        let joined = ready!(Pin::new(job).poll(cx));
        self.job = None;
        let (result, spare) = joined.map_err(lost)?;
        self.spare = spare;
        Poll::Ready(result)
    }
}

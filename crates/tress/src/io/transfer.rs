use super::uninit::poll_read_behind;
use super::{AsyncRead, AsyncWrite, check_written, is_interrupted};
use crate::task::coop;
use crate::words;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Size of a buffer for which the user has not chosen one.
pub(super) const DEFAULT_BUF_SIZE: usize = 8 * 1024;

/// Bytes that go from a reader to a writer, through a buffer.
#[derive(Debug)]
pub(super) struct Transfer {
    buf: Box<[u8]>,
    /// `buf[start..end]` was read and not written yet.
    start: usize,
    end: usize,
    /// How the reader has ended. An error is returned when everything before it has been written.
    ended: Option<io::Result<()>>,
    /// Something was written since the last flush.
    unflushed: bool,
    /// Number of bytes that have been written.
    written: u64,
}

impl Transfer {
    pub(super) fn new(buf_size: usize) -> Self {
        Transfer {
            buf: vec![0; buf_size].into_boxed_slice(),
            start: 0,
            end: 0,
            ended: None,
            unflushed: false,
            written: 0,
        }
    }

    /// Goes on until the reader has ended and everything is written and flushed.
    pub(super) fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        loop {
            // Reader and writer need not take part in cooperative scheduling themselves.
            let budget = ready!(coop::poll_proceed(cx));
            let read = self.poll_read(cx, reader.as_mut());
            if self.start == self.end {
                if read.is_pending() {
                    // What was written must not be delayed until the reader has more.
                    if self.unflushed {
                        ready!(writer.poll_flush(cx))?;
                        self.unflushed = false;
                        budget.made_progress();
                    }
                    return Poll::Pending;
                }
                // The buffer had room and is empty, so the reader has ended.
                if let Some(Err(error)) = self.ended.take() {
                    return Poll::Ready(Err(error));
                }
                self.ended = Some(Ok(()));
                ready!(writer.poll_flush(cx))?;
                budget.made_progress();
                return Poll::Ready(Ok(self.written));
            }
            ready!(self.poll_write(cx, writer.as_mut()))?;
            budget.made_progress();
        }
    }

    /// Reads once, if there is room and the reader has not ended.
    fn poll_read<R>(&mut self, cx: &mut Context<'_>, mut reader: Pin<&mut R>) -> Poll<()>
    where
        R: AsyncRead + ?Sized,
    {
        while self.ended.is_none() && self.end < self.buf.len() {
            match ready!(poll_read_behind(
                reader.as_mut(),
                cx,
                &mut self.buf,
                self.end
            )) {
                Ok(end) if end == self.end => self.ended = Some(Ok(())),
                Ok(end) => {
                    self.end = end;
                    break;
                }
                Err(error) if is_interrupted(&error) => {}
                Err(error) => self.ended = Some(Err(error)),
            }
        }
        Poll::Ready(())
    }

    /// Writes once.
    fn poll_write<W>(
        &mut self,
        cx: &mut Context<'_>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<()>>
    where
        W: AsyncWrite + ?Sized,
    {
        loop {
            let rest = &self.buf[self.start..self.end];
            match ready!(writer.as_mut().poll_write(cx, rest)) {
                Ok(0) => return Poll::Ready(Err(words::copy_not_written())),
                Ok(n) => {
                    check_written(n, rest.len());
                    self.start += n;
                    self.written += n as u64;
                    self.unflushed = true;
                    if self.start == self.end {
                        (self.start, self.end) = (0, 0);
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

use super::ReadBuf;
use crate::task::coop;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::task::{Context, Poll, Waker};

/// Bytes on their way from a writer to a reader.
///
/// It may be behind a lock. Wakers are foreign code, which may come back to this very pipe from their
/// `wake` and their `drop`: so nobody is woken in here, and what is to be done about wakers is
/// returned, to be done when the lock is free.
#[derive(Debug)]
pub(super) struct Pipe {
    bytes: VecDeque<u8>,
    /// As many as `bytes` may have.
    limit: usize,
    /// Nothing more can be written: either end is gone, or the writer has said so.
    closed: bool,
    /// Waits for bytes, or for the end.
    reader: Option<Waker>,
    /// Waits for room, or for the end.
    writer: Option<Waker>,
}

/// What is to be done about wakers when no lock is held.
#[derive(Debug, Default)]
#[must_use = "somebody may wait to be woken"]
pub(super) struct Owed {
    wake: [Option<Waker>; 2],
    drop: Option<Waker>,
}

impl Owed {
    fn wake(waker: Option<Waker>) -> Owed {
        Owed {
            wake: [waker, None],
            drop: None,
        }
    }

    pub(super) fn settle(self) {
        drop(self.drop);
        self.wake.into_iter().flatten().for_each(Waker::wake);
    }
}

/// Registers the task that is being polled, and returns the waker that it replaces.
fn register(slot: &mut Option<Waker>, cx: &Context<'_>) -> Owed {
    let drop = match slot {
        Some(waker) if waker.will_wake(cx.waker()) => None,
        _ => slot.replace(cx.waker().clone()),
    };
    Owed {
        wake: [None, None],
        drop,
    }
}

impl Pipe {
    #[track_caller]
    pub(super) fn new(limit: usize) -> Pipe {
        assert!(
            limit > 0,
            "max_buf_size must be greater than zero: nothing could ever be written"
        );
        Pipe {
            bytes: VecDeque::new(),
            limit,
            closed: false,
            reader: None,
            writer: None,
        }
    }

    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> (Poll<io::Result<()>>, Owed) {
        let Poll::Ready(budget) = coop::poll_proceed(cx) else {
            return (Poll::Pending, Owed::default());
        };
        if buf.remaining() == 0 || (self.bytes.is_empty() && self.closed) {
            budget.made_progress();
            return (Poll::Ready(Ok(())), Owed::default());
        }
        if self.bytes.is_empty() {
            return (Poll::Pending, register(&mut self.reader, cx));
        }
        budget.made_progress();
        let (first, second) = self.bytes.as_slices();
        let from_first = first.len().min(buf.remaining());
        buf.put_slice(&first[..from_first]);
        let from_second = second.len().min(buf.remaining());
        buf.put_slice(&second[..from_second]);
        self.bytes.drain(..from_first + from_second);
        (Poll::Ready(Ok(())), Owed::wake(self.writer.take()))
    }

    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> (Poll<io::Result<usize>>, Owed) {
        let Poll::Ready(budget) = coop::poll_proceed(cx) else {
            return (Poll::Pending, Owed::default());
        };
        if self.closed {
            budget.made_progress();
            let closed = io::ErrorKind::BrokenPipe.into();
            return (Poll::Ready(Err(closed)), Owed::default());
        }
        if bufs.iter().all(|buf| buf.is_empty()) {
            budget.made_progress();
            return (Poll::Ready(Ok(0)), Owed::default());
        }
        if self.bytes.len() == self.limit {
            return (Poll::Pending, register(&mut self.writer, cx));
        }
        budget.made_progress();
        let before = self.bytes.len();
        for buf in bufs {
            let n = buf.len().min(self.limit - self.bytes.len());
            self.bytes.extend(&buf[..n]);
        }
        let written = self.bytes.len() - before;
        (Poll::Ready(Ok(written)), Owed::wake(self.reader.take()))
    }

    /// Nothing more will be written, or read.
    pub(super) fn close(&mut self) -> Owed {
        self.closed = true;
        Owed {
            wake: [self.reader.take(), self.writer.take()],
            drop: None,
        }
    }
}

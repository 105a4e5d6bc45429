use super::ReadBuf;
use crate::task::coop;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::mem;
use std::task::{Context, Poll, Waker, ready};

/// Bytes on their way from a writer to a reader.
///
/// It may be behind a lock. Wakers are foreign code, which may come back to this very pipe from their
/// `wake`, `clone` and `drop`: so none of these happens in here, and what is to be done about wakers is
/// returned, to be done when the lock is free. [`poll`] does it.
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

/// What came of a look at a pipe.
#[derive(Debug)]
#[must_use = "somebody may wait to be woken"]
pub(super) enum Looked<R> {
    /// A result, and who is to be woken for it.
    Done(R, Option<Waker>),
    /// There is nothing to be done yet, and whoever looked is registered.
    Registered,
    /// As `Registered`, but there is no waker to register.
    NeedsWaker,
}

/// Who looks at a pipe.
#[derive(Debug)]
pub(super) struct Looker<'a> {
    waker: &'a Waker,
    /// A clone, to be registered, or the waker that it has replaced.
    spare: Option<Waker>,
}

/// Polls a pipe by `look`, which calls one of its methods, maybe behind a lock, and has let go of that when
/// it returns.
pub(super) fn poll<R>(
    cx: &mut Context<'_>,
    mut look: impl FnMut(&mut Looker<'_>) -> Looked<R>,
) -> Poll<R> {
    let budget = ready!(coop::poll_proceed(cx));
    let mut looker = Looker {
        waker: cx.waker(),
        spare: None,
    };
    loop {
        match look(&mut looker) {
            Looked::Done(result, woken) => {
                budget.made_progress();
                if let Some(woken) = woken {
                    woken.wake();
                }
                return Poll::Ready(result);
            }
            Looked::Registered => return Poll::Pending,
            Looked::NeedsWaker => looker.spare = Some(looker.waker.clone()),
        }
    }
}

/// Registers the task that is being polled.
fn register<R>(slot: &mut Option<Waker>, looker: &mut Looker<'_>) -> Looked<R> {
    match slot {
        Some(waker) if waker.will_wake(looker.waker) => Looked::Registered,
        _ if looker.spare.is_none() => Looked::NeedsWaker,
        _ => {
            mem::swap(slot, &mut looker.spare);
            Looked::Registered
        }
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

    pub(super) fn read(
        &mut self,
        looker: &mut Looker<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Looked<io::Result<()>> {
        if buf.remaining() == 0 || (self.bytes.is_empty() && self.closed) {
            return Looked::Done(Ok(()), None);
        }
        if self.bytes.is_empty() {
            return register(&mut self.reader, looker);
        }
        let (first, second) = self.bytes.as_slices();
        let from_first = first.len().min(buf.remaining());
        buf.put_slice(&first[..from_first]);
        let from_second = second.len().min(buf.remaining());
        buf.put_slice(&second[..from_second]);
        self.bytes.drain(..from_first + from_second);
        Looked::Done(Ok(()), self.writer.take())
    }

    pub(super) fn write(
        &mut self,
        looker: &mut Looker<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Looked<io::Result<usize>> {
        if self.closed {
            return Looked::Done(Err(io::ErrorKind::BrokenPipe.into()), None);
        }
        if bufs.iter().all(|buf| buf.is_empty()) {
            return Looked::Done(Ok(0), None);
        }
        if self.bytes.len() == self.limit {
            return register(&mut self.writer, looker);
        }
        let before = self.bytes.len();
        for buf in bufs {
            let n = buf.len().min(self.limit - self.bytes.len());
            self.bytes.extend(&buf[..n]);
        }
        Looked::Done(Ok(self.bytes.len() - before), self.reader.take())
    }

    /// Nothing more will be written, or read. Returns who is to be woken.
    #[must_use = "somebody may wait to be woken"]
    pub(super) fn close(&mut self) -> [Option<Waker>; 2] {
        self.closed = true;
        [self.reader.take(), self.writer.take()]
    }
}

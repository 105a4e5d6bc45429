use super::ReadBuf;
use crate::sight::{self, WaitKind};
use crate::task::coop;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::mem;
use std::task::{Context, Poll, Waker, ready};

/// Bytes under way from a writer to a reader.
///
/// A pipe may be behind a lock. Wakers are foreign code, which may call back into this very pipe from their
/// `wake`, `clone` and `drop`. Therefore none of these happens in here: the methods return what is to be
/// done about wakers, and [`poll`] does it when the lock is free.
#[derive(Debug)]
pub(super) struct Pipe {
    bytes: VecDeque<u8>,
    /// Maximum length of `bytes`.
    limit: usize,
    /// Nothing more can be written: one end is gone, or the writer has shut down.
    closed: bool,
    /// Waker of a read that waits for bytes or for the end.
    reader: Option<Waker>,
    /// Waker of a write that waits for room or for the end.
    writer: Option<Waker>,
}

/// Outcome of a call of one of a pipe's methods.
#[derive(Debug)]
#[must_use = "a waker may have to be woken"]
pub(super) enum Looked<R> {
    /// A result, and a waker to be woken because of it.
    Done(R, Option<Waker>),
    /// Nothing can be done yet, and the caller's waker is registered.
    Registered,
    /// Nothing can be done yet, and a waker is needed to register.
    NeedsWaker,
}

/// The task that calls a pipe's method.
#[derive(Debug)]
pub(super) struct Looker<'a> {
    waker: &'a Waker,
    /// A clone of the waker, to be registered, or the waker that it has replaced.
    spare: Option<Waker>,
}

/// Polls a pipe by `look`, which calls one of its methods, possibly behind a lock that it has released when
/// it returns.
///
/// While it waits, it does so for what `kind` says, and for the pipe that is known by `resource`.
pub(super) fn poll<R>(
    cx: &mut Context<'_>,
    kind: WaitKind,
    resource: u64,
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
                sight::served(resource);
                return Poll::Ready(result);
            }
            Looked::Registered => {
                sight::waits_longer(kind, resource, None);
                return Poll::Pending;
            }
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

    /// Closes the pipe for reads and writes to come, and returns the wakers to be woken.
    #[must_use = "a waker may have to be woken"]
    pub(super) fn close(&mut self) -> [Option<Waker>; 2] {
        self.closed = true;
        [self.reader.take(), self.writer.take()]
    }
}

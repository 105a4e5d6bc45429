//! What reads have received that nobody waits for any more.
//!
//! A read whose future goes is cancelled, but may have received something by then, which the kernel does not take
//! back. It is kept here, for the next read of the same source. While such a read is not over, nothing else may read
//! from the source: what it finds would come before what was received earlier.

use super::submission::to_result;
use crate::driver::Driver;
use crate::sys::Mutex;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::wakers::Wakers;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// What dropped reads of one source have received, to be read first. See
/// [`Recv::keeping`](super::op::Recv::keeping).
#[derive(Default)]
pub struct Leftover {
    /// There is something to read or to wait for. Written under the lock.
    any: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Dropped, and not over yet.
    orphans: usize,
    /// Of the last orphan.
    driver: Weak<Driver>,
    parts: VecDeque<Part>,
    waiting: Vec<Waker>,
}

enum Part {
    /// The first `read` of them were.
    Bytes {
        bytes: Box<[u8]>,
        read: usize,
    },
    Failed(io::Error),
}

impl State {
    fn is_empty(&self) -> bool {
        self.orphans == 0 && self.parts.is_empty()
    }
}

impl Leftover {
    /// Nothing, so far.
    pub fn new() -> Leftover {
        Leftover::default()
    }

    /// Is there neither anything to read nor a read to wait for?
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }

    /// A read that keeps what it receives here is about to be dropped, by the caller, unfinished: its
    /// [submission](super::Submission::is_under_way) is under way.
    pub fn expect(&self, driver: &Arc<Driver>) {
        let mut state = self.state.lock();
        state.orphans += 1;
        state.driver = Arc::downgrade(driver);
        self.any.store(true, Ordering::Release);
    }

    /// Waits until the dropped reads are over, or there is something to read. Returns whether there is.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<bool> {
        if self.is_empty() {
            return Poll::Ready(false);
        }
        let waker = cx.waker().clone();
        let mut state = self.state.lock();
        if !state.parts.is_empty() {
            return Poll::Ready(true);
        }
        if state.orphans == 0 {
            return Poll::Ready(false);
        }
        if !state.waiting.iter().any(|old| old.will_wake(&waker)) {
            state.waiting.push(waker);
        }
        Poll::Pending
    }

    /// Reads what was received, as a read of the source would. `None` if there is nothing. The bytes whose number
    /// is returned are initialised.
    ///
    /// # Errors
    /// What the kernel has answered to a read that was dropped; `WouldBlock` while one is not over.
    pub fn read(&self, room: &mut [MaybeUninit<u8>]) -> Option<io::Result<usize>> {
        self.copy(room, true)
    }

    /// As [`read`](Leftover::read), and leaves the bytes there.
    ///
    /// # Errors
    /// As for [`read`](Leftover::read).
    pub fn peek(&self, room: &mut [MaybeUninit<u8>]) -> Option<io::Result<usize>> {
        self.copy(room, false)
    }

    /// As [`read`](Leftover::read), in one piece and with its memory.
    ///
    /// # Errors
    /// As for [`read`](Leftover::read).
    pub fn take(&self) -> Option<io::Result<Box<[u8]>>> {
        let mut state = self.state.lock();
        let part = state.parts.pop_front();
        self.any.store(!state.is_empty(), Ordering::Release);
        match part {
            Some(Part::Bytes { bytes, read: 0 }) => Some(Ok(bytes)),
            Some(Part::Bytes { bytes, read }) => Some(Ok(bytes[read..].into())),
            Some(Part::Failed(error)) => Some(Err(error)),
            None if state.orphans > 0 => Some(Err(io::ErrorKind::WouldBlock.into())),
            None => None,
        }
    }

    fn copy(&self, room: &mut [MaybeUninit<u8>], takes: bool) -> Option<io::Result<usize>> {
        if self.is_empty() {
            return None;
        }
        let mut state = self.state.lock();
        let Some(part) = state.parts.front_mut() else {
            let would_block = || Err(io::ErrorKind::WouldBlock.into());
            return (state.orphans > 0).then(would_block);
        };
        let mut is_used_up = true;
        let copied = match part {
            Part::Bytes { bytes, read } => {
                let rest = &bytes[*read..];
                let n = rest.len().min(room.len());
                for (to, from) in room.iter_mut().zip(rest) {
                    to.write(*from);
                }
                if takes {
                    *read += n;
                }
                is_used_up = *read == bytes.len();
                Ok(n)
            }
            Part::Failed(error) => Err(match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => error.kind().into(),
            }),
        };
        if is_used_up {
            state.parts.pop_front();
            self.any.store(!state.is_empty(), Ordering::Release);
        }
        Some(copied)
    }

    /// Waits a moment, on this thread, for reads that were dropped, before somebody else reads from the source
    /// without looking here.
    ///
    /// # Errors
    /// If something was received that was not read; `TimedOut` if the kernel does not let go of a read.
    pub fn conclude(&self) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let driver = {
            let state = self.state.lock();
            if state.orphans > 0 {
                state.driver.upgrade()
            } else {
                None
            }
        };
        let is_over = || self.state.lock().orphans == 0;
        if let Some(driver) = driver {
            if let Some(ring) = &driver.ring {
                driver.hurry(ring, is_over);
            }
        }
        let state = self.state.lock();
        if !state.parts.is_empty() {
            return Err(io::Error::other(
                "a read that was dropped has received bytes that nobody has read: read them first, with \
                 `try_read` or any other read, until there are none",
            ));
        }
        if state.orphans > 0 {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "a read that was dropped still has the descriptor: the kernel does not let go of it",
            ));
        }
        Ok(())
    }

    /// A dropped read is over.
    fn settle(&self, part: Option<Part>) {
        let mut state = self.state.lock();
        // One that nobody has told of before is kept all the same.
        state.orphans = state.orphans.saturating_sub(1);
        state.parts.extend(part);
        self.any.store(!state.is_empty(), Ordering::Release);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        Wakers::from_iter(waiting).wake_all();
    }
}

/// A read that nobody waits for, with the kernel's answer. Its keeper hears of its end whatever happens.
pub(super) struct Orphan<'a> {
    leftover: &'a Leftover,
    part: Option<Part>,
}

impl Orphan<'_> {
    pub(super) fn new(leftover: &Leftover) -> Orphan<'_> {
        Orphan {
            leftover,
            part: None,
        }
    }

    /// `bytes` are those that were received, if the value says so.
    pub(super) fn keep<'b>(&mut self, value: i32, bytes: impl FnOnce(usize) -> &'b [u8]) {
        self.part = match to_result(value, || false) {
            Ok(0) => None,
            Ok(n) => Some(Part::Bytes {
                bytes: bytes(n as usize).into(),
                read: 0,
            }),
            Err(_) if matches!(-value, libc::ECANCELED | libc::EINTR | libc::EAGAIN) => None,
            Err(error) => Some(Part::Failed(error)),
        };
    }
}

impl Drop for Orphan<'_> {
    fn drop(&mut self) {
        self.leftover.settle(self.part.take());
    }
}

impl fmt::Debug for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leftover")
            .field("is_empty", &self.is_empty())
            .finish_non_exhaustive()
    }
}

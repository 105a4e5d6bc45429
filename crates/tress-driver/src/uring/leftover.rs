//! What dropped reads have received.
//!
//! A read whose future is dropped is cancelled, but may have received something by then, which the kernel does
//! not take back. It is kept here for the next read of the same source. Until the dropped read is over, nothing
//! else may read from the source: it would find later bytes before the earlier ones.

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

/// What dropped reads of one source have received, to be read before anything else.
///
/// It belongs to a source, such as a socket type of a runtime, and is filled by reads that were submitted with
/// [`Recv::keeping`](super::op::Recv::keeping) or [`Read::keeping`](super::op::Read::keeping). Protocol:
///
/// 1. Before it drops a submission that [is under way](super::Submission::is_under_way), the source calls
///    [`expect`](Leftover::expect).
/// 2. Before it reads, the source [waits](Leftover::poll) until dropped reads are over, and
///    [reads](Leftover::read) what they have received.
///
/// # Examples
/// ```
/// use std::mem::MaybeUninit;
/// use tress_driver::Leftover;
///
/// let leftover = Leftover::new();
/// assert!(leftover.is_empty());
/// assert!(leftover.read(&mut [MaybeUninit::uninit(); 8]).is_none());
/// ```
#[derive(Default)]
pub struct Leftover {
    /// Whether there is something to read or to wait for. Written under the lock.
    any: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Number of dropped reads that are not over yet.
    orphans: usize,
    /// The driver of the last dropped read.
    driver: Weak<Driver>,
    parts: VecDeque<Part>,
    waiting: Vec<Waker>,
}

enum Part {
    /// Bytes, of which the first `read` have been read.
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
    /// Creates an empty one.
    pub fn new() -> Leftover {
        Leftover::default()
    }

    /// Returns `true` if there is neither anything to read nor a dropped read to wait for.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }

    /// Announces that the caller is about to drop a read that keeps its bytes here and that [is under
    /// way](super::Submission::is_under_way) in `driver`.
    ///
    /// From now on [`read`](Leftover::read) returns `WouldBlock` until that read is over.
    pub fn expect(&self, driver: &Arc<Driver>) {
        let mut state = self.state.lock();
        state.orphans += 1;
        state.driver = Arc::downgrade(driver);
        self.any.store(true, Ordering::Release);
    }

    /// Waits until there is something to read, or all dropped reads are over. Returns whether there is
    /// something to read.
    ///
    /// Any number of tasks may wait.
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

    /// Copies out bytes that a dropped read has received, as a read of the source would. Returns `None` if
    /// there is nothing to read or to wait for.
    ///
    /// `Ok(n)` means that the first `n` bytes of `room` are initialised.
    ///
    /// # Errors
    /// - The error that a dropped read ended with.
    /// - [`WouldBlock`](io::ErrorKind::WouldBlock) while a dropped read is not over; [`poll`](Leftover::poll)
    ///   waits for that.
    pub fn read(&self, room: &mut [MaybeUninit<u8>]) -> Option<io::Result<usize>> {
        self.copy(room, true)
    }

    /// Copies out bytes like [`read`](Leftover::read), and leaves them in place.
    ///
    /// # Errors
    /// As for [`read`](Leftover::read). An error is taken out, not left.
    pub fn peek(&self, room: &mut [MaybeUninit<u8>]) -> Option<io::Result<usize>> {
        self.copy(room, false)
    }

    /// Takes out the bytes of one dropped read in one piece, with their memory. Returns `None` if there is
    /// nothing to read or to wait for.
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

    /// Blocks the thread for at most 200 milliseconds until dropped reads are over.
    ///
    /// To be called before something else reads from the source without looking here, for instance before the
    /// descriptor is given away.
    ///
    /// # Errors
    /// - [`Other`](io::ErrorKind::Other) if dropped reads have received something that was not read yet.
    /// - [`TimedOut`](io::ErrorKind::TimedOut) if the kernel does not let go of a dropped read.
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

    /// Ends a dropped read, with what it has received.
    fn settle(&self, part: Option<Part>) {
        let mut state = self.state.lock();
        // One that was not announced by `expect` is kept all the same.
        state.orphans = state.orphans.saturating_sub(1);
        state.parts.extend(part);
        self.any.store(!state.is_empty(), Ordering::Release);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        Wakers::from_iter(waiting).wake_all();
    }
}

/// A dropped read with the kernel's answer. Settles its leftover when it is dropped, whatever happens.
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

    /// Keeps the answer; `bytes` returns the bytes that were received, if any.
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

//! The future of an operation with one result.

use super::cell::{Abandoned, OpCell, Told};
use super::op::{Operation, Prepare};
use super::ring::{Arrived, Completion, Next, Ring};
use super::spare;
use super::table::Key;
use crate::driver::Driver;
use crate::gone::Gone;
use crate::wakers::Wakers;
use io_uring::squeue::Entry;
use std::fmt;
use std::future::Future;
use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Future of an operation under way; created by [`Driver::submit`].
///
/// It resolves to the operation's [`Output`](Operation::Output): the result, with whatever was lent to the
/// kernel. The operation runs whether or not the future is polled, from the driver's next turn on.
///
/// # Cancel safety
/// Dropping the future cancels the operation. It may have happened all the same, in whole or in part: a write
/// may have written, a read may have taken bytes (which [`Leftover`](super::Leftover) can keep). A descriptor
/// that was opened or accepted is closed. Buffers and descriptors live until the kernel is done with them.
///
/// # Panics
/// Polling it after it has returned its result panics.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// let zero = std::fs::File::open("/dev/zero")?;
/// let read = driver.submit(op::Read::next(zero, vec![1; 16]));
/// assert_eq!(read.is_under_way(), read.driver().is_some());
/// drop(read); // the vector lives until the kernel is done with it
/// # std::io::Result::Ok(())
/// ```
#[must_use = "dropping a submission cancels it"]
pub struct Submission<O: Operation>(State<O>);

enum State<O: Operation> {
    UnderWay {
        cell: Arc<OpCell<O>>,
        driver: Arc<Driver>,
        key: Key,
    },
    Refused(Box<(O, io::Error)>),
    /// The result was fetched.
    Over,
}

impl<O: Operation> Unpin for Submission<O> {}

impl<O: Operation> Submission<O> {
    pub(crate) fn start(driver: &Arc<Driver>, op: O) -> Submission<O> {
        let ring = match ring_of(driver, O::OPCODE) {
            Ok(ring) => ring,
            Err(error) => return Submission::refused(op, error),
        };
        let cell = spare::cell(op);
        // SAFETY: it was not submitted yet.
        let entry = unsafe { cell.with_op(Prepare::entry) };
        let entry = entry.expect("the operation is there until it is taken");
        match launch(driver, ring, cell.clone(), entry) {
            Some(key) => Submission(State::UnderWay {
                cell,
                driver: Arc::clone(driver),
                key,
            }),
            None => {
                let op = Arc::into_inner(cell).and_then(OpCell::into_op);
                Submission::refused(op.expect("nobody else has it"), Gone.into())
            }
        }
    }

    /// Returns `true` if the kernel has the operation or is about to get it.
    ///
    /// `false` if the operation was refused, or its result was fetched; then dropping the submission cancels
    /// nothing.
    pub fn is_under_way(&self) -> bool {
        matches!(self.0, State::UnderWay { .. })
    }

    /// Returns the driver that has the operation, while it is [under way](Submission::is_under_way).
    pub fn driver(&self) -> Option<&Arc<Driver>> {
        match &self.0 {
            State::UnderWay { driver, .. } => Some(driver),
            State::Refused(_) | State::Over => None,
        }
    }

    fn refused(op: O, error: io::Error) -> Submission<O> {
        Submission(State::Refused(Box::new((op, error))))
    }
}

/// Returns the ring of the driver, if it can do the operation.
fn ring_of(driver: &Driver, opcode: u8) -> io::Result<&Ring> {
    let Some(ring) = &driver.ring else {
        return Err(unsupported("the driver has no ring"));
    };
    if !ring.supports(opcode) {
        return Err(unsupported("this kernel's io_uring cannot do it"));
    }
    Ok(ring)
}

/// Starts an operation, and wakes the thread that has to submit it. Returns `None` if the ring is closed.
fn launch(driver: &Driver, ring: &Ring, cell: Arc<dyn Completion>, entry: Entry) -> Option<Key> {
    let mut is_asleep = false;
    let key = ring.start(cell, entry, &mut || is_asleep = driver.is_asleep())?;
    if is_asleep {
        driver.summon();
    }
    Some(key)
}

fn unsupported(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why)
}

/// Converts a kernel's result to one of the standard library.
pub(crate) fn to_result(value: i32, is_closed: impl FnOnce() -> bool) -> io::Result<u32> {
    u32::try_from(value).map_err(|_| match -value {
        // The user did not cancel it: either the driver did, or a file system answers so.
        libc::ECANCELED if is_closed() => Gone.into(),
        errno => io::Error::from_raw_os_error(errno),
    })
}

/// Converts an operation that the kernel has answered to its output.
///
/// # Safety
/// As for [`Operation::finish`].
unsafe fn finish<O: Operation>(
    mut op: O,
    value: i32,
    is_closed: impl FnOnce() -> bool,
) -> O::Output {
    op.answered();
    // SAFETY: by the caller's promise.
    unsafe { op.finish(to_result(value, is_closed)) }
}

impl<O: Operation> Future for Submission<O> {
    type Output = O::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<O::Output> {
        if let State::UnderWay { cell, .. } = &self.0 {
            let (value, op) = ready!(cell.poll(cx));
            let State::UnderWay { driver, cell, .. } = mem::replace(&mut self.0, State::Over)
            else {
                unreachable!("it was a moment ago");
            };
            spare::keep(cell);
            let is_closed = || driver.ring.as_ref().is_some_and(Ring::is_closed);
            // SAFETY: the kernel's last word on it, which the cell gives away once.
            return Poll::Ready(unsafe { finish(op, value, is_closed) });
        }
        match mem::replace(&mut self.0, State::Over) {
            State::Refused(refused) => {
                let (op, error) = *refused;
                // SAFETY: an error, which claims nothing.
                Poll::Ready(unsafe { op.finish(Err(error)) })
            }
            State::UnderWay { .. } | State::Over => panic!("polled after it was complete"),
        }
    }
}

impl<O: Operation> Drop for Submission<O> {
    fn drop(&mut self) {
        let State::UnderWay { cell, driver, key } = &self.0 else {
            return;
        };
        let Some(ring) = &driver.ring else {
            return;
        };
        // Counted before, so that the count is there when the last result takes it back.
        ring.orphan();
        match cell.abandon() {
            Abandoned::UnderWay => {
                driver.cancel(ring, [Some(*key), None]);
            }
            Abandoned::Done(value) => {
                ring.not_orphan();
                discard(cell, value);
            }
            Abandoned::Taken => ring.not_orphan(),
        }
    }
}

/// Undoes a result that will not be fetched.
fn discard<O: Operation>(cell: &OpCell<O>, value: i32) {
    // SAFETY: complete and abandoned, so it is the caller's, and so is the result.
    unsafe { cell.with_op(|op| op.discard(value)) };
}

impl<O: Operation> fmt::Debug for Submission<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            State::UnderWay { cell, .. } => f.debug_tuple("Submission").field(cell).finish(),
            State::Refused(_) => f.write_str("Submission(refused)"),
            State::Over => f.write_str("Submission(over)"),
        }
    }
}

impl<O: Operation> Completion for OpCell<O> {
    // D-DRV-05
    fn complete(&self, arrived: Arrived, wakers: &mut Wakers) -> Next {
        // Not what was asked for: it was interrupted, or the thread that submitted it is gone.
        let failed = match -arrived.value {
            libc::EINTR => O::REPEATS_IF_INTERRUPTED,
            libc::ECANCELED => self.repeat(O::REPEATS_IF_CANCELLED),
            _ => false,
        };
        if failed && !arrived.closed && self.is_wanted() {
            return Next::Again;
        }
        match self.complete(arrived.value, wakers) {
            Told::Future => Next::Finish,
            Told::Nobody => Next::FinishOrphan,
        }
    }

    fn bury(&self) {
        if let Some(value) = self.take_unwanted() {
            discard(self, value);
        }
    }
}

impl Driver {
    /// Starts an operation.
    ///
    /// It is handed to the kernel with the driver's next [`park`](Driver::park) or [`turn`](Driver::turn); an
    /// owner that is parked is unparked for it.
    ///
    /// # Errors
    /// The submission resolves to an error, and returns what was lent, if the operation cannot be started:
    /// - [`Unsupported`](io::ErrorKind::Unsupported) if the driver has no ring, or the kernel does not know the
    ///   operation. [`supports`](Driver::supports) tells beforehand.
    /// - [`Gone`] after the driver was closed.
    ///
    /// # Examples
    /// ```
    /// use std::fs::File;
    /// use std::sync::Arc;
    /// use tress_driver::{Config, Driver, op};
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
    /// #     let mut future = pin!(future);
    /// #     loop {
    /// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
    /// #             return value;
    /// #         }
    /// #         driver.park(None).unwrap();
    /// #     }
    /// # }
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// if driver.supports::<op::Read<File, Vec<u8>>>() {
    ///     let file = File::open("/proc/self/comm")?;
    ///     let read = driver.submit(op::Read::at(file, Vec::with_capacity(64), 0));
    ///     let (result, buffer) = block_on(&driver, read);
    ///     assert_eq!(result?, buffer.len());
    /// }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn submit<O: Operation>(self: &Arc<Self>, op: O) -> Submission<O> {
        Submission::start(self, op)
    }

    /// Returns `true` if the driver has a ring whose kernel knows the operation `O`.
    ///
    /// # Examples
    /// ```
    /// use tress_driver::{Backend, Config, Driver, op};
    ///
    /// let driver = Driver::new(&Config::new())?;
    /// if driver.supports::<op::OpenAt>() {
    ///     assert_eq!(driver.backend(), Backend::Uring);
    /// }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn supports<O: Operation>(&self) -> bool {
        self.ring
            .as_ref()
            .is_some_and(|ring| ring.supports(O::OPCODE))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::uring::op::Close;
    use std::fs::File;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::task::Waker;

    fn cancelled() -> Arrived {
        Arrived {
            value: -libc::ECANCELED,
            flags: 0,
            more: false,
            closed: false,
        }
    }

    /// A file system may answer so: the descriptor is gone, and its number may belong to another file by now.
    #[test]
    fn a_close_is_done_once_whatever_the_file_says() {
        for is_wanted in [true, false] {
            let fd = OwnedFd::from(File::open("/dev/null").unwrap());
            let number = fd.as_raw_fd();
            let cell = OpCell::new(Close::new(fd));
            if !is_wanted {
                assert_eq!(cell.abandon(), Abandoned::UnderWay);
            }
            let next = Completion::complete(&cell, cancelled(), &mut Wakers::default());
            if is_wanted {
                assert_eq!(next, Next::Finish);
                let polled = cell.poll(&mut Context::from_waker(Waker::noop()));
                let Poll::Ready((value, op)) = polled else {
                    panic!("it is complete");
                };
                // SAFETY: an error, which claims nothing.
                let error = unsafe { finish(op, value, || false) }.unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
            } else {
                assert_eq!(next, Next::FinishOrphan);
                cell.bury();
            }
            drop(cell);
            // It was not really closed here, and stands for another file's descriptor.
            // SAFETY: only asks for flags.
            assert_ne!(unsafe { libc::fcntl(number, libc::F_GETFD) }, -1);
            // SAFETY: open, and not owned by anything else.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }
}

//! Operations that wait for what is neither a file nor a socket.

use super::{AS_OFTEN_AS_IT_TAKES, Operation, Prepare, descriptor};
use io_uring::opcode;
use io_uring::squeue::Entry;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

/// Waits once until a descriptor is ready.
///
/// Resolves to the events that have happened, and the descriptor. Fails with any error of `poll(2)`. To wait
/// again and again, [`register`](crate::Driver::register) the descriptor instead.
///
/// # Examples
/// ```
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let std::task::Poll::Ready(value) =
/// #             future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// const POLLOUT: u32 = 4;
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Poll<UnixStream>>() {
///     let (near, _far) = UnixStream::pair()?;
///     let (events, _near) = block_on(&driver, driver.submit(op::Poll::new(near, POLLOUT)));
///     assert_eq!(events? & POLLOUT, POLLOUT);
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Poll<F> {
    fd: F,
    events: u32,
}

impl<F> Poll<F> {
    /// Creates an operation that waits for the events of `poll(2)`, such as `POLLIN`.
    pub fn new(fd: F, events: u32) -> Self {
        Poll { fd, events }
    }
}

impl<F: AsFd + Send + 'static> Prepare for Poll<F> {
    const OPCODE: u8 = opcode::PollAdd::CODE;
    const REPEATS_IF_CANCELLED: u32 = AS_OFTEN_AS_IT_TAKES;

    fn entry(&mut self) -> Entry {
        opcode::PollAdd::new(descriptor(&self.fd), self.events).build()
    }
}

impl<F: AsFd + Send + 'static> Operation for Poll<F> {
    /// The events that have happened, and the descriptor.
    type Output = (io::Result<u32>, F);

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        (result, self.fd)
    }
}

/// Waits for a child process to change its state (Linux 6.7).
///
/// Resolves to a [`ChildState`]. Fails with any error of `waitid(2)`, such as `ECHILD` if there is no such
/// child.
///
/// # Examples
/// ```
/// use std::process::Command;
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
/// const P_PID: u32 = 1;
/// const WEXITED: i32 = 4;
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::WaitId>() {
///     let child = Command::new("true").spawn()?;
///     let wait = op::WaitId::new(P_PID, child.id(), WEXITED);
///     let state = block_on(&driver, driver.submit(wait))?;
///     assert_eq!((state.pid as u32, state.status), (child.id(), 0));
/// }
/// # std::io::Result::Ok(())
/// ```
pub struct WaitId {
    kind: libc::idtype_t,
    id: libc::id_t,
    options: i32,
    answer: Box<MaybeUninit<libc::siginfo_t>>,
}

// SAFETY: the answer is plain memory until the kernel has written it; its pointers are never followed.
unsafe impl Send for WaitId {}

/// How a child process has changed its state; the output of [`WaitId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildState {
    /// Process id of the child; 0 if no child has changed its state (with `WNOHANG`).
    pub pid: i32,
    /// Kind of the change: `CLD_EXITED`, `CLD_KILLED` or another constant of `waitid(2)`.
    pub code: i32,
    /// Exit code, or number of the signal.
    pub status: i32,
}

impl WaitId {
    /// Creates an operation with the arguments of `waitid(2)`.
    pub fn new(kind: libc::idtype_t, id: libc::id_t, options: i32) -> Self {
        WaitId {
            kind,
            id,
            options,
            answer: Box::new(MaybeUninit::zeroed()),
        }
    }
}

impl Prepare for WaitId {
    const OPCODE: u8 = opcode::WaitId::CODE;
    const REPEATS_IF_CANCELLED: u32 = AS_OFTEN_AS_IT_TAKES;

    fn entry(&mut self) -> Entry {
        opcode::WaitId::new(self.kind, self.id, self.options)
            .infop(self.answer.as_mut_ptr())
            .build()
    }
}

impl Operation for WaitId {
    type Output = io::Result<ChildState>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        result.map(|_| {
            // SAFETY: integers and pointers, zeroed at first and then written by the kernel.
            let answer = unsafe { self.answer.assume_init() };
            // SAFETY: `waitid` fills the fields of a child's signal, or none, which leaves them zero.
            let (pid, status) = unsafe { (answer.si_pid(), answer.si_status()) };
            ChildState {
                pid,
                code: answer.si_code,
                status,
            }
        })
    }
}

impl fmt::Debug for WaitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitId")
            .field("kind", &self.kind)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

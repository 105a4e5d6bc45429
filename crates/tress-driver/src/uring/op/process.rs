//! Waiting for what is neither a file nor a socket.

use super::{AS_OFTEN_AS_IT_TAKES, Operation, Prepare, descriptor};
use io_uring::opcode;
use io_uring::squeue::Entry;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

/// Waits until a descriptor is ready, once.
#[derive(Debug)]
pub struct Poll<F> {
    fd: F,
    events: u32,
}

impl<F> Poll<F> {
    /// For the events of `poll`, such as `POLLIN`.
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
    /// The events that there are.
    type Output = (io::Result<u32>, F);

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        (result, self.fd)
    }
}

/// Waits for a child process to change its state (Linux 6.7).
pub struct WaitId {
    kind: libc::idtype_t,
    id: libc::id_t,
    options: i32,
    answer: Box<MaybeUninit<libc::siginfo_t>>,
}

// SAFETY: the answer is plain memory until the kernel has written it; its pointers are never followed.
unsafe impl Send for WaitId {}

/// What became of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildState {
    /// Which one; 0 if there was nothing to tell (with `WNOHANG`).
    pub pid: i32,
    /// How: `CLD_EXITED`, `CLD_KILLED` and so on.
    pub code: i32,
    /// The exit code or the signal.
    pub status: i32,
}

impl WaitId {
    /// With the arguments of `waitid`.
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

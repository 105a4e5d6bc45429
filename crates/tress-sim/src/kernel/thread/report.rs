//! What threads of hosts do, in words.

use super::{HostId, Kernel, Only, State, Thread, ThreadId, Threads, WaitsIn};
use std::backtrace::Backtrace;
use std::ffi::{CStr, CString};
use std::fmt;

impl fmt::Display for WaitsIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WaitsIn::Sleep => "sleeps",
            WaitsIn::Futex => "waits in futex",
            WaitsIn::Epoll => "waits in epoll_wait",
            WaitsIn::Poll => "waits in poll",
            WaitsIn::Join => "waits for the end of a thread",
            WaitsIn::Read => "waits in read",
            WaitsIn::Write => "waits in write",
            WaitsIn::Socket => "waits for a socket",
            WaitsIn::FileLock => "waits for the lock of a file",
            WaitsIn::NameLookUp => "waits in getaddrinfo",
            WaitsIn::Signal => "waits for a signal",
            WaitsIn::Child => "waits for the end of a child process",
            WaitsIn::Exit => "has called exit",
        })
    }
}

impl Threads {
    pub(super) fn is_ready(&self, id: ThreadId) -> bool {
        let thread = self.all.get(id.0).and_then(Option::as_ref);
        thread.is_some_and(|thread| thread.state == State::Ready)
    }

    /// Sets the name of a thread, for reports and for `pthread_getname_np`.
    pub(crate) fn set_name(&mut self, pthread: libc::pthread_t, name: CString) -> bool {
        let found = self.find(pthread);
        if let Some(id) = found {
            self.of(id).name = name;
        }
        found.is_some()
    }

    /// Returns the name that a thread was given.
    pub(crate) fn name(&self, pthread: libc::pthread_t) -> Option<&CStr> {
        let id = self.find(pthread)?;
        let thread = self.all[id.0].as_ref()?;
        Some(&thread.name)
    }

    /// The thread that was started last.
    pub(crate) fn newest(&self) -> ThreadId {
        ThreadId(self.all.len() - 1)
    }
}

impl Kernel {
    /// Returns the threads of a host that have not ended, in the order in which they were started.
    pub(crate) fn threads_of(&self, host: HostId) -> Vec<ThreadId> {
        let is_alive = |thread: &&Thread| {
            let runs = self.processes.runs(thread.process);
            thread.host == host && runs && thread.state != State::Ended
        };
        let all = self.threads.all.iter().enumerate();
        let alive = all.filter_map(|(at, thread)| Some((at, thread.as_deref().filter(is_alive)?)));
        alive.map(|(at, _)| ThreadId(at)).collect()
    }

    /// Says what a thread does, and for how long it has done so.
    pub(crate) fn describe(&self, id: ThreadId) -> String {
        let number = id.0;
        let Some(thread) = &self.threads.all[number] else {
            return format!("thread {number} has ended");
        };
        let name = match thread.name.is_empty() {
            true => String::new(),
            false => format!(" {:?}", thread.name.to_string_lossy()),
        };
        match thread.state {
            State::Waiting => {
                let (what, time) = (thread.waits_in, self.now.since(thread.time));
                format!("thread {number}{name} {what}, for {time:?} so far")
            }
            State::Ready => format!("thread {number}{name} is ready"),
            State::Ended => format!("thread {number}{name} has ended"),
        }
    }

    /// Returns where a thread waits. None for one that does not, or that waits for descriptors to become ready, as an
    /// idle runtime does.
    ///
    /// # Safety
    /// As for [`run`](Kernel::run). No thread was left while it had the lock of the standard library's backtraces.
    pub(crate) unsafe fn place_of(this: *mut Kernel, id: ThreadId) -> Option<Backtrace> {
        // SAFETY: the caller's promise; no reference lasts longer than the statement.
        unsafe {
            let thread = (&(*this).threads.all)[id.0].as_ref()?;
            if thread.state != State::Waiting || thread.waits_in == WaitsIn::Epoll {
                return None;
            }
            Kernel::run_alone(this, Only::Place(id));
            (*this).threads.place.take()
        }
    }

    /// Runs one thread until it waits or ends, while time stands still.
    ///
    /// # Safety
    /// As for [`run`](Kernel::run).
    pub(crate) unsafe fn run_thread(this: *mut Kernel, id: ThreadId) {
        // SAFETY: the caller's promise.
        unsafe { Kernel::run_alone(this, Only::Thread(id)) };
    }
}

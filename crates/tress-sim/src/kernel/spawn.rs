//! Programs that a host's program can start, and how it starts one.

use super::process::{Preparation, ProcessId, Stream};
use super::{Errno, Here, Kernel, Name};
use crate::program::{Args, Main};
use libc::{c_int, pid_t};
use std::any::Any;
use std::ffi::c_void;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// The programs that a test has, by their names.
#[derive(Default)]
pub(crate) struct Programs(Vec<(String, Rc<Main>)>);

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

impl Programs {
    /// Adds a program, in place of another one of that name.
    pub(crate) fn add(&mut self, name: &str, main: Rc<Main>) {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_string(), main));
    }

    /// Returns the program that a path means: the one of that very name, or of that file name.
    fn find(&self, path: &[u8]) -> Option<Rc<Main>> {
        let called = |name: &[u8]| {
            let found = self.0.iter().find(|(other, _)| other.as_bytes() == name);
            found.map(|(_, main)| main.clone())
        };
        let file = path.rsplit(|byte| *byte == b'/').next();
        called(path).or_else(|| called(file?))
    }
}

/// What the first thread of a child is given.
struct Start {
    main: Rc<Main>,
    args: Args,
}

/// The status of a program that has panicked.
const PANICKED: i32 = 101;

/// Runs the program of a child, on its first thread. Returns its status.
extern "C" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` made it, for this call.
    let Start { main, args } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    let status = catch_unwind(AssertUnwindSafe(|| main(args)));
    let status = status.unwrap_or_else(|panic| {
        forget(panic);
        PANICKED
    });
    // The next process that prints would print it. There is nobody to be told of an error.
    let _ = std::io::stdout().flush();
    status as usize as *mut c_void
}

/// Drops what a program has panicked with. If that panics, too, it is left.
fn forget(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
}

impl Kernel {
    /// Begins to note what is to be done before a child starts.
    pub(crate) fn begin_preparations(&mut self, key: usize) {
        self.preparations().insert(key, Vec::new());
    }

    /// Notes something that is to be done before a child starts.
    pub(crate) fn prepare(&mut self, key: usize, next: Preparation) -> Result<(), Errno> {
        let noted = self.preparations().get_mut(&key);
        noted.ok_or(libc::EINVAL)?.push(next);
        Ok(())
    }

    pub(crate) fn end_preparations(&mut self, key: usize) {
        self.preparations().remove(&key);
    }

    fn preparations(&mut self) -> &mut std::collections::BTreeMap<usize, Vec<Preparation>> {
        let process = self.running_process();
        &mut self.processes.of(process).preparations
    }

    /// Returns what a standard stream of the running process is.
    pub(crate) fn stream(&self, fd: c_int) -> Stream {
        let process = self.processes.get(self.running_process());
        let at = usize::try_from(fd).ok();
        let stream = process
            .zip(at)
            .and_then(|(process, at)| process.streams.get(at).copied());
        stream.unwrap_or(Stream::Real)
    }

    /// Returns the descriptor that the running process means by a number.
    pub(crate) fn meant(&self, fd: c_int) -> c_int {
        match self.stream(fd) {
            Stream::Real => fd,
            Stream::Simulated(simulated) => simulated,
            Stream::Closed => -1,
        }
    }

    /// Notes that the running process has closed a standard stream.
    pub(crate) fn close_stream(&mut self, fd: c_int) {
        let process = self.running_process();
        if let Some(stream) = usize::try_from(fd)
            .ok()
            .and_then(|at| self.processes.of(process).streams.get_mut(at))
        {
            *stream = Stream::Closed;
        }
    }
}

impl Here {
    /// Starts a program as a child of the running process. Returns its number.
    ///
    /// # Errors
    /// `ENOENT`: there is no such program. Else what of the preparations fails, or there is no room for another thread.
    pub(crate) fn spawn(
        &mut self,
        path: &[u8],
        preparations: Option<usize>,
        args: Args,
    ) -> Result<pid_t, Errno> {
        let main = self.programs.find(path).ok_or(libc::ENOENT)?;
        let parent = self.running_process();
        let noted = preparations.and_then(|key| self.preparations().get(&key).cloned());
        let working = self.working()?;
        let child = self.add_child(parent);
        self.processes.of(child).working = Some(working);
        for at in 0..3 {
            if let Err(errno) = self.inherit(parent, child, at) {
                self.drop_child(child);
                return Err(errno);
            }
        }
        for next in noted.unwrap_or_default() {
            if let Err(errno) = self.do_preparation(child, next) {
                self.drop_child(child);
                return Err(errno);
            }
        }
        let start = Box::into_raw(Box::new(Start { main, args }));
        // SAFETY: a program's function may be called on any thread of the simulation, which are one thread of the system.
        if let Err(errno) = unsafe { self.start_first_thread(child, run, start.cast()) } {
            // SAFETY: no thread has it.
            drop(unsafe { Box::from_raw(start) });
            self.drop_child(child);
            return Err(errno);
        }
        Ok(self.processes.number(child))
    }

    /// Gives a child a standard stream of its parent.
    fn inherit(&mut self, parent: ProcessId, child: ProcessId, at: usize) -> Result<(), Errno> {
        let stream = match self.processes.of(parent).streams[at] {
            Stream::Simulated(fd) => Stream::Simulated(self.duplicate_for(child, fd)?),
            stream => stream,
        };
        self.processes.of(child).streams[at] = stream;
        Ok(())
    }

    /// Makes a standard stream of a child something else. Other descriptors than these it does not have.
    fn set_stream(&mut self, child: ProcessId, fd: c_int, stream: Stream) -> Result<(), Errno> {
        let at = usize::try_from(fd).ok().filter(|at| *at < 3);
        let Some(at) = at else {
            if let Stream::Simulated(unused) = stream {
                self.close(unused)?;
            }
            return Ok(());
        };
        let past = std::mem::replace(&mut self.processes.of(child).streams[at], stream);
        match past {
            Stream::Simulated(past) => self.close(past),
            Stream::Real | Stream::Closed => Ok(()),
        }
    }

    fn do_preparation(&mut self, child: ProcessId, next: Preparation) -> Result<(), Errno> {
        match next {
            Preparation::Duplicate(from, to) => {
                let of_child = usize::try_from(from)
                    .ok()
                    .and_then(|at| self.processes.of(child).streams.get(at).copied());
                let stream = match of_child {
                    // It goes on being what it is.
                    _ if from == to => return Ok(()),
                    Some(Stream::Simulated(fd)) => {
                        Stream::Simulated(self.duplicate_for(child, fd)?)
                    }
                    Some(Stream::Closed) => return Err(libc::EBADF),
                    // Which of the real ones it is makes a difference for the real system only.
                    Some(Stream::Real) => Stream::Real,
                    None => Stream::Simulated(self.duplicate_for(child, from)?),
                };
                self.set_stream(child, to, stream)
            }
            Preparation::Close(fd) => self.set_stream(child, fd, Stream::Closed),
            Preparation::Open {
                fd,
                path,
                flags,
                mode,
            } => {
                let opened = self.open_file(libc::AT_FDCWD, &path, flags, mode)?;
                let of_child = self.duplicate_for(child, opened);
                self.close(opened)?;
                self.set_stream(child, fd, Stream::Simulated(of_child?))
            }
            Preparation::WorkIn(path) => {
                let name = Name {
                    directory: libc::AT_FDCWD,
                    path: &path,
                    follow: true,
                    may_be_empty: false,
                };
                let directory = self.directory_named(name)?;
                self.processes.of(child).working = Some(directory);
                Ok(())
            }
        }
    }
}

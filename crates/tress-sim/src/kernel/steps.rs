//! What has happened, as a number: two runs that took other steps have other numbers.

use super::{Event, HostId, Kernel};
use crate::fiber;
use crate::raw;
use crate::runner::page::{self, Page, page};
use crate::time::Time;
use libc::c_long;
use std::backtrace::Backtrace;
use std::fmt::{self, Write};
use std::fs;
use std::io;
use std::time::Duration;

/// Kinds of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    /// A thread goes on.
    Go,
    Timer,
    Net,
    /// A task is chosen.
    Task,
    /// A thread of a host makes a system call.
    System,
    /// Something is written to the real standard output or error.
    Output,
    /// Something is read from outside of the simulation.
    Input,
}

/// The steps of a simulation.
#[derive(Debug)]
pub(crate) struct Steps {
    page: &'static Page,
    last: Last,
}

/// The last event.
#[derive(Debug, Clone, Copy)]
struct Last {
    kind: Kind,
    time: Time,
    host: Option<HostId>,
}

impl Default for Steps {
    fn default() -> Steps {
        let last = Last {
            kind: Kind::Nothing,
            time: Time::START,
            host: None,
        };
        Steps { page: page(), last }
    }
}

impl Kernel {
    /// Notes an event that is taken from those to come.
    #[inline]
    pub(super) fn note_event(&mut self, event: &Event) {
        let (kind, host) = match event {
            Event::Go(thread, _) => (Kind::Go, self.threads.host_of(*thread)),
            Event::Timer(..) => (Kind::Timer, None),
            Event::Net(_) => (Kind::Net, None),
        };
        let time = self.now;
        self.steps.last = Last { kind, time, host };
        let host = host.map_or(0, |host| 1 + host.0 as u64);
        // How many events were planned so far tells events of one kind and time apart.
        let is_logged = self
            .steps
            .page
            .note(time.0, kind as u64 | host << 8, self.events.added());
        if is_logged {
            self.log(self.steps.last.host, format_args!("{event:?}"));
        }
    }

    /// Notes which of several tasks is next.
    #[inline]
    pub(super) fn note_task(&mut self, ready: usize, chosen: usize) {
        let detail = (ready as u64) << 32 | chosen as u64;
        let host = self.threads.running_host();
        if self.note(host, Kind::Task, detail) {
            self.log(
                host,
                format_args!("runs task {} of {ready} that are ready", chosen + 1),
            );
        }
    }

    /// Lets the time of a call of the running thread pass, and notes that it enters the kernel.
    #[inline]
    pub(crate) fn begin_call(&mut self, cost: Duration, what: &'static str) {
        let host = self.threads.running_host();
        self.charge_for(host, cost);
        if self.note(host, Kind::System, 0) {
            self.log(host, format_args!("{what}"));
        }
    }

    #[inline]
    fn note(&mut self, host: Option<HostId>, kind: Kind, detail: u64) -> bool {
        let host = host.map_or(0, |host| 1 + host.0 as u64);
        self.steps
            .page
            .note(self.now.0, kind as u64 | host << 8, detail)
    }

    /// Says what the last event was.
    pub(crate) fn last_event(&self) -> String {
        let Last { kind, time, host } = self.steps.last;
        let what = match kind {
            Kind::Nothing => "nothing",
            Kind::Go => "a thread went on",
            Kind::Timer => "a timer was due",
            Kind::Net => "the network delivered something",
            Kind::Task | Kind::System | Kind::Output | Kind::Input => {
                unreachable!("these are no events")
            }
        };
        match host {
            Some(host) => format!("at {time:?}, on {}, {what}", self.hosts[host.0].name),
            None => format!("at {time:?}, {what}"),
        }
    }

    #[cold]
    fn log(&self, host: Option<HostId>, what: fmt::Arguments<'_>) {
        let host = host.map_or("-", |host| self.hosts[host.0].name.as_str());
        log(self.steps.page, self.now, host, what);
    }
}

/// Writes a step to the log of the run, with a backtrace if that is wanted.
fn log(page: &Page, time: Time, host: &str, what: fmt::Arguments<'_>) {
    let mut line = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(line, "{} {time:?} {host}: {what}", page.steps());
    if page.wants_backtrace() {
        let _ = writeln!(line, "{}", Backtrace::force_capture());
        for thread in threads_beside() {
            let _ = writeln!(line, "{BESIDE}{thread}");
        }
    }
    crate::runner::write_log(line.as_bytes());
}

/// What a line of the log starts with that names a real thread that is no part of the simulation.
pub(crate) const BESIDE: &str = " beside: ";
/// What a line of the log starts with that names what was done past the C library, and carried out all the same.
pub(crate) const PAST: &str = " past: ";

/// Returns the names of the real threads of this process that neither run the simulation nor lend their stacks to it.
fn threads_beside() -> Vec<String> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let me = raw::gettid().to_string();
    let others = threads
        .flatten()
        .filter(|thread| thread.file_name() != me.as_str());
    let names = others.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    let mut names: Vec<_> = names
        .map(|name| name.trim_end().to_string())
        .filter(|name| name.as_bytes() != fiber::DONOR.to_bytes())
        .collect();
    names.sort();
    names
}

/// Writes to the log what a host has done past the C library. It is no step: other runs of it have none.
///
/// Called by handlers of signals, maybe in the middle of the allocator: it allocates nothing, and a line that is too long is cut.
pub(crate) fn note_past(what: fmt::Arguments<'_>) {
    let page = page();
    if !page.has(page::LOG) {
        return;
    }
    let errno = raw::errno();
    // From here on symbols mean the real system.
    let kernel = super::here();
    if let Some(kernel) = kernel.as_ref().filter(|kernel| kernel.made.is_counted()) {
        let host = kernel.threads.running_host();
        let host = host.map_or("-", |host| kernel.hosts[host.0].name.as_str());
        let mut line = [0; 256];
        let mut room = &mut line[..];
        let _ = io::Write::write_fmt(
            &mut room,
            format_args!("{PAST}{what}, on {host} at {:?}", kernel.now),
        );
        let length = 256 - room.len();
        crate::runner::write_log(&line[..length]);
        crate::runner::write_log(b"\n");
    }
    drop(kernel);
    raw::set_errno(errno);
}

/// Notes what a run writes to its standard output or error.
pub(crate) fn note_output(fd: libc::c_int, bytes: &[u8]) {
    record_output(fd, bytes);
    note_bytes(Kind::Output, fd, bytes);
}

/// Records what a host, or the test between two steps of a simulation, has written.
fn record_output(fd: libc::c_int, bytes: &[u8]) {
    // The caller looks at `errno`.
    let errno = raw::errno();
    if let Some(kernel) = super::here().or_else(super::enter_owned) {
        let host = kernel.threads.running_host();
        let is_error = fd == libc::STDERR_FILENO;
        kernel.recorder.output(kernel.now, host, is_error, bytes);
    }
    raw::set_errno(errno);
}

/// Notes what a thread of a host reads from outside of the simulation.
pub(crate) fn note_input(fd: libc::c_int, bytes: &[u8]) {
    if page().has(page::DIGEST_OUTPUT) && super::is_here() && !is_memory_map(fd) {
        note_bytes(Kind::Input, fd, bytes);
    }
}

/// Returns whether the file is the list of what is mapped into memory: backtraces read it, and it names the page that is shared,
/// which is another one in each process.
fn is_memory_map(fd: libc::c_int) -> bool {
    let path = format!("/proc/self/fd/{fd}\0");
    let mut target = [0u8; 64];
    let (at, room, size) = (
        path.as_ptr() as c_long,
        target.as_mut_ptr() as c_long,
        target.len() as c_long,
    );
    let arguments = [libc::AT_FDCWD.into(), at, room, size, 0, 0];
    // SAFETY: a C string, and room of that size.
    let length = unsafe { raw::syscall(libc::SYS_readlinkat, arguments) };
    let length = usize::try_from(length).unwrap_or(0);
    target[..length].starts_with(b"/proc/") && target[..length].ends_with(b"/maps")
}

fn note_bytes(kind: Kind, fd: libc::c_int, bytes: &[u8]) {
    let page = page();
    if !page.has(page::DIGEST_OUTPUT) {
        return;
    }
    // The caller looks at `errno`.
    let errno = raw::errno();
    let detail = page::digest(bytes) ^ fd as u64;
    // From here on symbols mean the real system, also for the log.
    let kernel = super::here();
    let time = kernel
        .as_ref()
        .map_or(Time(page.time()), |kernel| kernel.now);
    if page.note(time.0, kind as u64, detail) {
        let host = kernel
            .as_ref()
            .and_then(|kernel| kernel.threads.running_host());
        let host = kernel
            .as_ref()
            .zip(host)
            .map_or("-", |(kernel, host)| &kernel.hosts[host.0].name);
        let verb = if kind == Kind::Output {
            "writes to"
        } else {
            "reads from outside, by"
        };
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
        log(
            page,
            time,
            host,
            format_args!("{verb} descriptor {fd}: {text:?}"),
        );
    }
    drop(kernel);
    raw::set_errno(errno);
}

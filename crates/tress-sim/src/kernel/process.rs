//! Processes: the program of a host, and the children that it starts.
//!
//! A process is what has a number, a parent, signals and descriptors. Its threads are those of the host: they share the host's
//! network, disk and clock, and, since all of a simulation is one process of the real system, the memory.

use super::signal::{self, Actions};
use super::{Errno, Here, HostId, Kernel, ObjectId, ThreadId};
use crate::disk::InodeId;
use crate::symbols::UNKNOWN_STATUS;
use libc::{c_int, pid_t};
use std::collections::{BTreeMap, BTreeSet};

/// A process of a simulation, by the order in which they were started. A number is not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ProcessId(usize);

/// How a process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Exited(c_int),
    Signalled(c_int),
}

impl Status {
    /// As `wait(2)` reports it.
    pub(crate) fn word(self) -> c_int {
        match self {
            Status::Exited(_) => self.number() << 8,
            Status::Signalled(signal) => signal,
        }
    }

    /// What a parent is told: the status, or the signal. A status that is not known is the highest one.
    pub(crate) fn number(self) -> c_int {
        match self {
            Status::Exited(UNKNOWN_STATUS) => 0xff,
            Status::Exited(status) => status & 0xff,
            Status::Signalled(signal) => signal,
        }
    }
}

/// What happens to the streams of a child before it starts, as `posix_spawn` is told.
#[derive(Debug, Clone)]
pub(crate) enum Preparation {
    /// The second descriptor becomes that of the first.
    Duplicate(c_int, c_int),
    Close(c_int),
    Open {
        fd: c_int,
        path: Vec<u8>,
        flags: c_int,
        mode: u32,
    },
    /// The child works in this directory.
    WorkIn(Vec<u8>),
}

/// What a standard stream of a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// That of the real process.
    Real,
    /// A simulated descriptor.
    Simulated(c_int),
    Closed,
}

#[derive(Debug)]
pub(super) struct Process {
    pub(super) host: HostId,
    /// As programs see it.
    number: pid_t,
    /// Whoever may wait for its end. None: nobody.
    parent: Option<ProcessId>,
    /// None: it runs.
    status: Option<Status>,
    pub(super) actions: Actions,
    /// The signals that wait for a thread that takes them, each by its bit.
    pub(super) pending: u64,
    pub(super) streams: [Stream; 3],
    /// Where it works, if it is not where its host's program does.
    pub(super) working: Option<InodeId>,
    /// Threads that wait for the end of a child of it.
    waiting: Vec<ThreadId>,
    /// Descriptors of it.
    watchers: Vec<ObjectId>,
    /// What its code has in place of statics, by their addresses.
    statics: Vec<(usize, *const ())>,
    /// What was noted for children to come, by the address of the caller's value.
    pub(super) preparations: BTreeMap<usize, Vec<Preparation>>,
}

/// All processes that there are, with those that have ended and were not waited for.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    all: Vec<Option<Box<Process>>>,
    /// Those that are there.
    present: BTreeSet<ProcessId>,
}

/// The number of a simulation's first child.
const FIRST_CHILD: pid_t = 20_000;

impl Processes {
    pub(super) fn get(&self, id: ProcessId) -> Option<&Process> {
        self.all[id.0].as_deref()
    }

    pub(super) fn of(&mut self, id: ProcessId) -> &mut Process {
        self.all[id.0]
            .as_deref_mut()
            .expect("a process whose threads run exists")
    }

    /// Returns whether its threads may run.
    #[inline]
    pub(super) fn runs(&self, id: ProcessId) -> bool {
        self.get(id).is_some_and(|process| process.status.is_none())
    }

    /// Returns whether a signal waits for one of its threads.
    #[inline]
    pub(super) fn pending(&self, id: ProcessId) -> u64 {
        self.get(id).map_or(0, |process| process.pending)
    }

    fn add(&mut self, process: Process) -> ProcessId {
        let id = ProcessId(self.all.len());
        self.all.push(Some(Box::new(process)));
        self.present.insert(id);
        id
    }

    fn remove(&mut self, id: ProcessId) {
        self.all[id.0] = None;
        self.present.remove(&id);
    }

    fn ids(&self) -> impl Iterator<Item = (ProcessId, &Process)> {
        let present = self.present.iter();
        present.filter_map(|id| Some((*id, self.get(*id)?)))
    }

    /// Returns the processes of a host that run.
    pub(super) fn of_host(&self, host: HostId) -> Vec<ProcessId> {
        let runs =
            |(_, process): &(ProcessId, &Process)| process.host == host && process.status.is_none();
        self.ids().filter(runs).map(|(id, _)| id).collect()
    }

    /// Returns the process of a host with that number.
    pub(crate) fn find(&self, host: HostId, number: pid_t) -> Option<ProcessId> {
        let is_it =
            |(_, process): &(ProcessId, &Process)| process.host == host && process.number == number;
        self.ids().find(is_it).map(|(id, _)| id)
    }

    /// Returns the number of a process, as programs see it.
    pub(crate) fn number(&self, id: ProcessId) -> pid_t {
        self.get(id).map_or(0, |process| process.number)
    }

    /// Returns the number of the process that waits for the end of this one. It is 1 if there is none.
    pub(crate) fn parent_number(&self, id: ProcessId) -> pid_t {
        let parent = self.get(id).and_then(|process| process.parent);
        parent.map_or(1, |parent| self.number(parent))
    }
}

impl Kernel {
    /// Makes the process of a host's program, which has no threads yet.
    pub(super) fn add_program(&mut self, host: HostId) -> ProcessId {
        let starts = self.hosts[host.0].starts as pid_t;
        let number = 1000 + 100 * host.0 as pid_t + starts;
        self.processes.add(Process {
            host,
            number,
            parent: None,
            status: None,
            actions: Actions::default(),
            pending: 0,
            streams: [Stream::Real; 3],
            working: None,
            waiting: Vec::new(),
            watchers: Vec::new(),
            statics: Vec::new(),
            preparations: BTreeMap::new(),
        })
    }

    /// Makes a child of a process, which has no threads yet.
    pub(super) fn add_child(&mut self, parent: ProcessId) -> ProcessId {
        let number = FIRST_CHILD + self.processes.all.len() as pid_t;
        let of_parent = self.processes.of(parent);
        let child = Process {
            host: of_parent.host,
            number,
            parent: Some(parent),
            status: None,
            actions: of_parent.actions.for_child(),
            pending: 0,
            streams: [Stream::Real; 3],
            working: of_parent.working,
            waiting: Vec::new(),
            watchers: Vec::new(),
            statics: Vec::new(),
            preparations: BTreeMap::new(),
        };
        self.processes.add(child)
    }

    /// Forgets a child that was not started.
    pub(super) fn drop_child(&mut self, id: ProcessId) {
        self.close_all_of(id);
        self.processes.remove(id);
    }

    /// The process of the thread that runs.
    pub(crate) fn running_process(&self) -> ProcessId {
        let (thread, host) = self.running();
        let program = || self.hosts[host.0].program;
        self.threads
            .process_of(thread)
            .or_else(program)
            .expect("a host that runs has a program")
    }

    /// Ends a process. Its threads do not go on, its descriptors are closed, and its parent is told.
    pub(super) fn end_process(&mut self, id: ProcessId, status: Status) {
        let process = self.processes.of(id);
        if process.status.is_some() {
            return;
        }
        process.status = Some(status);
        process.pending = 0;
        let parent = process.parent;
        let watchers = std::mem::take(&mut process.watchers);
        self.close_all_of(id);
        self.disown_children(id);
        for watcher in watchers {
            self.changed(watcher);
        }
        match parent {
            Some(parent) if self.processes.runs(parent) => self.tell_parent(parent, id),
            _ => self.processes.remove(id),
        }
    }

    fn tell_parent(&mut self, parent: ProcessId, child: ProcessId) {
        let process = self.processes.of(parent);
        let mut waiting = std::mem::take(&mut process.waiting);
        if process.actions.forgets_children() {
            self.processes.remove(child);
        }
        self.wake_all(&mut waiting);
        // It is ignored unless the parent handles it, so the parent lives.
        let _ = self.send_signal(parent, libc::SIGCHLD);
    }

    /// Sees to it that nobody waits for the children of a process that has ended.
    pub(crate) fn disown_children(&mut self, parent: ProcessId) {
        let is_child = |(_, process): &(ProcessId, &Process)| process.parent == Some(parent);
        let children: Vec<_> = self
            .processes
            .ids()
            .filter(is_child)
            .map(|(id, _)| id)
            .collect();
        for id in children {
            let child = self.processes.of(id);
            child.parent = None;
            if child.status.is_some() {
                self.processes.remove(id);
            }
        }
    }

    /// Ends the children that a host has, as the loss of its power does.
    pub(super) fn end_children(&mut self, host: HostId) {
        for id in self.processes.of_host(host) {
            if Some(id) != self.hosts[host.0].program {
                // Nobody is left to wait for it.
                self.processes.of(id).parent = None;
                self.end_process(id, Status::Signalled(libc::SIGKILL));
            }
        }
    }

    /// Forgets the program of a host, and all that could still run there.
    pub(super) fn end_all_processes(&mut self, host: HostId) {
        let is_of_host = |(_, process): &(ProcessId, &Process)| process.host == host;
        let gone: Vec<_> = self
            .processes
            .ids()
            .filter(is_of_host)
            .map(|(id, _)| id)
            .collect();
        for id in gone {
            self.processes.remove(id);
        }
        // Descriptors that are closed later are not those of the next program.
        self.hosts[host.0].open_descriptors = 0;
        self.hosts[host.0].program = None;
    }

    /// Returns what the program of the running thread has in place of a static, and makes it if there is nothing yet.
    pub(crate) fn static_of_program(
        &mut self,
        key: usize,
        new: &dyn Fn() -> *const (),
    ) -> *const () {
        let id = self.running_process();
        let statics = &mut self.processes.of(id).statics;
        if let Some((_, found)) = statics.iter().find(|(other, _)| *other == key) {
            return *found;
        }
        let made = new();
        statics.push((key, made));
        made
    }

    /// Notes that a descriptor of a process is open, or is not any more.
    pub(crate) fn watch_process(&mut self, id: ProcessId, watcher: ObjectId) {
        if self.processes.runs(id) {
            self.processes.of(id).watchers.push(watcher);
        }
    }

    pub(super) fn unwatch_process(&mut self, id: ProcessId, watcher: ObjectId) {
        if let Some(process) = &mut self.processes.all[id.0] {
            process.watchers.retain(|other| *other != watcher);
        }
    }
}

/// Which children are waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which {
    Any,
    One(ProcessId),
}

impl Here {
    /// Waits until a child has ended, and forgets it unless it is only looked at. Returns its number and its status, or None if
    /// none has ended and the caller does not wait.
    ///
    /// # Errors
    /// There is no such child, or a signal was handled.
    pub(crate) fn wait_for_child(
        &mut self,
        which: Which,
        at_once: bool,
        only_looks: bool,
    ) -> Result<Option<(pid_t, Status)>, Errno> {
        let (thread, _) = self.running();
        let me = self.running_process();
        let found = self.wait_or_signal(None, true, |kernel| {
            let mut is_there = false;
            let mut ended = None;
            for (id, process) in kernel.processes.ids() {
                let is_meant = match which {
                    Which::Any => true,
                    Which::One(one) => one == id,
                };
                if process.parent == Some(me) && is_meant {
                    is_there = true;
                    ended = process.status.map(|status| (id, process.number, status));
                }
                if ended.is_some() {
                    break;
                }
            }
            match ended {
                Some((id, number, status)) => {
                    if !only_looks {
                        kernel.processes.remove(id);
                    }
                    Some(Ok(Some((number, status))))
                }
                None if !is_there => Some(Err(libc::ECHILD)),
                None if at_once => Some(Ok(None)),
                None => {
                    kernel.processes.of(me).waiting.push(thread);
                    None
                }
            }
        })?;
        found.expect("waits without limit")
    }

    /// Ends the process of the running thread. If it is the program of its host, that is as the end of a process: its
    /// connections are closed, and none of the host's threads goes on.
    pub(crate) fn exit(&mut self, status: Status) -> ! {
        let (_, host) = self.running();
        let process = self.running_process();
        if self.hosts[host.0].program == Some(process) {
            self.end_program(host, status);
        } else {
            self.end_process(process, status);
        }
        self.stop_for_good();
    }

    /// Never goes on: the process of the running thread has ended.
    pub(super) fn stop_for_good(&mut self) -> ! {
        loop {
            self.wait(None);
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Status::Exited(status) => write!(f, "the program has ended with status {status}"),
            Status::Signalled(signal) => {
                write!(f, "the program was ended by {}", signal::name(*signal))
            }
        }
    }
}

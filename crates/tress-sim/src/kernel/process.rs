//! Processes: the programs of hosts.
//!
//! A process is what has a number, a parent, signals and descriptors. Its threads are those of the host: they share the host's
//! network, disk and clock, and, since all of a simulation is one process of the real system, the memory.

use super::signal::{self, Actions};
use super::{Here, HostId, Kernel};
use libc::{c_int, pid_t};

/// A process of a simulation, by the order in which they were started. A number is not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ProcessId(usize);

/// How a process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Exited(c_int),
    Signalled(c_int),
}

#[derive(Debug)]
pub(super) struct Process {
    pub(super) host: HostId,
    /// As programs see it.
    number: pid_t,
    pub(super) actions: Actions,
    /// The signals that wait for a thread that takes them, each by its bit.
    pub(super) pending: u64,
    /// What its code has in place of statics, by their addresses.
    statics: Vec<(usize, *const ())>,
}

/// All processes that there are.
#[derive(Debug, Default)]
pub(crate) struct Processes(Vec<Option<Box<Process>>>);

impl Processes {
    pub(super) fn get(&self, id: ProcessId) -> Option<&Process> {
        self.0[id.0].as_deref()
    }

    pub(super) fn of(&mut self, id: ProcessId) -> &mut Process {
        self.0[id.0]
            .as_deref_mut()
            .expect("a process whose threads run exists")
    }

    /// Returns whether its threads may run.
    #[inline]
    pub(super) fn runs(&self, id: ProcessId) -> bool {
        self.get(id).is_some()
    }

    /// Returns whether a signal waits for one of its threads.
    #[inline]
    pub(super) fn pending(&self, id: ProcessId) -> u64 {
        self.get(id).map_or(0, |process| process.pending)
    }

    fn add(&mut self, process: Process) -> ProcessId {
        self.0.push(Some(Box::new(process)));
        ProcessId(self.0.len() - 1)
    }

    fn ids(&self) -> impl Iterator<Item = (ProcessId, &Process)> {
        let all = self.0.iter().enumerate();
        all.filter_map(|(at, process)| Some((ProcessId(at), process.as_deref()?)))
    }

    /// Returns the processes of a host that run.
    pub(super) fn of_host(&self, host: HostId) -> Vec<ProcessId> {
        let is_of = |(_, process): &(ProcessId, &Process)| process.host == host;
        self.ids().filter(is_of).map(|(id, _)| id).collect()
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
}

impl Kernel {
    /// Makes the process of a host's program, which has no threads yet.
    pub(super) fn add_program(&mut self, host: HostId) -> ProcessId {
        let starts = self.hosts[host.0].starts as pid_t;
        let number = 1000 + 100 * host.0 as pid_t + starts;
        self.processes.add(Process {
            host,
            number,
            actions: Actions::default(),
            pending: 0,
            statics: Vec::new(),
        })
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

    /// Forgets the program of a host, and all that could still run there.
    pub(super) fn end_all_processes(&mut self, host: HostId) {
        for place in &mut self.processes.0 {
            if place.as_ref().is_some_and(|process| process.host == host) {
                *place = None;
            }
        }
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
}

impl Here {
    /// Ends the program of the running thread's host, as the end of a process does: its connections are closed, and none
    /// of its threads goes on.
    pub(crate) fn exit(&mut self, status: Status) -> ! {
        let (_, host) = self.running();
        self.end_program(host, status);
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

//! The simulated kernel: what threads of hosts run on, wait for and talk through.
//!
//! One thread of the system runs everything. It goes from event to event in the order of virtual time; a thread of a
//! host runs from the event that lets it run until it waits for something, without interruption. While it runs, its
//! own time goes ahead of the simulation's by what it does; a message that it sends leaves at that time.
//!
//! Threads enter the kernel by the symbols of the C library (`symbols`). None holds a reference into the kernel while
//! another one runs.

mod choose;
mod descriptor;
mod epoll;
mod event;
mod event_fd;
mod file;
pub(crate) mod futex;
mod host;
mod poll;
pub(crate) mod process;
pub(crate) mod signal;
mod socket;
pub(crate) mod spawn;
mod steps;
mod thread;
mod timer_fd;

pub(crate) use choose::Policy;
pub(crate) use descriptor::{Descriptors, Object, ObjectId, ready};
pub(crate) use epoll::Epoll;
pub(crate) use event::Event;
pub(crate) use event_fd::EventFd;
pub(crate) use file::{At, Name};
pub(crate) use host::{Host, HostId};
pub(crate) use steps::{note_input, note_output};
pub(crate) use thread::{
    Here, Stopped, ThreadId, act_for, beside, disown, enter, enter_owned, here, is_here, outside,
    own,
};
pub(crate) use timer_fd::TimerFd;

use crate::chaos::Buggify;
use crate::disk::Disk;
use crate::draw::Stream;
use crate::name::Names;
use crate::net::{self, Net};
use crate::time::Time;
use choose::Choose;
use event::Events;
use futex::Futexes;
use process::Processes;
use spawn::Programs;
use std::path::PathBuf;
use std::time::Duration;
use steps::Steps;
use thread::Threads;

/// An error number of the system.
pub(crate) type Errno = libc::c_int;

/// Virtual time that a system call takes.
pub(crate) const SYSCALL: Duration = Duration::from_nanos(200);
/// Virtual time that a look at a clock takes: a thread that waits for a time to come makes it come.
pub(crate) const LOOK: Duration = Duration::from_nanos(25);
/// How far a thread may go ahead of the next event before others have their turn.
const AHEAD: Duration = Duration::from_micros(100);

/// What the simulation is made of.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// The time of the thread that runs, or of the event that is handled.
    pub(crate) now: Time,
    pub(crate) events: Events,
    pub(crate) threads: Threads,
    pub(crate) processes: Processes,
    pub(crate) programs: Programs,
    pub(crate) hosts: Vec<Host>,
    pub(crate) descriptors: Descriptors,
    /// One for each host.
    pub(crate) disks: Vec<Disk>,
    /// Directories of the real system that hosts may read.
    pub(crate) real_paths: Vec<PathBuf>,
    pub(crate) net: Net,
    pub(crate) names: Names,
    futexes: Futexes,
    pub(crate) choose: Choose,
    pub(crate) buggify: Buggify,
    steps: Steps,
    /// The wall clock at the start.
    pub(crate) epoch: Duration,
    pub(crate) seed: u64,
    /// Code of the kernel runs: symbols mean the real system.
    busy: bool,
}

impl Kernel {
    pub(crate) fn new(
        seed: u64,
        policy: Policy,
        epoch: Duration,
        names: Names,
        network: net::Config,
    ) -> Kernel {
        Kernel {
            now: Time::START,
            events: Events::default(),
            threads: Threads::default(),
            processes: Processes::default(),
            programs: Programs::default(),
            hosts: Vec::new(),
            descriptors: Descriptors::default(),
            disks: Vec::new(),
            real_paths: Vec::new(),
            net: Net::new(Stream::new(seed, "network"), network),
            names,
            futexes: Futexes::default(),
            choose: Choose::new(seed, policy),
            buggify: Buggify::new(seed),
            steps: Steps::default(),
            epoch,
            seed,
            busy: false,
        }
    }

    /// Lets time pass for the thread that runs.
    pub(crate) fn charge(&mut self, cost: Duration) {
        if self.threads.is_main() {
            // What is done from outside takes no time.
            return;
        }
        let slowness = self
            .threads
            .running_host()
            .map_or(1, |host| self.hosts[host.0].slowness);
        self.now += cost * slowness;
    }

    /// Returns whether the thread that runs is so far ahead that others should have their turn.
    fn is_ahead(&self) -> bool {
        self.events
            .next_time()
            .is_some_and(|next| next + AHEAD < self.now)
    }

    /// The thread that runs, and its host.
    pub(crate) fn running(&self) -> (ThreadId, HostId) {
        let host = self
            .threads
            .running_host()
            .expect("a thread of a host runs");
        (self.threads.running, host)
    }

    /// Chooses the next of that many tasks of the running host that are ready, and lets the time of a poll pass.
    pub(crate) fn next_task(&mut self, ready: usize, id: &dyn Fn(usize) -> Option<u64>) -> usize {
        let cost = self.choose.poll();
        self.charge(cost);
        let chosen = self.choose.task(ready, id);
        self.note_task(ready, chosen);
        chosen
    }

    /// Handles what has happened to sockets: those that wait for them are told.
    pub(crate) fn settle(&mut self) {
        while let Some(object) = self.net.take_changed() {
            self.changed(object);
        }
        while let Some((time, event)) = self.net.take_scheduled() {
            self.events.add(time, Event::Net(event));
        }
    }
}

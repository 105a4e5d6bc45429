//! A simulated machine.

use super::process::{ProcessId, Status};
use super::{Kernel, ThreadId};
use crate::draw::Stream;
use crate::net::How;
use crate::time::Time;
use std::net::IpAddr;

/// A host, by the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HostId(pub(crate) usize);

/// What the kernel knows of a host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    /// Number of processors that programs are told of.
    pub(crate) processors: usize,
    /// How many times as long as on others everything takes.
    pub(crate) slowness: u32,
    /// It has been switched on, and has not crashed.
    pub(crate) is_up: bool,
    /// Its threads do not run.
    pub(crate) is_paused: bool,
    /// Threads that would have gone on while it was paused.
    pub(super) delayed: Vec<(ThreadId, u64)>,
    /// How its program has ended by itself.
    pub(crate) exited: Option<Status>,
    /// The process of its program, from its start to its end.
    pub(crate) program: Option<ProcessId>,
    /// How often it was started.
    pub(crate) starts: u64,
    /// Number of descriptors that it may have open.
    pub(crate) descriptor_limit: usize,
    pub(crate) open_descriptors: usize,
    /// The error of its wall clock, in nanoseconds.
    pub(crate) clock_offset: i128,
    /// By how many parts of a million its wall clock is too fast, since `drift_from`.
    pub(crate) clock_drift: i64,
    pub(crate) drift_from: Time,
    /// What its programs draw random numbers from.
    pub(crate) entropy: Stream,
    pub(crate) started_at: Time,
}

impl Host {
    pub(crate) fn new(name: String, address: IpAddr, seed: u64) -> Host {
        Host {
            entropy: Stream::new(seed, &format!("entropy of {name}")),
            name,
            address,
            processors: 1,
            slowness: 1,
            is_up: false,
            is_paused: false,
            delayed: Vec::new(),
            exited: None,
            program: None,
            starts: 0,
            descriptor_limit: 65_536,
            open_descriptors: 0,
            clock_offset: 0,
            clock_drift: 0,
            drift_from: Time::START,
            started_at: Time::START,
        }
    }

    /// Returns how far its wall clock is from the right time, in nanoseconds.
    pub(crate) fn clock_error(&self, now: Time) -> i128 {
        let drifted =
            i128::from(now.0 - self.drift_from.0) * i128::from(self.clock_drift) / 1_000_000;
        self.clock_offset + drifted
    }
}

impl Kernel {
    /// Returns the host with that address.
    pub(crate) fn host_at(&self, address: IpAddr) -> Option<HostId> {
        let mut hosts = self.hosts.iter();
        hosts.position(|host| host.address == address).map(HostId)
    }

    /// Starts a host: threads of it may run.
    pub(crate) fn switch_on(&mut self, id: HostId) {
        let host = &mut self.hosts[id.0];
        host.starts += 1;
        (host.is_up, host.is_paused, host.started_at) = (true, false, self.now);
        self.net.switch_on(id);
        self.end_all_processes(id);
        let program = self.add_program(id);
        self.hosts[id.0].program = Some(program);
    }

    /// Ends a host. What its threads still do has no effect on others.
    pub(crate) fn switch_off(&mut self, id: HostId, how: How) {
        let host = &mut self.hosts[id.0];
        if host.is_up {
            host.is_up = false;
            host.is_paused = false;
            let now = self.now;
            self.end_children(id);
            self.net.crash(now, id, how);
            match how {
                How::PowerLoss => self.disks[id.0].power_loss(now),
                How::Kill => self.disks[id.0].close_all(),
            }
            self.settle();
        }
    }

    /// Sees to it that no thread that a host has now runs again.
    pub(crate) fn abandon(&mut self, id: HostId) {
        let host = &mut self.hosts[id.0];
        host.starts += 1;
        host.delayed.clear();
        self.end_all_processes(id);
    }

    /// Says what each host has that could still do something.
    pub(crate) fn report(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        for (at, host) in self.hosts.iter().enumerate() {
            let threads = self.threads.of_host(HostId(at));
            let state = match (host.is_up, host.is_paused) {
                (false, _) => "off",
                (true, true) => "paused",
                (true, false) => "on",
            };
            let name = &host.name;
            let open = host.open_descriptors;
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "  {name} ({state}): {threads} threads wait, {open} descriptors open"
            );
        }
        text
    }
}

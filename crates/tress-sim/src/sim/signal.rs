//! Signals that a test sends to the programs of hosts.

use super::Sim;
use crate::kernel::HostId;
use crate::kernel::signal::Sent;
use crate::name::{ToIpAddr, ToIpAddrs};
use crate::net::How;
use std::ffi::c_int;

/// The number of the signal that asks a program to end.
const TERMINATE: c_int = libc::SIGTERM;

impl Sim<'_> {
    /// Sends a signal to the programs of hosts, by its number, as `kill(1)` does.
    ///
    /// A program that handles the signal, such as by `tokio::signal`, gets it when one of its threads runs next; calls that it
    /// waits in are interrupted as on Linux. Without a handler most signals end the program as [`kill`](Self::kill) does:
    /// peers are told that their connections are closed, and files stay as they are. That is no failure of the
    /// run; [`ended_by`](Self::ended_by) tells.
    ///
    /// A paused host gets it when it goes on. A program that has ended, or whose host is off, gets nothing. Signals that stop
    /// a program have no effect: [`pause`](Self::pause) does that.
    ///
    /// # Panics
    /// There is no such host, or no signal has that number.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use tokio::signal::unix::{SignalKind, signal};
    /// use tress_sim::Builder;
    ///
    /// let mut sim = Builder::new().build();
    /// sim.client("service", async {
    ///     let mut hangup = signal(SignalKind::hangup())?;
    ///     hangup.recv().await;
    ///     Ok(())
    /// });
    /// for _ in 0..10 {
    ///     assert!(!sim.step()?);
    /// }
    /// sim.signal("service", SignalKind::hangup().as_raw_value());
    /// sim.run()?;
    /// # Ok::<(), tress_sim::Error>(())
    /// ```
    pub fn signal(&mut self, hosts: impl ToIpAddrs, signal: i32) {
        assert!(
            (1..=crate::kernel::signal::LAST).contains(&signal),
            "there is no signal {signal}"
        );
        for address in hosts.addresses(&mut self.kernel_mut().names) {
            let at = self.find(address);
            self.send(at, signal);
        }
    }

    /// Asks the programs of hosts to end: sends SIGTERM, as [`signal`](Self::signal) does.
    ///
    /// # Panics
    /// There is no such host.
    ///
    /// # Examples
    /// ```
    /// use tress_sim::Builder;
    ///
    /// let mut sim = Builder::new().build();
    /// sim.host("service", || std::future::pending());
    /// sim.step()?;
    /// // It has no handler.
    /// sim.terminate("service");
    /// assert!(!sim.is_host_running("service"));
    /// assert_eq!(sim.ended_by("service"), Some(15));
    /// # Ok::<(), tress_sim::Error>(())
    /// ```
    pub fn terminate(&mut self, hosts: impl ToIpAddrs) {
        self.signal(hosts, TERMINATE);
    }

    /// Runs the programs of hosts again, as a manager of services does: the machine stays on, and files stay as they are. One
    /// that has not ended is [killed](Self::kill) first.
    ///
    /// # Panics
    /// There is no such host, or it is a client.
    pub fn restart(&mut self, hosts: impl ToIpAddrs) {
        for address in hosts.addresses(&mut self.kernel_mut().names) {
            let at = self.find(address);
            self.end(at, How::Kill);
            self.start_again(at);
        }
    }

    /// Returns the number of the signal that has ended the program of a host, if a signal of [`signal`](Self::signal) or
    /// [`terminate`](Self::terminate) has.
    ///
    /// # Panics
    /// There is no such host.
    pub fn ended_by(&mut self, host: impl ToIpAddr) -> Option<i32> {
        let address = host.address(&mut self.kernel_mut().names);
        let at = self.find(address);
        self.machines[at].program.signal()
    }

    /// Sends a signal to the program of a host, unless it has ended.
    pub(super) fn send(&mut self, at: usize, signal: c_int) {
        let machine = &self.machines[at];
        if machine.program.has_ended() {
            return;
        }
        let kernel = self.kernel_mut();
        let Some(process) = kernel.hosts[machine.id.0].program else {
            return;
        };
        if let Sent::Ends(_, signal) = kernel.send_signal(process, signal) {
            self.end_by_signal(at, signal);
        }
    }

    /// Lets the threads of a host go on.
    pub(super) fn resume_host(&mut self, host: HostId) {
        let Some(signal) = self.kernel_mut().resume(host) else {
            return;
        };
        let at = self.machines.iter().position(|machine| machine.id == host);
        self.end_by_signal(at.expect("each host is a machine"), signal);
    }

    fn end_by_signal(&mut self, at: usize, signal: c_int) {
        let program = self.machines[at].program.clone();
        self.end(at, How::Kill);
        program.was_signalled(signal);
    }
}

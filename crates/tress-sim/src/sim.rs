//! A simulation.

mod clocks;
mod hosts;
mod inject;
mod network;
mod record;
mod report;
mod signal;

pub(crate) use report::Places;

use crate::Result;
use crate::builder::Builder;
use crate::chaos::{self, Invariants};
use crate::faults::{Faults, Happened, Plan};
use crate::host::{Main, Outcome};
use crate::kernel::{self, HostId, Kernel, Stopped};
use crate::name::ToIpAddr;
use crate::net::How;
use crate::runner;
use crate::storage::Disk;
use crate::strict;
use crate::symbols;
use crate::time::Time;
use hosts::Machine;
use inject::Undo;
use std::fmt;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tress::net::UnixStream;

/// A simulation: hosts, the network between them, and time.
///
/// Made by [`Builder::build`](crate::Builder::build). Dropping it ends the programs of all hosts: their futures are
/// dropped.
///
/// # Examples
/// ```
/// use tokio::net::UdpSocket;
/// use tress_sim::Builder;
///
/// let mut sim = Builder::new().build();
/// sim.host("echo", || async {
///     let socket = UdpSocket::bind("0.0.0.0:7").await?;
///     let mut buffer = [0; 100];
///     loop {
///         let (length, from) = socket.recv_from(&mut buffer).await?;
///         socket.send_to(&buffer[..length], from).await?;
///     }
/// });
/// sim.client("client", async {
///     let socket = UdpSocket::bind("0.0.0.0:0").await?;
///     socket.send_to(b"hello", "echo:7").await?;
///     let mut buffer = [0; 100];
///     let (length, _) = socket.recv_from(&mut buffer).await?;
///     assert_eq!(&buffer[..length], b"hello");
///     Ok(())
/// });
/// sim.run()?;
/// # Ok::<(), tress_sim::Error>(())
/// ```
pub struct Sim<'a> {
    /// Owned. A pointer, since the threads of hosts have it, too.
    kernel: *mut Kernel,
    machines: Vec<Machine<'a>>,
    duration: Duration,
    tick: Duration,
    steps: u64,
    /// The faults that will happen by themselves.
    plan: Option<Plan>,
    /// The faults that are under way, and when they end.
    under_way: Vec<(Time, Undo)>,
    happened: Vec<Happened>,
    /// Loss, duplication and reordering on all links without a fault.
    usual_loss: (f64, f64, f64),
    pub(crate) invariants: Invariants<'a>,
    _programs: PhantomData<Box<dyn Fn() -> Main + 'a>>,
}

impl<'a> Sim<'a> {
    pub(crate) fn new(
        kernel: Kernel,
        duration: Duration,
        tick: Duration,
        faults: Option<Faults>,
    ) -> Sim<'a> {
        symbols::keep();
        chaos::install();
        strict::begin();
        warm_up();
        runner::record(&kernel.recorder, kernel.seed);
        tress_sys::sim::decide_by(|ready, id| match kernel::here() {
            Some(mut kernel) => kernel.next_task(ready, id),
            None => 0,
        });
        tress_sys::sim::tell_time_by(|| kernel::here().map(|kernel| kernel.now.0));
        tress_sys::sim::meet_by(|runtime| {
            if let Some(mut kernel) = kernel::here() {
                kernel.meet(runtime);
            }
        });
        tress_sys::sim::separate_by(|key, new| Some(kernel::here()?.static_of_program(key, new)));
        let plan = faults.map(|faults| Plan::new(faults, kernel.seed, kernel.made.clone()));
        let link = &kernel.net.config.link;
        let usual_loss = (link.loss, link.duplication, link.reordering);
        let kernel = Box::into_raw(Box::new(kernel));
        kernel::own(kernel);
        kernel::futex::begin();
        Sim {
            kernel,
            machines: Vec::new(),
            duration,
            tick,
            steps: 0,
            plan,
            under_way: Vec::new(),
            happened: Vec::new(),
            usual_loss,
            invariants: Invariants::default(),
            _programs: PhantomData,
        }
    }

    /// The kernel, while no thread of a host runs.
    pub(crate) fn kernel(&self) -> &Kernel {
        // SAFETY: it lives as long as this; threads of hosts, which change it, run only in `go` and `end`, which have
        // `self` for themselves.
        unsafe { &*self.kernel }
    }

    #[allow(
        clippy::mut_from_ref,
        reason = "the reference is used for one call, by the one thread that can have it"
    )]
    pub(crate) fn kernel_mut(&self) -> &mut Kernel {
        // SAFETY: as in `kernel`. A simulation does not leave its thread, and no method of it holds a reference over
        // a call of another one.
        unsafe { &mut *self.kernel }
    }

    /// Returns the seed that decides what happens.
    pub fn seed(&self) -> u64 {
        self.kernel().seed
    }

    /// Returns how many events have happened.
    pub fn events(&self) -> u64 {
        self.kernel().events.happened
    }

    /// Sets how much virtual time a run may take, from the start.
    pub fn set_duration(&mut self, duration: Duration) {
        self.duration = duration;
    }

    /// Returns the faults that have happened by themselves so far.
    pub fn fault_log(&self) -> &[Happened] {
        &self.happened
    }

    /// Ends all faults: those that happen by themselves, of which no more begin, and partitions, held links, loss, broken
    /// links. Hosts that such a fault has ended are started again; latencies and wall clocks stay as they are.
    pub fn heal(&mut self) {
        self.end_faults();
        let kernel = self.kernel_mut();
        let now = kernel.now;
        kernel.recorder.heal(now);
        let link = &mut kernel.net.config.link;
        (link.loss, link.duplication, link.reordering, link.fail_rate) = (0.0, 0.0, 0.0, 0.0);
        for from in 0..kernel.hosts.len() {
            for to in (0..kernel.hosts.len()).filter(|to| *to != from) {
                let (from, to) = (HostId(from), HostId(to));
                let overrides = kernel.net.overrides(from, to);
                (overrides.loss, overrides.duplication, overrides.reordering) = (None, None, None);
                overrides.fail_rate = None;
                kernel.net.repair_oneway(from, to);
                kernel.net.release(now, from, to);
            }
        }
        kernel.settle();
    }

    /// Returns the disk of a host.
    ///
    /// # Panics
    /// There is no such host.
    pub fn disk(&mut self, host: impl ToIpAddr) -> Disk<'_> {
        let kernel = self.kernel_mut();
        let host = kernel.host_named(&host);
        kernel.write_back_all(host);
        Disk::new(&mut kernel.disks[host.0])
    }

    /// Runs the simulation until all clients have ended.
    ///
    /// # Errors
    /// - A host's program has returned an error.
    /// - The [duration](crate::Builder::simulation_duration) is over.
    /// - Nothing can happen any more, and clients have not ended.
    ///
    /// # Panics
    /// With the panic of a host's program.
    pub fn run(&mut self) -> Result {
        if !self.machines.iter().any(|machine| machine.is_client) {
            return Ok(());
        }
        let end = Time::START + self.duration;
        loop {
            let stopped = self.go(end);
            self.check()?;
            if self.is_finished() {
                return Ok(());
            }
            match stopped {
                Stopped::Asked | Stopped::Event => {}
                Stopped::Time => {
                    let why = self.took_too_long();
                    return Err(self.failed(None, why));
                }
                Stopped::Stuck if self.kernel_mut().wait_for_others() => {}
                Stopped::Stuck => {
                    let why = self.is_stuck();
                    return Err(self.failed(None, why));
                }
            }
        }
    }

    /// Runs the simulation for the time of one [tick](crate::Builder::tick_duration). Returns whether all clients have
    /// ended.
    ///
    /// # Errors
    /// As for [`run`](Self::run), but that it is no error if nothing can happen.
    ///
    /// # Panics
    /// With the panic of a host's program.
    pub fn step(&mut self) -> Result<bool> {
        self.steps += 1;
        self.advance(self.kernel().now + self.tick)?;
        let is_finished = self.is_finished();
        if !is_finished && self.elapsed() > self.duration {
            let why = self.took_too_long();
            return Err(self.failed(None, why));
        }
        Ok(is_finished)
    }

    /// Runs the simulation until that time.
    pub(crate) fn advance(&mut self, until: Time) -> Result {
        loop {
            match self.go(until) {
                Stopped::Asked | Stopped::Event => self.check()?,
                Stopped::Stuck if self.kernel_mut().look_at_futexes() => {}
                Stopped::Time | Stopped::Stuck => break,
            }
        }
        self.kernel_mut().now = until;
        self.check()
    }

    pub(crate) fn tick(&self) -> Duration {
        self.tick
    }

    /// Runs until that time, or until the kernel has something to say. Faults happen when they are due.
    pub(crate) fn run_kernel(&mut self, until: Time) -> Stopped {
        loop {
            let fault = self.next_fault().filter(|at| *at <= until);
            // SAFETY: the kernel is in a box, and this has it for itself.
            let stopped = unsafe { Kernel::run(self.kernel, fault.unwrap_or(until)) };
            match (stopped, fault) {
                (Stopped::Time | Stopped::Stuck, Some(at)) => {
                    self.kernel_mut().now = at;
                    self.change_faults();
                }
                _ => return stopped,
            }
        }
    }

    fn is_finished(&self) -> bool {
        !self.machines.iter().any(Machine::is_awaited)
    }

    /// Hands on what programs have failed with.
    fn check(&mut self) -> Result {
        if let Some(error) = self.invariants.take_violated() {
            return Err(self.failed(None, error));
        }
        for machine in &self.machines {
            if let Some(status) = self.kernel_mut().hosts[machine.id.0].exited.take() {
                machine.program.has_exited(status);
            }
            match machine.program.take_failure() {
                Some(Outcome::Failed(error)) => return Err(self.failed(Some(machine.id), error)),
                Some(Outcome::Panicked(panic)) => {
                    self.panicked(machine.id, &*panic);
                    resume_unwind(panic)
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn waiting_clients(&self) -> String {
        let names = self.machines.iter().filter(|machine| machine.is_awaited());
        let names: Vec<_> = names
            .map(|machine| self.kernel().hosts[machine.id.0].name.as_str())
            .collect();
        names.join(", ")
    }

    fn took_too_long(&mut self) -> crate::Error {
        let (events, waiting) = (self.events(), self.waiting_clients());
        let report = self.report(Places::LeftOut);
        let Sim { duration, .. } = self;
        format!("Ran for duration: {duration:?} events: {events} without completing: {waiting}\n{report}")
            .into()
    }

    fn is_stuck(&mut self) -> crate::Error {
        let waiting = self.waiting_clients();
        let report = self.report(Places::Shown);
        format!("nothing can happen any more, and these have not ended: {waiting}\n{report}").into()
    }
}

// D-SIM-05
/// Runs a first simulation in each process, so that what allocators and runtimes do once is not part of the next ones.
fn warm_up() {
    static IS_COLD: AtomicBool = AtomicBool::new(true);
    // The first simulation is made in here.
    if IS_COLD.swap(false, Ordering::Relaxed) {
        let mut sim = Builder::new().rng_seed(0).build();
        sim.kernel().made.leave_out();
        sim.client("first", async {
            let (one, other) = UnixStream::pair()?;
            one.writable().await?;
            drop(other);
            tress::time::sleep(Duration::from_millis(1)).await;
            tress::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(1))).await?;
            Ok(())
        });
        // It has no part in what is tested.
        let _ = sim.run();
    }
}

impl Drop for Sim<'_> {
    fn drop(&mut self) {
        self.end_recording();
        for at in 0..self.machines.len() {
            self.end(at, How::PowerLoss);
        }
        kernel::disown(self.kernel);
        kernel::futex::end();
        // SAFETY: made by `new`; no thread of a host will run again.
        drop(unsafe { Box::from_raw(self.kernel) });
    }
}

impl fmt::Debug for Sim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim")
            .field("seed", &self.seed())
            .field("elapsed", &self.elapsed())
            .field("hosts", &self.kernel().hosts.len())
            .finish_non_exhaustive()
    }
}

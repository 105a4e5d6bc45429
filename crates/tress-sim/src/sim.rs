//! A simulation.

mod inject;
mod record;

use crate::Result;
use crate::builder::Builder;
use crate::chaos::{self, Invariants};
use crate::faults::{Faults, Happened, Plan};
use crate::host::{self, Ending, Main, Outcome, Program};
use crate::kernel::{self, Host, HostId, Kernel, Stopped};
use crate::link::{Links, Packet};
use crate::name::{ToIpAddr, ToIpAddrs};
use crate::net::{How, Latency};
use crate::runner;
use crate::storage::Disk;
use crate::strict;
use crate::symbols;
use crate::time::Time;
use inject::Undo;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::panic::resume_unwind;
use std::rc::Rc;
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

/// A host, as the simulation sees it.
struct Machine<'a> {
    id: HostId,
    is_client: bool,
    /// It is a function that makes what it needs itself: there is no future that could be dropped.
    is_plain: bool,
    /// None for a client, which is started once.
    main: Option<Rc<dyn Fn() -> Main + 'a>>,
    program: Rc<Program>,
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
        let plan = faults.map(|faults| Plan::new(faults, kernel.seed));
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

    /// Returns the virtual time since the start.
    pub fn elapsed(&self) -> Duration {
        self.kernel().now.elapsed()
    }

    /// Returns the virtual time since 1970, by a right clock.
    pub fn since_epoch(&self) -> Duration {
        self.kernel().epoch + self.elapsed()
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

    /// Adds a host that runs a program once. [`run`](Self::run) returns when all clients have ended.
    ///
    /// # Panics
    /// There is a host of that name already, or the system has no room for another thread.
    pub fn client<F>(&mut self, name: impl ToIpAddr, client: F)
    where
        F: Future<Output = Result> + 'a,
    {
        let main = move || Main::Future(erase(Box::pin(client)));
        self.add_client(name, false, Box::new(main));
    }

    /// Adds a host that runs a plain function once, such as the `main` of a program with `#[tokio::main]`.
    ///
    /// It runs on a thread of the host, and makes its own runtimes. Unlike that of [`client`](Self::client), it cannot be
    /// dropped: on a host that crashes, or when the simulation ends first, it stops for good where it is.
    ///
    /// # Panics
    /// There is a host of that name already, or the system has no room for another thread.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use tress_sim::Builder;
    ///
    /// #[tokio::main]
    /// async fn main_of_the_service() -> std::io::Result<()> {
    ///     tokio::time::sleep(Duration::from_secs(5)).await;
    ///     Ok(())
    /// }
    ///
    /// let mut sim = Builder::new().build();
    /// sim.client_main("service", main_of_the_service);
    /// sim.run()?;
    /// assert_eq!(sim.elapsed().as_secs(), 5);
    /// # Ok::<(), tress_sim::Error>(())
    /// ```
    pub fn client_main<F, R>(&mut self, name: impl ToIpAddr, main: F)
    where
        F: FnOnce() -> R + 'a,
        R: Ending,
    {
        let main = move || Main::Plain(erase_plain(Box::new(move || main().into_result())));
        self.add_client(name, true, Box::new(main));
    }

    fn add_client(
        &mut self,
        name: impl ToIpAddr,
        is_plain: bool,
        main: Box<dyn FnOnce() -> Main + 'a>,
    ) {
        let id = self.add(name);
        let program = Rc::new(Program::default());
        self.machines.push(Machine {
            id,
            is_client: true,
            is_plain,
            main: None,
            program: program.clone(),
        });
        self.start(id, program, main);
    }

    /// Adds a host that runs a program, and runs it again after a [crash](Self::crash) when it is
    /// [bounced](Self::bounce).
    ///
    /// # Panics
    /// There is a host of that name already, or the system has no room for another thread.
    pub fn host<F, Fut>(&mut self, name: impl ToIpAddr, host: F)
    where
        F: Fn() -> Fut + 'a,
        Fut: Future<Output = Result> + 'a,
    {
        let main = move || Main::Future(erase(Box::pin(host())));
        self.add_host(name, false, Rc::new(main));
    }

    /// Adds a host that runs a plain function, such as the `main` of a program with `#[tokio::main]`, and runs it again
    /// when it is [bounced](Self::bounce). See [`client_main`](Self::client_main).
    ///
    /// # Panics
    /// There is a host of that name already, or the system has no room for another thread.
    pub fn host_main<F, R>(&mut self, name: impl ToIpAddr, main: F)
    where
        F: Fn() -> R + 'a,
        R: Ending,
    {
        let function = Rc::new(main);
        let main = move || {
            let function = function.clone();
            Main::Plain(erase_plain(Box::new(move || function().into_result())))
        };
        self.add_host(name, true, Rc::new(main));
    }

    fn add_host(&mut self, name: impl ToIpAddr, is_plain: bool, main: Rc<dyn Fn() -> Main + 'a>) {
        let id = self.add(name);
        let program = Rc::new(Program::default());
        self.machines.push(Machine {
            id,
            is_client: false,
            is_plain,
            main: Some(main.clone()),
            program: program.clone(),
        });
        self.start(id, program, Box::new(move || main()));
    }

    fn add(&mut self, name: impl ToIpAddr) -> HostId {
        let kernel = self.kernel_mut();
        let address = name.address(&mut kernel.names);
        let name = kernel.names.name(address).unwrap_or_default().to_string();
        assert!(
            kernel.host_at(address).is_none(),
            "there is a host {name} already"
        );
        let id = HostId(kernel.hosts.len());
        let host = Host::new(name.clone(), address, kernel.seed);
        kernel.hosts.push(host);
        kernel.recorder.host(&name);
        kernel.net.add_host(id, address, &name);
        kernel.add_disk(&name);
        id
    }

    fn start(&mut self, id: HostId, program: Rc<Program>, main: Box<dyn FnOnce() -> Main + 'a>) {
        let kernel = self.kernel_mut();
        kernel.switch_on(id);
        let name = kernel.hosts[id.0].name.clone();
        // SAFETY: this is the simulation's own thread, and no thread of a host runs. What the program borrows outlives
        // the simulation, which ends the program before it ends itself.
        let started =
            unsafe { kernel::act_for(self.kernel, id, || host::start(&name, program, main)) };
        if let Err(error) = started {
            panic!("cannot start a thread for the host {name}: {error}");
        }
    }

    fn find(&self, address: IpAddr) -> usize {
        let id = self.kernel().host_at(address);
        let at = self
            .machines
            .iter()
            .position(|machine| Some(machine.id) == id);
        at.unwrap_or_else(|| panic!("there is no host at {address}"))
    }

    /// Ends the program of a host at once: its future and its tasks are dropped, and what they still do has no effect.
    fn end(&mut self, at: usize, how: How) {
        let Machine {
            id,
            program,
            is_plain,
            ..
        } = &self.machines[at];
        let (id, program, is_plain) = (*id, program.clone(), *is_plain);
        self.kernel_mut().switch_off(id, how);
        let has_ended = program.has_ended();
        if !has_ended && !is_plain {
            // SAFETY: this is the simulation's own thread, and no thread of a host runs.
            unsafe {
                kernel::act_for(self.kernel, id, || program.stop());
                Kernel::run_only(self.kernel, id);
            }
        }
        // What has not ended by then stops where it is.
        self.kernel_mut().abandon(id);
        if !has_ended {
            program.was_stopped();
        }
    }

    /// Switches hosts off, as a loss of power does: programs end at once, and peers are not told.
    ///
    /// # Panics
    /// There is no such host.
    pub fn crash(&mut self, hosts: impl ToIpAddrs) {
        for address in hosts.addresses(&mut self.kernel_mut().names) {
            let at = self.find(address);
            self.end(at, How::PowerLoss);
        }
    }

    /// Switches hosts off and on again: their programs start anew.
    ///
    /// # Panics
    /// There is no such host, or it is a client.
    pub fn bounce(&mut self, hosts: impl ToIpAddrs) {
        for address in hosts.addresses(&mut self.kernel_mut().names) {
            let at = self.find(address);
            self.end(at, How::PowerLoss);
            self.start_again(at);
        }
    }

    fn start_again(&mut self, at: usize) {
        let machine = &mut self.machines[at];
        let Some(main) = machine.main.clone() else {
            panic!("a client cannot be started again");
        };
        if !machine.program.has_ended() {
            // It was started meanwhile.
            return;
        }
        let (id, program) = (machine.id, Rc::new(Program::default()));
        machine.program = program.clone();
        self.start(id, program, Box::new(move || main()));
    }

    /// Returns whether the program of a host has not ended, nor crashed.
    ///
    /// # Panics
    /// There is no such host.
    pub fn is_host_running(&mut self, host: impl ToIpAddr) -> bool {
        let address = host.address(&mut self.kernel_mut().names);
        let at = self.find(address);
        !self.machines[at].program.has_ended()
    }

    /// Stops the threads of hosts, as if their machines had no processor. Time and the network go on.
    ///
    /// # Panics
    /// There is no such host.
    pub fn pause(&mut self, hosts: impl ToIpAddrs) {
        for address in hosts.addresses(&mut self.kernel_mut().names) {
            let at = self.find(address);
            self.kernel_mut().pause(self.machines[at].id);
        }
    }

    /// Lets the threads of paused hosts go on.
    ///
    /// # Panics
    /// There is no such host.
    pub fn resume(&mut self, hosts: impl ToIpAddrs) {
        for address in hosts.addresses(&mut self.kernel_mut().names) {
            let at = self.find(address);
            self.kernel_mut().resume(self.machines[at].id);
        }
    }

    /// Returns the address of a host, which has one before it is added.
    pub fn lookup(&self, host: impl ToIpAddr) -> IpAddr {
        host.address(&mut self.kernel_mut().names)
    }

    /// Returns the addresses of hosts.
    pub fn lookup_many(&self, hosts: impl ToIpAddrs) -> Vec<IpAddr> {
        hosts.addresses(&mut self.kernel_mut().names)
    }

    /// Returns the names of two hosts by their addresses, such as those of [`Links::pairs`].
    ///
    /// # Panics
    /// There is no name for one of them.
    ///
    /// # Examples
    /// ```
    /// use tress_sim::Builder;
    ///
    /// let sim = Builder::new().build();
    /// let pair = (sim.lookup("a"), sim.lookup("b"));
    /// assert_eq!(sim.reverse_lookup_pair(pair), ("a".to_string(), "b".to_string()));
    /// ```
    pub fn reverse_lookup_pair(&self, (a, b): (IpAddr, IpAddr)) -> (String, String) {
        let name = |address| {
            let name = self.reverse_lookup(address);
            name.unwrap_or_else(|| panic!("there is no host with the address {address}"))
        };
        (name(a), name(b))
    }

    /// Returns the name of the host with that address.
    pub fn reverse_lookup(&self, address: IpAddr) -> Option<String> {
        self.kernel().names.name(address).map(str::to_string)
    }

    /// Loses everything that two hosts, or all of two sets of hosts, send to each other from now on, and what is on its
    /// way.
    ///
    /// # Panics
    /// There is no such host.
    pub fn partition(&self, a: impl ToIpAddrs, b: impl ToIpAddrs) {
        self.kernel_mut()
            .between_both("partition", a, b, |net, now, from, to| {
                net.cut(now, from, to)
            });
    }

    /// Loses everything that one host sends to the other from now on, and what is on its way, but not what comes back.
    ///
    /// # Panics
    /// There is no such host.
    pub fn partition_oneway(&self, from: impl ToIpAddrs, to: impl ToIpAddrs) {
        self.kernel_mut()
            .between("partition", from, to, |net, now, from, to| {
                net.cut(now, from, to)
            });
    }

    /// Ends a partition of hosts.
    ///
    /// # Panics
    /// There is no such host.
    pub fn repair(&self, a: impl ToIpAddrs, b: impl ToIpAddrs) {
        self.kernel_mut()
            .between_both("repair", a, b, |net, _, from, to| {
                net.repair_oneway(from, to)
            });
    }

    /// Ends a partition in one direction.
    ///
    /// # Panics
    /// There is no such host.
    pub fn repair_oneway(&self, from: impl ToIpAddrs, to: impl ToIpAddrs) {
        self.kernel_mut()
            .between("repair", from, to, |net, _, from, to| {
                net.repair_oneway(from, to)
            });
    }

    /// Keeps everything that hosts send to each other from now on, and what is on its way, until it is [released](Self::release).
    ///
    /// # Panics
    /// There is no such host.
    pub fn hold(&self, a: impl ToIpAddrs, b: impl ToIpAddrs) {
        self.kernel_mut()
            .between_both("hold", a, b, |net, _, from, to| net.hold(from, to));
    }

    /// Delivers what was kept between hosts, and keeps nothing any more.
    ///
    /// # Panics
    /// There is no such host.
    pub fn release(&self, a: impl ToIpAddrs, b: impl ToIpAddrs) {
        self.kernel_mut()
            .between_both("release", a, b, |net, now, from, to| {
                net.release(now, from, to)
            });
    }

    /// Sets how long every packet between hosts takes.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_link_latency(&self, a: impl ToIpAddrs, b: impl ToIpAddrs, latency: Duration) {
        let latency = Some(Latency::Constant(latency));
        self.kernel_mut()
            .between_both("latency", a, b, |net, _, from, to| {
                net.overrides(from, to).latency = latency;
            });
    }

    /// Sets the longest time that a packet between hosts takes. The shortest is that of
    /// [all links](crate::Builder::min_message_latency), or this if it is shorter.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_link_max_message_latency(
        &self,
        a: impl ToIpAddrs,
        b: impl ToIpAddrs,
        latency: Duration,
    ) {
        let kernel = self.kernel_mut();
        let latency = Some(kernel.net.config.link.latency.up_to(latency));
        kernel.between_both("latency", a, b, |net, _, from, to| {
            net.overrides(from, to).latency = latency;
        });
    }

    /// Sets the longest time that a packet takes, on links without a setting of their own. The
    /// [shortest](crate::Builder::min_message_latency) stays, or is this if it is shorter.
    pub fn set_max_message_latency(&self, latency: Duration) {
        let link = &mut self.kernel_mut().net.config.link;
        link.latency = link.latency.up_to(latency);
    }

    /// Sets how latencies are spread between the shortest and the longest one, on links without a setting of their own.
    ///
    /// They are the shortest one and an exponential distribution, whose mean is the range divided by `rate`: 5, unless
    /// this is called. The higher it is the fewer packets are late.
    ///
    /// # Panics
    /// The rate is not positive and finite.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use tress_sim::Builder;
    ///
    /// let sim = Builder::new().max_message_latency(Duration::from_secs(1)).build();
    /// // A packet takes 10 ms on average, and a second at most.
    /// sim.set_message_latency_curve(100.0);
    /// ```
    pub fn set_message_latency_curve(&self, rate: f64) {
        assert!(
            rate > 0.0 && rate.is_finite(),
            "a rate is positive and finite"
        );
        let link = &mut self.kernel_mut().net.config.link;
        let (min, cap) = link.latency.limits();
        let mean = (cap - min).div_f64(rate);
        link.latency = Latency::Exponential { min, mean, cap };
    }

    /// Sets the probability, for each packet, that its link breaks, on links without a setting of their own.
    pub fn set_fail_rate(&mut self, probability: f64) {
        self.kernel_mut().net.config.link.fail_rate = probability;
    }

    /// Sets the probability, for each packet between hosts, that its link breaks.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_link_fail_rate(&mut self, a: impl ToIpAddrs, b: impl ToIpAddrs, probability: f64) {
        self.kernel_mut()
            .between_both("fail rate", a, b, |net, _, from, to| {
                net.overrides(from, to).fail_rate = Some(probability);
            });
    }

    /// Sets the probability that a packet between hosts is lost.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_link_loss(&mut self, a: impl ToIpAddrs, b: impl ToIpAddrs, probability: f64) {
        self.kernel_mut()
            .between_both("loss", a, b, |net, _, from, to| {
                net.overrides(from, to).loss = Some(probability);
            });
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

    /// Returns how many ends of TCP connections are established, on all hosts. A connection has two.
    pub fn established_tcp_stream_count(&self) -> usize {
        self.kernel().net.counters().established
    }

    /// Calls a function with the packets that are on their way.
    pub fn links<R>(&self, f: impl FnOnce(&mut Links<'_>) -> R) -> R {
        f(&mut Links::new(self.kernel_mut()))
    }

    /// Returns the disk of a host.
    ///
    /// # Panics
    /// There is no such host.
    pub fn disk(&mut self, host: impl ToIpAddr) -> Disk<'_> {
        let kernel = self.kernel_mut();
        let host = kernel.host_named(&host);
        Disk::new(&mut kernel.disks[host.0])
    }

    /// Says which addresses a name has for programs that look it up, besides those of hosts, or in place of them.
    pub fn set_name(&mut self, name: &str, addresses: impl IntoIterator<Item = IpAddr>) {
        self.kernel_mut()
            .net
            .add_name(name, addresses.into_iter().collect());
    }

    /// Makes a name unknown to programs that look it up, also if it is that of a host.
    pub fn forget_name(&mut self, name: &str) {
        self.kernel_mut().net.remove_name(name);
    }

    /// Begins, or ends, to note what becomes of each packet.
    pub fn record_packets(&mut self, on: bool) {
        self.kernel_mut().net.set_log(on);
    }

    /// Takes what was noted of packets whose way has ended, in that order.
    pub fn take_packets(&mut self) -> Vec<Packet> {
        let kernel = self.kernel_mut();
        let records = kernel.net.take_log();
        let hosts = &kernel.hosts;
        let packet = |record| Packet::new(record, |host| hosts[host.0].name.clone());
        records.into_iter().map(packet).collect()
    }

    /// Ends the program of hosts as `kill -9` does: the machine stays on, and tells its peers that their connections are
    /// closed. Files stay as they are.
    ///
    /// # Panics
    /// There is no such host.
    pub fn kill(&mut self, hosts: impl ToIpAddrs) {
        for address in hosts.addresses(&mut self.kernel_mut().names) {
            let at = self.find(address);
            self.end(at, How::Kill);
        }
    }

    /// Sets the wall clock of hosts off by this number of seconds. Monotonic clocks are not affected.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_clock_offset(&mut self, hosts: impl ToIpAddrs, seconds: f64) {
        let kernel = self.kernel_mut();
        for host in kernel.hosts_named(&hosts) {
            let error = (seconds * 1e9) as i128;
            kernel.record_act(host, || format!("clock off by {seconds} s on"));
            let host = &mut kernel.hosts[host.0];
            (host.clock_offset, host.drift_from) = (error, kernel.now);
        }
    }

    /// Lets the wall clock of hosts go wrong by this number of parts in a million, from now on.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_clock_drift(&mut self, hosts: impl ToIpAddrs, parts_per_million: i64) {
        let kernel = self.kernel_mut();
        for host in kernel.hosts_named(&hosts) {
            let now = kernel.now;
            kernel.record_act(host, || format!("clock off by {parts_per_million} ppm on"));
            let host = &mut kernel.hosts[host.0];
            host.clock_offset = host.clock_error(now);
            (host.clock_drift, host.drift_from) = (parts_per_million, now);
        }
    }

    /// Sets how many processors hosts have. Programs are told of them when they ask; it is 1 otherwise.
    ///
    /// # Panics
    /// There is no such host, or the number is zero.
    pub fn set_processors(&mut self, hosts: impl ToIpAddrs, processors: usize) {
        assert!(processors > 0, "a host has at least one processor");
        let kernel = self.kernel_mut();
        for host in kernel.hosts_named(&hosts) {
            kernel.hosts[host.0].processors = processors;
        }
    }

    /// Makes everything that programs of hosts do take that many times as long.
    ///
    /// # Panics
    /// There is no such host, or the factor is zero.
    pub fn set_slowness(&mut self, hosts: impl ToIpAddrs, factor: u32) {
        assert!(factor > 0, "what takes no time never ends");
        let kernel = self.kernel_mut();
        for host in kernel.hosts_named(&hosts) {
            kernel.record_act(host, || format!("{factor} times as slow:"));
            kernel.hosts[host.0].slowness = factor;
        }
    }

    /// Sets how many descriptors hosts may have open.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_descriptor_limit(&mut self, hosts: impl ToIpAddrs, limit: usize) {
        let kernel = self.kernel_mut();
        for host in kernel.hosts_named(&hosts) {
            kernel.hosts[host.0].descriptor_limit = limit;
        }
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
                Stopped::Time => return Err(self.failed(None, self.took_too_long())),
                Stopped::Stuck if self.kernel_mut().wait_for_others() => {}
                Stopped::Stuck => return Err(self.failed(None, self.is_stuck())),
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
            return Err(self.failed(None, self.took_too_long()));
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
        let mut clients = self.machines.iter().filter(|machine| machine.is_client);
        clients.all(|machine| machine.program.has_ended())
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
        let waits = |machine: &&Machine<'_>| machine.is_client && !machine.program.has_ended();
        let names = self.machines.iter().filter(waits);
        let names: Vec<_> = names
            .map(|machine| self.kernel().hosts[machine.id.0].name.as_str())
            .collect();
        names.join(", ")
    }

    fn took_too_long(&self) -> crate::Error {
        let Sim { duration, .. } = self;
        let (events, waiting) = (self.events(), self.waiting_clients());
        format!("Ran for duration: {duration:?} events: {events} without completing: {waiting}")
            .into()
    }

    fn is_stuck(&self) -> crate::Error {
        let waiting = self.waiting_clients();
        let report = self.kernel().report();
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

type Pin<'a> = std::pin::Pin<Box<dyn Future<Output = Result> + 'a>>;

/// Forgets what a program borrows.
fn erase(main: Pin<'_>) -> Pin<'static> {
    // SAFETY: the program is dropped, or never polled again, before its simulation ends; what it borrows lives longer.
    unsafe { std::mem::transmute(main) }
}

/// As `erase`, for a plain function.
fn erase_plain<'a>(main: Box<dyn FnOnce() -> Result + 'a>) -> Box<dyn FnOnce() -> Result> {
    // SAFETY: as there: it has returned, or never goes on, before its simulation ends.
    unsafe { std::mem::transmute(main) }
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

//! The hosts of a simulation: how they are added, end and start again, and what they are like.

use super::Sim;
use crate::Result;
use crate::host::{self, Ending, Main, Program};
use crate::kernel::{self, Host, HostId, Kernel};
use crate::name::{ToIpAddr, ToIpAddrs};
use crate::net::How;
use std::future::Future;
use std::net::IpAddr;
use std::rc::Rc;

/// A host, as the simulation sees it.
pub(super) struct Machine<'a> {
    pub(super) id: HostId,
    pub(super) is_client: bool,
    /// It is a function that makes what it needs itself: there is no future that could be dropped.
    is_plain: bool,
    /// None for a client, which is started once.
    main: Option<Rc<dyn Fn() -> Main + 'a>>,
    pub(super) program: Rc<Program>,
}

impl Machine<'_> {
    /// Returns whether a run ends only when this has.
    pub(super) fn is_awaited(&self) -> bool {
        self.is_client && !self.program.has_ended()
    }
}

impl<'a> Sim<'a> {
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

    pub(super) fn find(&self, address: IpAddr) -> usize {
        let id = self.kernel().host_at(address);
        let at = self
            .machines
            .iter()
            .position(|machine| Some(machine.id) == id);
        at.unwrap_or_else(|| panic!("there is no host at {address}"))
    }

    /// Ends the program of a host at once: its future and its tasks are dropped, and what they still do has no effect.
    pub(super) fn end(&mut self, at: usize, how: How) {
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

    pub(super) fn start_again(&mut self, at: usize) {
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
            self.resume_host(self.machines[at].id);
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

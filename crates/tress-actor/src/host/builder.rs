//! Building a host.

use super::{Host, Inner, Lifecycle, Limit, section};
use crate::atom::Atom;
use crate::command::{Answer, Call, Command, CommandError, Registry};
use crate::error::StartError;
use crate::groups::Groups;
use crate::names::Names;
use crate::relay::Router;
use crate::remote::Remote;
use crate::slot::Capacity;
use crate::sys::plain::{AtomicBool, AtomicU64, AtomicUsize};
use crate::table::{MAX_PROCESSES, Table};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use tress::runtime::Handle;
use tress::sync::Notify;

/// Options for a new [`Host`]; created by [`Host::builder`].
///
/// # Examples
/// ```
/// use tress_actor::{Answer, Capacity, Command, CommandId, Host, Overflow};
///
/// struct Double(u64);
///
/// impl Command for Double {
///     const ID: CommandId = CommandId::user(256);
/// }
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main")
///     .node("here")
///     .mailbox(Capacity::new(100, Overflow::Reject))
///     .max_processes(10_000)
///     .command(|_, Double(n)| Answer::now(2 * n))
///     .start()
///     .unwrap();
/// assert_eq!(host.node().as_str(), "here");
/// # }
/// ```
#[must_use = "a host runs once it is started"]
pub struct Builder {
    name: String,
    node: Option<String>,
    runtime: Option<Handle>,
    commands: Registry,
    capacity: Capacity,
    hooks: Vec<Box<dyn Lifecycle>>,
    max_processes: Option<usize>,
    router: Option<Router>,
}

impl Builder {
    pub(super) fn new(name: &str) -> Builder {
        let mut commands = Registry::default();
        crate::command::builtin::register(&mut commands);
        #[cfg(feature = "io")]
        crate::command::stream::register(&mut commands);
        Builder {
            name: name.into(),
            node: None,
            runtime: None,
            commands,
            capacity: Capacity::default(),
            hooks: Vec::new(),
            max_processes: None,
            router: None,
        }
    }

    /// Sets the name of the node, [`local`](Atom::LOCAL) by default.
    pub fn node(mut self, name: &str) -> Builder {
        self.node = Some(name.into());
        self
    }

    /// Sets the runtime to run on. The default is the one in which [`start`](Builder::start) is called.
    pub fn runtime(mut self, handle: &Handle) -> Builder {
        self.runtime = Some(handle.clone());
        self
    }

    /// Sets the mailbox capacity of processes that do not set their own. The default is 1,024 messages with
    /// [`Overflow::Wait`](crate::Overflow::Wait).
    pub fn mailbox(mut self, capacity: Capacity) -> Builder {
        self.capacity = capacity;
        self
    }

    /// Sets the maximum number of processes at a time, [`MAX_PROCESSES`] by default. Further ones fail to start
    /// with [`SpawnError::TooMany`](crate::SpawnError::TooMany).
    pub fn max_processes(mut self, most: usize) -> Builder {
        self.max_processes = Some(most);
        self
    }

    /// Joins a router, by which this host reaches others and is reached by them.
    pub fn router(mut self, router: &Router) -> Builder {
        self.router = Some(router.clone());
        self
    }

    /// Adds hooks. They are called in the order in which they were added.
    pub fn lifecycle(mut self, hook: impl Lifecycle) -> Builder {
        self.hooks.push(Box::new(hook));
        self
    }

    /// Handles a command.
    ///
    /// The handler runs on the thread that has stepped the process, so it must not block; it may answer
    /// [later](Answer::Later). If it panics, the process ends.
    pub fn command<C: Command>(
        mut self,
        handler: impl Fn(Call<'_>, C) -> Answer + Send + Sync + 'static,
    ) -> Builder {
        self.commands.register(handler);
        self
    }

    /// Handles a command by a future, which is dropped if the process that has yielded the command ends first.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use tress_actor::{Command, CommandId, Host};
    ///
    /// struct Wait(Duration);
    ///
    /// impl Command for Wait {
    ///     const ID: CommandId = CommandId::user(256);
    /// }
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").command_async(|_, Wait(time)| async move {
    ///     tress::time::sleep(time).await;
    ///     Ok(())
    /// }).start().unwrap();
    /// # let _ = host;
    /// # }
    /// ```
    pub fn command_async<C, T, F>(
        self,
        handler: impl Fn(&Host, C) -> F + Send + Sync + 'static,
    ) -> Builder
    where
        C: Command,
        T: Send + 'static,
        F: Future<Output = Result<T, CommandError>> + Send + 'static,
    {
        self.command(move |call: Call<'_>, command: C| {
            let future = handler(call.host(), command);
            call.spawn(future)
        })
    }

    /// Starts the host. Its handlers and hooks are fixed from now on.
    ///
    /// # Errors
    /// - [`StartError::NoRuntime`] if none was given and the thread is in none.
    /// - [`StartError::Name`] if the name of the host or the node is empty or too long.
    /// - [`StartError::DuplicateCommand`] if a command has two handlers.
    /// - [`StartError::HostTaken`] if the router knows a host of that name already.
    pub fn start(self) -> Result<Host, StartError> {
        let runtime = match self.runtime {
            Some(runtime) => runtime,
            None => Handle::try_current().map_err(StartError::NoRuntime)?,
        };
        let node = match &self.node {
            Some(node) => Atom::new(node).map_err(StartError::Name)?,
            None => Atom::LOCAL,
        };
        let host = Host {
            inner: Arc::new(Inner {
                node,
                name: Atom::new(&self.name).map_err(StartError::Name)?,
                runtime,
                table: Table::new(),
                commands: self
                    .commands
                    .freeze()
                    .map_err(StartError::DuplicateCommand)?,
                capacity: self.capacity,
                hooks: self.hooks,
                limit: self.max_processes.map(|most| Limit {
                    most: most.min(MAX_PROCESSES),
                    alive: AtomicUsize::new(0),
                }),
                monitors: AtomicU64::new(1),
                undelivered: AtomicU64::new(0),
                stopping: AtomicBool::new(false),
                router: self.router,
                names: Names::default(),
                groups: Groups::default(),
                remote: Remote::default(),
                ended: Notify::new(),
                section: OnceLock::new(),
            }),
        };
        if let Some(router) = &host.inner.router {
            if !router.add_host(&host) {
                return Err(StartError::HostTaken(host.name()));
            }
        }
        host.inner.section.get_or_init(|| section::add(&host));
        Ok(host)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("node", &self.node)
            .field("mailbox", &self.capacity)
            .field("max_processes", &self.max_processes)
            .field("commands", &self.commands)
            .finish_non_exhaustive()
    }
}

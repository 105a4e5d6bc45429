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

/// Describes a [`Host`].
///
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

    /// The name of the node, `local` without it.
    pub fn node(mut self, name: &str) -> Builder {
        self.node = Some(name.into());
        self
    }

    /// The runtime to run on; without it, the one that [`start`](Builder::start) is called in.
    pub fn runtime(mut self, handle: &Handle) -> Builder {
        self.runtime = Some(handle.clone());
        self
    }

    /// The room of mailboxes whose processes do not ask for their own.
    pub fn mailbox(mut self, capacity: Capacity) -> Builder {
        self.capacity = capacity;
        self
    }

    /// Most processes at once. Without it, [`MAX_PROCESSES`].
    pub fn max_processes(mut self, most: usize) -> Builder {
        self.max_processes = Some(most);
        self
    }

    /// The way to other hosts and nodes, and theirs to this one.
    pub fn router(mut self, router: &Router) -> Builder {
        self.router = Some(router.clone());
        self
    }

    /// Adds a hook. Hooks are called in the order in which they were added.
    pub fn lifecycle(mut self, hook: impl Lifecycle) -> Builder {
        self.hooks.push(Box::new(hook));
        self
    }

    /// Handles a command. The handler runs where the process was stepped, so it must not block; it
    /// may answer [later](Answer::Later), from anywhere.
    pub fn command<C: Command>(
        mut self,
        handler: impl Fn(Call<'_>, C) -> Answer + Send + Sync + 'static,
    ) -> Builder {
        self.commands.register(handler);
        self
    }

    /// Handles a command by a future, which ends with the process that asked.
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
    /// If a name is empty or too long, a command has two handlers, the router knows a host of that name,
    /// or there is no runtime.
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

//! Routes to processes of other hosts and nodes.

use crate::atom::Atom;
use crate::error::SendFailure;
use crate::event::Message;
use crate::host::{Host, WeakHost};
use crate::payload::Payload;
use crate::pid::Pid;
use crate::sys::plain::RwLock;
use crate::topic::Topic;
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Messages on their way from one process to another, in order.
#[derive(Debug)]
pub struct Package {
    /// The sender, if it is a process.
    pub source: Option<Pid>,
    /// The receiver.
    pub target: Pid,
    /// The messages, each with its topic.
    pub messages: Vec<(Topic, Payload)>,
}

/// Messages that were not delivered, and why.
#[derive(Debug)]
pub struct Undelivered {
    /// Why.
    pub why: SendFailure,
    /// The messages that were not delivered; those before them were.
    pub package: Package,
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.package.messages.len();
        write!(f, "{count} messages did not arrive: {}", self.why)
    }
}

impl Error for Undelivered {}

/// Takes packages for processes that it runs. Every [`Host`] is one.
///
/// A server that receives packages from a network passes them to the host with this trait.
pub trait Receiver: Send + Sync + 'static {
    /// Delivers a package, without waiting for room.
    ///
    /// # Errors
    /// The first message that could not be delivered and all that follow it, with the reason.
    fn receive(&self, package: Package) -> Result<(), Undelivered>;
}

/// Passes packages on towards their targets: to another host of the program, or over a network. Every
/// [`Router`] is one.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress_actor::{Atom, Package, Relay, Router, SendFailure, Undelivered};
///
/// /// A connection that is down.
/// struct Down;
///
/// impl Relay for Down {
///     fn relay(&self, package: Package) -> Result<(), Undelivered> {
///         Err(Undelivered { why: SendFailure::NoRoute(package.target), package })
///     }
/// }
///
/// let router = Router::new();
/// router.add_node(Atom::new("far")?, Arc::new(Down));
/// # Ok::<(), tress_actor::AtomError>(())
/// ```
pub trait Relay: Send + Sync + 'static {
    /// Passes a package on, without waiting. Packages from one process to another must arrive in order.
    ///
    /// # Errors
    /// As for [`Receiver::receive`], as far as it is known here.
    fn relay(&self, package: Package) -> Result<(), Undelivered>;
}

impl Receiver for Host {
    fn receive(&self, package: Package) -> Result<(), Undelivered> {
        let Package {
            source,
            target,
            messages,
        } = package;
        let mut messages = messages.into_iter();
        while let Some((topic, mut payload)) = messages.next() {
            if let (Topic::CONTROL, Some(source)) = (topic, source) {
                if let Some(control) = payload.take() {
                    self.controlled(source, target, control);
                    continue;
                }
            }
            let message = Message {
                source,
                topic,
                payload,
            };
            if let Err(error) = self.send_message(target, message) {
                let why = error.why();
                let first = error.into_message();
                let rest = std::iter::once((first.topic, first.payload)).chain(messages);
                return Err(Undelivered {
                    why,
                    package: Package {
                        source,
                        target,
                        messages: rest.collect(),
                    },
                });
            }
        }
        Ok(())
    }
}

/// Knows the hosts of the program and the routes to other nodes. Clones share their routes.
///
/// Hosts join it when they are [built](crate::Builder::router), and leave it when they are dropped.
///
/// # Examples
/// ```
/// use tress_actor::{Cx, Done, Host, Router};
///
/// # #[tress::main]
/// # async fn main() {
/// let router = Router::new();
/// let orders = Host::builder("orders").router(&router).start().unwrap();
/// let billing = Host::builder("billing").router(&router).start().unwrap();
/// let (pid, exit) = billing.future(|mut cx: Cx<u8>| async move { Done(cx.recv().await) }).exec().unwrap();
/// // A process of another host is addressed by its PID like any other.
/// orders.send(pid, 7_u8).unwrap();
/// assert_eq!(exit.await.into_result().unwrap().downcast::<Option<u8>>().unwrap(), Some(7));
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Router(Arc<RwLock<Ways>>);

#[derive(Default)]
struct Ways {
    hosts: HashMap<(Atom, Atom), WeakHost>,
    nodes: HashMap<Atom, Arc<dyn Relay>>,
    others: Option<Arc<dyn Relay>>,
}

impl Router {
    /// Creates a router without hosts or routes.
    pub fn new() -> Router {
        Router::default()
    }

    /// Changes the routes. What is removed is returned and dropped without the lock: relays and hosts are
    /// foreign.
    fn change<R>(&self, change: impl FnOnce(&mut Ways) -> R) -> R {
        change(&mut self.0.write())
    }

    /// Adds a host. Returns `false` if there is one of that name.
    pub(crate) fn add_host(&self, host: &Host) -> bool {
        let name = (host.node(), host.name());
        let known = self.change(|ways| {
            let known = ways.hosts.get(&name).and_then(WeakHost::upgrade);
            if known.is_none() {
                // Removes hosts that are gone.
                ways.hosts.retain(|_, host| !host.is_gone());
                ways.hosts.insert(name, host.downgrade());
            }
            known
        });
        known.is_none()
    }

    /// Sets the route to a node. Replaces an earlier one.
    pub fn add_node(&self, node: Atom, relay: Arc<dyn Relay>) {
        self.change(|ways| ways.nodes.insert(node, relay));
    }

    /// Removes the route to a node.
    ///
    /// Processes of the router's hosts that are linked to processes there, or monitor them, are told that those
    /// are [unreachable](crate::ExitReason::Unreachable).
    pub fn remove_node(&self, node: Atom) {
        let (way, hosts) = self.change(|ways| {
            let hosts = ways.hosts.values().filter_map(WeakHost::upgrade);
            let hosts: Vec<_> = hosts.collect();
            (ways.nodes.remove(&node), hosts)
        });
        drop(way);
        for host in hosts {
            host.lose_node(node);
        }
    }

    /// Sets the route to all nodes that have none of their own. Replaces an earlier one.
    pub fn set_fallback(&self, relay: Arc<dyn Relay>) {
        self.change(|ways| ways.others.replace(relay));
    }
}

impl Relay for Router {
    fn relay(&self, package: Package) -> Result<(), Undelivered> {
        let target = package.target;
        let ways = self.0.read();
        let host = ways.hosts.get(&(target.node(), target.host()));
        if let Some(host) = host.and_then(WeakHost::upgrade) {
            drop(ways);
            return host.receive(package);
        }
        let way = ways.nodes.get(&target.node()).or(ways.others.as_ref());
        let way = way.cloned();
        drop(ways);
        match way {
            Some(way) => way.relay(package),
            None => Err(Undelivered {
                why: SendFailure::NoRoute(target),
                package,
            }),
        }
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ways = self.0.read();
        let hosts: Vec<_> = ways.hosts.keys().copied().collect();
        let nodes: Vec<_> = ways.nodes.keys().copied().collect();
        // Printing runs foreign code.
        drop(ways);
        f.debug_struct("Router")
            .field("hosts", &hosts)
            .field("nodes", &nodes)
            .finish_non_exhaustive()
    }
}

//! The way to processes of other hosts and nodes.

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
    /// Who sends them, if it is a process.
    pub source: Option<Pid>,
    /// To whom.
    pub target: Pid,
    /// Each with what it is about.
    pub messages: Vec<(Topic, Payload)>,
}

/// Messages that did not arrive, and why.
#[derive(Debug)]
pub struct Undelivered {
    /// Why.
    pub why: SendFailure,
    /// What did not arrive: those before have.
    pub package: Package,
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.package.messages.len();
        write!(f, "{count} messages did not arrive: {}", self.why)
    }
}

impl Error for Undelivered {}

/// Takes packages for processes that it knows. Every [`Host`] is one.
pub trait Receiver: Send + Sync + 'static {
    /// Delivers a package, without waiting.
    ///
    /// # Errors
    /// From the first message on that could not be delivered: what is left, and why.
    fn receive(&self, package: Package) -> Result<(), Undelivered>;
}

/// Takes packages to wherever their targets are: to another host here, or over a network.
pub trait Relay: Send + Sync + 'static {
    /// Passes a package on. Packages from one process to another must arrive in order.
    ///
    /// # Errors
    /// As [`Receiver::receive`], as far as it can be told here.
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

/// Knows the hosts of this program and the ways to other nodes. Clones are the same.
///
/// ```
/// use std::sync::Arc;
/// use tress_actor::{Cx, Done, Host, Router};
///
/// # #[tress::main]
/// # async fn main() {
/// let router = Router::new();
/// let orders = Host::builder("orders").router(&router).start().unwrap();
/// let billing = Host::builder("billing").router(&router).start().unwrap();
/// let (pid, exit) = billing.future(|mut cx: Cx<u8>| async move { Done(cx.recv().await) }).exec().unwrap();
/// // To a process of another host, by its PID as to any other.
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
    /// Knows nobody yet.
    pub fn new() -> Router {
        Router::default()
    }

    /// What is taken out is returned, and dropped without the lock: relays and hosts are foreign.
    fn change<R>(&self, change: impl FnOnce(&mut Ways) -> R) -> R {
        change(&mut self.0.write())
    }

    /// False if there is a host of that name.
    pub(crate) fn add_host(&self, host: &Host) -> bool {
        let name = (host.node(), host.name());
        let known = self.change(|ways| {
            let known = ways.hosts.get(&name).and_then(WeakHost::upgrade);
            if known.is_none() {
                // Those that are gone need no place any more.
                ways.hosts.retain(|_, host| !host.is_gone());
                ways.hosts.insert(name, host.downgrade());
            }
            known
        });
        known.is_none()
    }

    /// The way to a node. It takes the place of an older one.
    pub fn add_node(&self, node: Atom, relay: Arc<dyn Relay>) {
        self.change(|ways| ways.nodes.insert(node, relay));
    }

    /// Forgets the way to a node. Processes of the hosts here that are linked to some there, or
    /// monitor them, are told that they are [unreachable](crate::ExitReason::Unreachable).
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

    /// The way to every node that is not known.
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
        f.debug_struct("Router")
            .field("hosts", &ways.hosts.keys())
            .field("nodes", &ways.nodes.keys())
            .finish_non_exhaustive()
    }
}

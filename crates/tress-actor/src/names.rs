//! Names for processes.

use crate::error::NoProcess;
use crate::few::Few;
use crate::host::Host;
use crate::pid::Pid;
use crate::sys::plain::RwLock;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

#[derive(Debug, Default)]
pub(crate) struct Names(RwLock<HashMap<Arc<str>, Pid>>);

impl Names {
    fn get(&self, name: &str) -> Option<Pid> {
        let names = self.0.read();
        names.get(name).copied()
    }

    fn add(&self, name: &Arc<str>, pid: Pid) -> Result<bool, NameError> {
        let mut names = self.0.write();
        match names.entry(name.clone()) {
            Entry::Vacant(place) => {
                place.insert(pid);
                Ok(true)
            }
            Entry::Occupied(place) if *place.get() == pid => Ok(false),
            Entry::Occupied(place) => Err(NameError::Taken(*place.get())),
        }
    }

    fn remove(&self, name: &str, pid: Pid) -> bool {
        let mut names = self.0.write();
        let found = names.get(name) == Some(&pid);
        if found {
            names.remove(name);
        }
        found
    }
}

impl Host {
    /// Gives a process a name, until it ends or the name is [taken back](Host::unregister). A
    /// process may have several; giving it one again changes nothing.
    ///
    /// ```
    /// # use tress_actor::{Cx, Host};
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let pid = host.spawn(|mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} }).unwrap();
    /// host.register("printer", pid).unwrap();
    /// assert_eq!(host.lookup("printer"), Some(pid));
    /// # }
    /// ```
    ///
    /// # Errors
    /// If another process has the name, or this one has ended.
    pub fn register(&self, name: &str, pid: Pid) -> Result<(), NameError> {
        let name: Arc<str> = name.into();
        let added = self.with_relations(pid, |relations| {
            if self.names().add(&name, pid)? {
                relations.get_mut().names.insert(name, ());
            }
            Ok(())
        });
        added.unwrap_or_else(|NoProcess(pid)| Err(NameError::NoProcess(pid)))
    }

    /// Takes a name back. The process that had it, if there was one.
    pub fn unregister(&self, name: &str) -> Option<Pid> {
        let pid = self.lookup(name)?;
        let removed = self.with_relations(pid, |relations| {
            relations.get_mut().names.remove(name);
            self.names().remove(name, pid)
        });
        removed.unwrap_or(false).then_some(pid)
    }

    /// The process of this name.
    pub fn lookup(&self, name: &str) -> Option<Pid> {
        self.names().get(name)
    }

    /// A process has ended: its names are free.
    pub(crate) fn release_names(&self, pid: Pid, names: &Few<Arc<str>, ()>) {
        for name in names.keys() {
            self.names().remove(name, pid);
        }
    }
}

/// Why a process was not given a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// This process has it.
    Taken(Pid),
    /// The process has ended.
    NoProcess(Pid),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Taken(pid) => write!(
                f,
                "{pid} has that name: choose another, or wait for its end"
            ),
            NameError::NoProcess(pid) => NoProcess(*pid).fmt(f),
        }
    }
}

impl Error for NameError {}

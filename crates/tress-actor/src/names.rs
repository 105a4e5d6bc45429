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
    /// Gives a process a name, until it ends or the name is [removed](Host::unregister).
    ///
    /// A process may have several names; giving it one again changes nothing.
    ///
    /// # Errors
    /// - [`NameError::Taken`] if another process has the name.
    /// - [`NameError::NoProcess`] if the process has ended, or is another host's.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let pid = host.spawn(|mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} }).unwrap();
    /// host.register("printer", pid).unwrap();
    /// assert_eq!(host.lookup("printer"), Some(pid));
    /// # }
    /// ```
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

    /// Removes a name. Returns the process that had it, if there was one.
    pub fn unregister(&self, name: &str) -> Option<Pid> {
        let pid = self.lookup(name)?;
        let removed = self.with_relations(pid, |relations| {
            relations.get_mut().names.remove(name);
            self.names().remove(name, pid)
        });
        removed.unwrap_or(false).then_some(pid)
    }

    /// Returns the process that has a name.
    pub fn lookup(&self, name: &str) -> Option<Pid> {
        self.names().get(name)
    }

    /// Frees the names of a process that has ended.
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
    /// This process has the name.
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

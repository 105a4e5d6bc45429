//! Groups of processes.

use crate::error::NoProcess;
use crate::event::{Event, Message, SystemEvent};
use crate::few::Few;
use crate::host::Host;
use crate::link::Relations;
use crate::pid::Pid;
use crate::sys::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// A change of a group, for a process that [watches](Host::watch_group) it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupChange {
    /// This process has joined the group of this name.
    Joined(Arc<str>, Pid),
    /// This process has left the group of this name, or has ended; reported once for each time that it had
    /// joined.
    Left(Arc<str>, Pid),
}

#[derive(Debug, Default)]
pub(crate) struct Groups(Mutex<HashMap<Arc<str>, Group>>);

#[derive(Debug, Default)]
struct Group {
    /// In the order in which they joined; a process appears once for each time that it has.
    members: Vec<Pid>,
    watchers: Vec<Pid>,
}

impl Group {
    fn is_empty(&self) -> bool {
        self.members.is_empty() && self.watchers.is_empty()
    }
}

impl Host {
    /// Adds a process to a group.
    ///
    /// A group exists as long as it has members or watchers. A process that joins twice is a member twice. It
    /// leaves all groups when it ends.
    ///
    /// # Errors
    /// [`NoProcess`] if the process has ended, or is another host's.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let pid = host.spawn(|mut cx: Cx<u8>| async move { while cx.recv().await.is_some() {} }).unwrap();
    /// host.join_group("printers", pid).unwrap();
    /// assert_eq!(host.group_members("printers"), [pid]);
    /// assert_eq!(host.broadcast("printers", 7_u8), 1);
    /// assert!(host.leave_group("printers", pid));
    /// # }
    /// ```
    pub fn join_group(&self, group: &str, pid: Pid) -> Result<(), NoProcess> {
        self.with_relations(pid, |relations| {
            let name = self.change_groups(|groups| {
                let (name, joined) = place(groups, group);
                let change = GroupChange::Joined(name.clone(), pid);
                self.tell_watchers(joined, &change);
                joined.members.push(pid);
                name
            });
            relations.get_mut().groups.insert(name, ());
        })
    }

    /// Removes a process from a group once. Returns `false` if it is no member.
    pub fn leave_group(&self, group: &str, pid: Pid) -> bool {
        let left = self.with_relations(pid, |relations| {
            let left = self.remove_member(group, pid);
            self.forget_group(relations, group, pid);
            left
        });
        // A process that has ended is a member of nothing, or about to be.
        left.unwrap_or(false)
    }

    /// Removes the group from what the process remembers, if it is neither a member nor a watcher.
    fn forget_group(&self, relations: &mut Relations, group: &str, pid: Pid) {
        let within = self.change_groups(|groups| {
            let found = groups.get(group);
            found.is_some_and(|g| g.members.contains(&pid) || g.watchers.contains(&pid))
        });
        if !within {
            relations.get_mut().groups.remove(group);
        }
    }

    fn remove_member(&self, group: &str, pid: Pid) -> bool {
        self.change_groups(|groups| {
            let Some((name, found)) = groups.get_key_value(group) else {
                return false;
            };
            let name = name.clone();
            let Some(at) = found.members.iter().position(|member| *member == pid) else {
                return false;
            };
            let found = groups.get_mut(&name).expect("it is there");
            found.members.remove(at);
            let change = GroupChange::Left(name.clone(), pid);
            self.tell_watchers(found, &change);
            if found.is_empty() {
                groups.remove(&name);
            }
            true
        })
    }

    /// Returns the members of a group, in the order in which they joined.
    pub fn group_members(&self, group: &str) -> Vec<Pid> {
        self.change_groups(|groups| {
            groups
                .get(group)
                .map_or_else(Vec::new, |g| g.members.clone())
        })
    }

    /// Returns the names of all groups that have members, in no particular order.
    pub fn groups(&self) -> Vec<Arc<str>> {
        self.change_groups(|groups| {
            let with_members = groups.iter().filter(|(_, group)| !group.members.is_empty());
            with_members.map(|(name, _)| name.clone()).collect()
        })
    }

    /// Sends a clone of a value to every member of a group, without waiting. Returns the number of members that
    /// it was sent to.
    ///
    /// Members that have ended, or whose mailbox refuses the message, are skipped.
    pub fn broadcast<T: Clone + Send + 'static>(&self, group: &str, value: T) -> usize {
        let members = self.group_members(group);
        let sent = members
            .iter()
            .filter(|&&member| self.send(member, value.clone()).is_ok());
        sent.count()
    }

    /// Sends `watcher` a [`SystemEvent::Group`] for every change of a group from now on. Returns the members at
    /// this moment.
    ///
    /// No change is missed and none is reported twice: the returned members and the events together are exact.
    ///
    /// # Errors
    /// [`NoProcess`] if the watcher has ended, or is another host's.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Done, GroupChange, Host, Mail, SystemEvent};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let (watcher, exit) = host.future(|mut cx: Cx<()>| async move {
    ///     match cx.next().await {
    ///         Mail::Event(SystemEvent::Group(GroupChange::Joined(_, pid))) => Done(Some(pid)),
    ///         _ => Done(None),
    ///     }
    /// }).exec().unwrap();
    /// assert!(host.watch_group("printers", watcher).unwrap().is_empty());
    /// let pid = host.spawn(|mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} }).unwrap();
    /// host.join_group("printers", pid).unwrap();
    /// let joined = exit.await.into_result().unwrap().downcast::<Option<tress_actor::Pid>>();
    /// assert_eq!(joined.unwrap(), Some(pid));
    /// # }
    /// ```
    pub fn watch_group(&self, group: &str, watcher: Pid) -> Result<Vec<Pid>, NoProcess> {
        self.with_relations(watcher, |relations| {
            let (name, members) = self.change_groups(|groups| {
                let (name, group) = place(groups, group);
                if !group.watchers.contains(&watcher) {
                    group.watchers.push(watcher);
                }
                (name, group.members.clone())
            });
            relations.get_mut().groups.insert(name, ());
            members
        })
    }

    /// Ends [`watch_group`](Host::watch_group). Does nothing if `watcher` does not watch the group.
    pub fn unwatch_group(&self, group: &str, watcher: Pid) {
        // A process that has ended watches nothing, or is about to.
        let _ = self.with_relations(watcher, |relations| {
            self.remove_watcher(group, watcher);
            self.forget_group(relations, group, watcher);
        });
    }

    fn remove_watcher(&self, group: &str, watcher: Pid) {
        self.change_groups(|groups| {
            if let Some(found) = groups.get_mut(group) {
                found.watchers.retain(|other| *other != watcher);
                if found.is_empty() {
                    groups.remove(group);
                }
            }
        });
    }

    fn change_groups<R>(&self, change: impl FnOnce(&mut HashMap<Arc<str>, Group>) -> R) -> R {
        change(&mut self.all_groups().0.lock())
    }

    /// Tells the watchers of a change, under the groups' lock, so that changes are told in the order in which
    /// they are made.
    fn tell_watchers(&self, group: &Group, change: &GroupChange) {
        for &watcher in &group.watchers {
            let event = SystemEvent::Group(change.clone());
            // A watcher that has ended is about to be taken off the list.
            let _ = self.tell(watcher, Event::Message(Message::system(None, event)));
        }
    }

    /// Removes a process that has ended from all its groups.
    pub(crate) fn leave_groups(&self, pid: Pid, mut names: Few<Arc<str>, ()>) {
        while let Some((name, ())) = names.pop_first() {
            self.remove_watcher(&name, pid);
            while self.remove_member(&name, pid) {}
        }
    }
}

fn place<'a>(groups: &'a mut HashMap<Arc<str>, Group>, name: &str) -> (Arc<str>, &'a mut Group) {
    let name = match groups.get_key_value(name) {
        Some((name, _)) => name.clone(),
        None => Arc::from(name),
    };
    (name.clone(), groups.entry(name).or_default())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::{Cx, Host};

    #[test]
    fn a_group_that_was_left_is_forgotten() {
        let runtime = tress::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let host = Host::builder("test").start().unwrap();
            let wait = |mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} };
            let (pid, watcher) = (host.spawn(wait).unwrap(), host.spawn(wait).unwrap());
            let remembered = |pid| {
                let relations = host.slot(pid).unwrap().relations.lock();
                relations.get().map_or(0, |related| related.groups.len())
            };
            for n in 0..50 {
                let group = format!("group {n}");
                host.watch_group(&group, watcher).unwrap();
                host.join_group(&group, pid).unwrap();
                host.join_group(&group, pid).unwrap();
                assert!(host.leave_group(&group, pid));
                assert_eq!(host.group_members(&group), [pid]);
                assert_eq!((remembered(pid), remembered(watcher)), (1, 1));
                assert!(host.leave_group(&group, pid) && !host.leave_group(&group, pid));
                host.unwatch_group(&group, watcher);
                assert_eq!((remembered(pid), remembered(watcher)), (0, 0));
            }
            assert!(host.groups().is_empty());
        });
    }
}

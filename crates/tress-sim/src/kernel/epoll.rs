//! `epoll`: which of many objects are ready.

use super::descriptor::{Object, ready};
use super::{Errno, Here, Kernel, ObjectId, WaitsIn};
use crate::time::Time;
use libc::c_int;
use std::collections::{BTreeMap, VecDeque};

/// What one epoll watches.
#[derive(Debug, Default)]
pub(crate) struct Epoll {
    /// By the descriptor that was given.
    watched: BTreeMap<c_int, Watch>,
    /// Those that may be ready, in the order in which they became it.
    ready: VecDeque<c_int>,
}

#[derive(Debug)]
struct Watch {
    object: ObjectId,
    events: u32,
    data: u64,
    is_queued: bool,
    /// A one-shot watch that has been reported.
    is_spent: bool,
}

const EDGE: u32 = libc::EPOLLET as u32;
const ONCE: u32 = libc::EPOLLONESHOT as u32;
/// Reported whether asked for or not.
const ALWAYS: u32 = ready::ERR | ready::HUP;

impl Epoll {
    pub(super) fn readiness(&self) -> u32 {
        if self.ready.is_empty() { 0 } else { ready::IN }
    }

    fn queue(&mut self, fd: c_int) {
        if let Some(watch) = self.watched.get_mut(&fd) {
            if !watch.is_queued && !watch.is_spent {
                watch.is_queued = true;
                self.ready.push_back(fd);
            }
        }
    }
}

impl Kernel {
    fn epoll(&mut self, fd: c_int) -> Result<(ObjectId, &mut Epoll), Errno> {
        let id = self.descriptors.object(fd)?;
        match &mut self.descriptors.entry(id).object {
            Object::Epoll(epoll) => Ok((id, epoll)),
            _ => Err(libc::EINVAL),
        }
    }

    /// `epoll_ctl`.
    pub(crate) fn epoll_control(
        &mut self,
        epoll: c_int,
        operation: c_int,
        fd: c_int,
        events: u32,
        data: u64,
    ) -> Result<(), Errno> {
        let object = self.descriptors.object(fd)?;
        if self.is_file(fd) {
            return Err(libc::EPERM);
        }
        let (id, table) = self.epoll(epoll)?;
        if id == object {
            return Err(libc::EINVAL);
        }
        let known = table.watched.contains_key(&fd);
        match operation {
            libc::EPOLL_CTL_ADD if known => return Err(libc::EEXIST),
            libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL if !known => return Err(libc::ENOENT),
            libc::EPOLL_CTL_ADD | libc::EPOLL_CTL_MOD => {
                table.ready.retain(|other| *other != fd);
                let watch = Watch {
                    object,
                    events,
                    data,
                    is_queued: false,
                    is_spent: false,
                };
                table.watched.insert(fd, watch);
                if operation == libc::EPOLL_CTL_ADD {
                    self.descriptors.entry(object).watched_by.push((id, fd));
                }
                if self.readiness(object) & (events | ALWAYS) != 0 {
                    self.epoll(epoll)?.1.queue(fd);
                    self.changed(id);
                }
            }
            libc::EPOLL_CTL_DEL => {
                table.ready.retain(|other| *other != fd);
                table.watched.remove(&fd);
                self.forget_watcher(object, id, fd);
            }
            _ => return Err(libc::EINVAL),
        }
        Ok(())
    }

    fn forget_watcher(&mut self, object: ObjectId, epoll: ObjectId, fd: c_int) {
        let watchers = &mut self.descriptors.entry(object).watched_by;
        watchers.retain(|watcher| *watcher != (epoll, fd));
    }

    /// Something has happened to an object: it may be ready for those that watch it.
    pub(super) fn tell_epolls(&mut self, object: ObjectId) {
        let Some(entry) = self.descriptors.get(object) else {
            return;
        };
        if entry.watched_by.is_empty() {
            return;
        }
        let readiness = self.readiness(object);
        for at in 0.. {
            let watchers = &self.descriptors.entry(object).watched_by;
            let Some(&(id, fd)) = watchers.get(at) else {
                break;
            };
            let Object::Epoll(epoll) = &mut self.descriptors.entry(id).object else {
                continue;
            };
            let concerns = |watch: &Watch| readiness & (watch.events | ALWAYS) != 0;
            if epoll.watched.get(&fd).is_some_and(concerns) {
                epoll.queue(fd);
                self.changed(id);
            }
        }
    }

    /// A descriptor was closed. It is not watched any more if it was the last one of its object.
    pub(super) fn unwatch(&mut self, object: ObjectId) {
        for (id, fd) in std::mem::take(&mut self.descriptors.entry(object).watched_by) {
            if let Object::Epoll(epoll) = &mut self.descriptors.entry(id).object {
                epoll.watched.remove(&fd);
                epoll.ready.retain(|other| *other != fd);
            }
        }
    }

    pub(super) fn close_epoll(&mut self, id: ObjectId, epoll: Epoll) {
        for (fd, watch) in epoll.watched {
            if self.descriptors.get(watch.object).is_some() {
                self.forget_watcher(watch.object, id, fd);
            }
        }
    }

    /// Takes what is ready, at most as many as there is room for.
    #[inline]
    fn epoll_take(&mut self, fd: c_int, found: &mut [libc::epoll_event]) -> Result<usize, Errno> {
        let (id, epoll) = self.epoll(fd)?;
        let mut taken = 0;
        for _ in 0..epoll.ready.len() {
            if taken == found.len() {
                break;
            }
            let Object::Epoll(epoll) = &mut self.descriptors.entry(id).object else {
                break;
            };
            let Some(of) = epoll.ready.pop_front() else {
                break;
            };
            let Some(watch) = epoll.watched.get_mut(&of) else {
                continue;
            };
            watch.is_queued = false;
            let (object, events, data) = (watch.object, watch.events, watch.data);
            let readiness = self.readiness(object) & (events | ALWAYS);
            if readiness == 0 {
                continue;
            }
            found[taken] = libc::epoll_event {
                events: readiness,
                u64: data,
            };
            taken += 1;
            let Object::Epoll(epoll) = &mut self.descriptors.entry(id).object else {
                break;
            };
            if events & ONCE != 0 {
                epoll
                    .watched
                    .entry(of)
                    .and_modify(|watch| watch.is_spent = true);
            } else if events & EDGE == 0 {
                epoll.queue(of);
            }
        }
        Ok(taken)
    }
}

impl Here {
    /// `epoll_wait`, until that time.
    #[inline]
    pub(crate) fn epoll_wait(
        &mut self,
        fd: c_int,
        found: &mut [libc::epoll_event],
        until: Option<Time>,
    ) -> Result<usize, Errno> {
        let result = self.wait_or_signal(WaitsIn::Epoll, until, false, |kernel| {
            match kernel.epoll_take(fd, found) {
                Ok(0) => {
                    let id = kernel.descriptors.object(fd).expect("just used");
                    kernel.wait_at(id);
                    None
                }
                result => Some(result),
            }
        })?;
        result.unwrap_or(Ok(0))
    }
}

//! Descriptors of simulated objects, and what they refer to.
//!
//! Their numbers begin where those of real ones never get: a call that this crate does not know fails, and does nothing to
//! a real file.

use super::epoll::Epoll;
use super::event_fd::EventFd;
use super::file::File;
use super::process::ProcessId;
use super::timer_fd::TimerFd;
use super::{Errno, HostId, Kernel, ThreadId};
use crate::net::SocketId;
use libc::c_int;

/// The first descriptor.
const FIRST: c_int = 1 << 20;

/// What is ready, as `epoll` names it.
pub(crate) mod ready {
    pub(crate) const IN: u32 = libc::EPOLLIN as u32;
    pub(crate) const OUT: u32 = libc::EPOLLOUT as u32;
    pub(crate) const ERR: u32 = libc::EPOLLERR as u32;
    pub(crate) const HUP: u32 = libc::EPOLLHUP as u32;
    pub(crate) const RDHUP: u32 = libc::EPOLLRDHUP as u32;
}

/// What a descriptor refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectId(usize);

/// Something that descriptors refer to.
#[derive(Debug)]
pub(crate) enum Object {
    Epoll(Epoll),
    EventFd(EventFd),
    TimerFd(TimerFd),
    /// A socket, or an end of a pipe.
    Socket(SocketId),
    File(File),
    /// A process, by a descriptor that is readable once it has ended.
    Process(ProcessId),
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) object: Object,
    pub(super) host: HostId,
    /// Descriptors that refer to it.
    references: usize,
    pub(super) nonblocking: bool,
    /// Threads that wait for it in a system call.
    pub(super) waiting: Vec<ThreadId>,
    /// The epolls that watch it, and by which descriptor.
    pub(super) watched_by: Vec<(ObjectId, c_int)>,
}

/// The table of all hosts.
#[derive(Debug, Default)]
pub(crate) struct Descriptors {
    /// What each refers to, and whose it is.
    table: Vec<Option<(ObjectId, ProcessId)>>,
    free: Vec<usize>,
    objects: Vec<Option<Entry>>,
    free_objects: Vec<usize>,
}

impl Descriptors {
    /// Returns whether that could be the number of a simulated descriptor.
    #[inline]
    pub(crate) fn is_ours(fd: c_int) -> bool {
        fd >= FIRST
    }

    /// Returns what the descriptor refers to.
    pub(crate) fn object(&self, fd: c_int) -> Result<ObjectId, Errno> {
        let index = usize::try_from(fd - FIRST).map_err(|_| libc::EBADF)?;
        let found = self.table.get(index).copied().flatten();
        found.map(|(object, _)| object).ok_or(libc::EBADF)
    }

    pub(super) fn entry(&mut self, id: ObjectId) -> &mut Entry {
        self.objects[id.0]
            .as_mut()
            .expect("an object that is referred to exists")
    }

    pub(super) fn get(&self, id: ObjectId) -> Option<&Entry> {
        self.objects[id.0].as_ref()
    }

    pub(super) fn get_mut(&mut self, id: ObjectId) -> Option<&mut Entry> {
        self.objects[id.0].as_mut()
    }

    fn refer(&mut self, object: ObjectId, process: ProcessId) -> c_int {
        let index = match self.free.pop() {
            Some(index) => {
                self.table[index] = Some((object, process));
                index
            }
            None => {
                self.table.push(Some((object, process)));
                self.table.len() - 1
            }
        };
        FIRST + index as c_int
    }
}

impl Kernel {
    fn reserve_descriptor(&mut self, host: HostId) -> Result<(), Errno> {
        let host = &mut self.hosts[host.0];
        if host.open_descriptors >= host.descriptor_limit {
            return Err(libc::EMFILE);
        }
        host.open_descriptors += 1;
        Ok(())
    }

    /// Makes an object of the running thread's host, and a descriptor of it. Returns both.
    pub(crate) fn open(
        &mut self,
        object: Object,
        nonblocking: bool,
    ) -> Result<(c_int, ObjectId), Errno> {
        let (_, host) = self.running();
        let process = self.running_process();
        self.reserve_descriptor(host)?;
        let entry = Entry {
            object,
            host,
            references: 1,
            nonblocking,
            waiting: Vec::new(),
            watched_by: Vec::new(),
        };
        let descriptors = &mut self.descriptors;
        let id = match descriptors.free_objects.pop() {
            Some(index) => {
                descriptors.objects[index] = Some(entry);
                ObjectId(index)
            }
            None => {
                descriptors.objects.push(Some(entry));
                ObjectId(descriptors.objects.len() - 1)
            }
        };
        Ok((descriptors.refer(id, process), id))
    }

    /// Makes another descriptor of the same object.
    pub(crate) fn duplicate(&mut self, fd: c_int) -> Result<c_int, Errno> {
        let process = self.running_process();
        self.duplicate_for(process, fd)
    }

    /// As `duplicate`, for another process of the same host.
    pub(super) fn duplicate_for(&mut self, process: ProcessId, fd: c_int) -> Result<c_int, Errno> {
        let object = self.descriptors.object(fd)?;
        let host = self.descriptors.entry(object).host;
        self.reserve_descriptor(host)?;
        self.descriptors.entry(object).references += 1;
        Ok(self.descriptors.refer(object, process))
    }

    /// Closes the descriptors of a process.
    pub(super) fn close_all_of(&mut self, process: ProcessId) {
        for index in 0..self.descriptors.table.len() {
            if self.descriptors.table[index].is_some_and(|(_, owner)| owner == process) {
                // It is open.
                let _ = self.close(FIRST + index as c_int);
            }
        }
    }

    /// Closes a descriptor, and its object with the last one.
    pub(crate) fn close(&mut self, fd: c_int) -> Result<(), Errno> {
        let id = self.descriptors.object(fd)?;
        let index = (fd - FIRST) as usize;
        let owner = self.descriptors.table[index].take().map(|(_, owner)| owner);
        self.descriptors.free.push(index);
        let entry = self.descriptors.entry(id);
        entry.references -= 1;
        let (host, is_last) = (entry.host, entry.references == 0);
        if owner.is_some_and(|owner| self.processes.get(owner).is_some()) {
            self.hosts[host.0].open_descriptors -= 1;
        }
        if !is_last {
            return Ok(());
        }
        self.unwatch(id);
        let entry = self.descriptors.objects[id.0].take();
        self.descriptors.free_objects.push(id.0);
        let mut entry = entry.expect("exists until its last descriptor is closed");
        self.wake_all(&mut entry.waiting);
        match entry.object {
            Object::Socket(socket) => {
                let now = self.now;
                self.net.close(now, socket);
                self.settle();
            }
            Object::Epoll(epoll) => self.close_epoll(id, epoll),
            Object::File(file) => self.close_file(id, host, file),
            Object::Process(process) => self.unwatch_process(process, id),
            Object::EventFd(_) | Object::TimerFd(_) => {}
        }
        Ok(())
    }

    /// Returns whose object that is.
    pub(crate) fn host_of(&self, id: ObjectId) -> HostId {
        let entry = self.descriptors.get(id);
        entry.expect("an object that is referred to exists").host
    }

    /// Returns an object that a descriptor refers to.
    pub(crate) fn object_of(&self, id: ObjectId) -> &Object {
        let entry = self.descriptors.get(id);
        &entry.expect("an object that is referred to exists").object
    }

    /// Returns the socket of a descriptor.
    pub(crate) fn socket_of(&self, fd: c_int) -> Result<SocketId, Errno> {
        let object = self.descriptors.object(fd)?;
        match self.descriptors.get(object).map(|entry| &entry.object) {
            Some(Object::Socket(socket)) => Ok(*socket),
            _ => Err(libc::ENOTSOCK),
        }
    }

    /// Returns whether calls on the descriptor return instead of waiting.
    pub(crate) fn is_nonblocking(&self, fd: c_int) -> Result<bool, Errno> {
        let object = self.descriptors.object(fd)?;
        Ok(self
            .descriptors
            .get(object)
            .is_some_and(|entry| entry.nonblocking))
    }

    pub(crate) fn set_nonblocking(&mut self, fd: c_int, nonblocking: bool) -> Result<(), Errno> {
        let object = self.descriptors.object(fd)?;
        self.descriptors.entry(object).nonblocking = nonblocking;
        Ok(())
    }

    /// Returns what of an object is ready.
    pub(crate) fn readiness(&self, id: ObjectId) -> u32 {
        let Some(entry) = self.descriptors.get(id) else {
            return 0;
        };
        match &entry.object {
            Object::Epoll(epoll) => epoll.readiness(),
            Object::EventFd(event) => event.readiness(),
            Object::TimerFd(timer) => timer.readiness(),
            Object::Socket(socket) => self.net.readiness(*socket),
            Object::File(_) => ready::IN | ready::OUT,
            Object::Process(process) if self.processes.runs(*process) => 0,
            Object::Process(_) => ready::IN,
        }
    }

    /// Tells those that wait for an object that something has happened to it.
    pub(crate) fn changed(&mut self, id: ObjectId) {
        let Some(entry) = self.descriptors.get_mut(id) else {
            return;
        };
        let mut waiting = std::mem::take(&mut entry.waiting);
        self.wake_all(&mut waiting);
        if let Some(entry) = self.descriptors.get_mut(id) {
            // Its memory is used again.
            entry.waiting = waiting;
        }
        self.tell_epolls(id);
    }

    /// Leaves the running thread with an object, to be woken when something happens to it.
    pub(crate) fn wait_at(&mut self, id: ObjectId) {
        let (thread, _) = self.running();
        let waiting = &mut self.descriptors.entry(id).waiting;
        if !waiting.contains(&thread) {
            waiting.push(thread);
        }
    }
}

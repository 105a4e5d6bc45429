//! Sockets and pipes by their descriptors, and the calls that wait for them.

use super::descriptor::Object;
use super::{Errno, Here, HostId, Kernel, WaitsIn};
use crate::net::{About, Address, From, Into, Manner, Net, Receive, Received, SocketId, total};
use crate::time::Time;
use libc::c_int;
use std::borrow::Cow;
use std::time::Duration;

impl Kernel {
    /// Gives a new socket a descriptor, or closes it.
    fn open_socket(&mut self, id: SocketId, nonblocking: bool) -> Result<c_int, Errno> {
        match self.open(Object::Socket(id), nonblocking) {
            Ok((fd, object)) => {
                self.net.set_object(id, object);
                Ok(fd)
            }
            Err(errno) => {
                let now = self.now;
                self.net.close(now, id);
                self.settle();
                Err(errno)
            }
        }
    }

    fn open_both(
        &mut self,
        (one, two): (SocketId, SocketId),
        nonblocking: bool,
    ) -> Result<[c_int; 2], Errno> {
        let one = self.open_socket(one, nonblocking);
        let two = self.open_socket(two, nonblocking);
        match (one, two) {
            (Ok(one), Ok(two)) => Ok([one, two]),
            (Ok(one), Err(errno)) => {
                self.close(one)?;
                Err(errno)
            }
            (Err(errno), _) => Err(errno),
        }
    }

    /// `socket`, with the flags that may be part of the kind.
    pub(crate) fn socket(
        &mut self,
        domain: c_int,
        kind: c_int,
        protocol: c_int,
    ) -> Result<c_int, Errno> {
        let (kind, nonblocking) = without_flags(kind);
        let (_, host) = self.running();
        let id = self.net.socket(host, domain, kind, protocol)?;
        self.open_socket(id, nonblocking)
    }

    /// `socketpair`.
    pub(crate) fn socket_pair(
        &mut self,
        domain: c_int,
        kind: c_int,
        protocol: c_int,
    ) -> Result<[c_int; 2], Errno> {
        let (kind, nonblocking) = without_flags(kind);
        let (_, host) = self.running();
        let pair = self.net.pair(host, domain, kind, protocol)?;
        self.open_both(pair, nonblocking)
    }

    /// `pipe2`: the end to read and the end to write.
    pub(crate) fn pipe(&mut self, flags: c_int) -> Result<[c_int; 2], Errno> {
        let (_, host) = self.running();
        let pair = self.net.pipe(host)?;
        self.open_both(pair, flags & libc::O_NONBLOCK != 0)
    }

    /// Does something with the socket of a descriptor, at the present time.
    pub(crate) fn with_socket<R>(
        &mut self,
        fd: c_int,
        act: impl FnOnce(&mut Net, SocketId, Time) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let (id, now) = (self.socket_of(fd)?, self.now);
        if self.net.is_pipe(id) {
            return Err(libc::ENOTSOCK);
        }
        let result = act(&mut self.net, id, now);
        self.settle();
        result
    }

    /// Returns the number of bytes that a read would find.
    pub(crate) fn unread(&self, fd: c_int) -> Result<usize, Errno> {
        self.net.unread(self.socket_of(fd)?)
    }

    fn may_open(&self, host: HostId) -> Result<(), Errno> {
        let host = &self.hosts[host.0];
        if host.open_descriptors >= host.descriptor_limit {
            return Err(libc::EMFILE);
        }
        Ok(())
    }
}

fn without_flags(kind: c_int) -> (c_int, bool) {
    let nonblocking = kind & libc::SOCK_NONBLOCK != 0;
    (
        kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC),
        nonblocking,
    )
}

/// Returns what is left of buffers behind the first bytes.
fn behind<'a, 'b>(from: From<'b, 'a>, mut bytes: usize) -> Cow<'b, [&'a [u8]]> {
    if bytes == 0 {
        return Cow::Borrowed(from);
    }
    let mut left = Vec::with_capacity(from.len());
    for part in from {
        let skipped = bytes.min(part.len());
        bytes -= skipped;
        if skipped < part.len() {
            left.push(&part[skipped..]);
        }
    }
    Cow::Owned(left)
}

impl Here {
    /// Tries something until it does not say `EAGAIN`, or until the time is over.
    fn try_for<R>(
        &mut self,
        fd: c_int,
        at_once: bool,
        time: Option<Duration>,
        mut act: impl FnMut(&mut Net, SocketId, Time) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let (object, id) = (self.descriptors.object(fd)?, self.socket_of(fd)?);
        let at_once = at_once || self.is_nonblocking(fd)?;
        let until = time.map(|time| self.now + time);
        // With a limit of time it does not go on after a signal.
        let may_restart = until.is_none();
        let result = self.wait_or_signal(WaitsIn::Socket, until, may_restart, |kernel| {
            if kernel.socket_of(fd) != Ok(id) {
                // Another thread has closed it.
                return Some(Err(libc::EBADF));
            }
            let now = kernel.now;
            let result = act(&mut kernel.net, id, now);
            kernel.settle();
            match result {
                Err(libc::EAGAIN) if !at_once => {
                    kernel.wait_at(object);
                    None
                }
                result => Some(result),
            }
        })?;
        result.unwrap_or(Err(libc::EAGAIN))
    }

    /// `accept4`. Returns the descriptor and the address of the other end.
    pub(crate) fn accept(&mut self, fd: c_int, flags: c_int) -> Result<(c_int, Address), Errno> {
        let (_, host) = self.running();
        self.with_socket(fd, |_, _, _| Ok(()))?;
        self.may_open(host)?;
        let time = self.net.options(self.socket_of(fd)?)?.receive_timeout;
        let child = self.try_for(fd, false, time, |net, id, _| net.accept(id))?;
        // It may be closed already: then nobody knows its address.
        let remote = self.net.remote_address(child).unwrap_or(Address::Nothing);
        let fd = self.open_socket(child, flags & libc::SOCK_NONBLOCK != 0)?;
        Ok((fd, remote))
    }

    /// `connect`.
    pub(crate) fn connect(&mut self, fd: c_int, address: &Address) -> Result<(), Errno> {
        let id = self.socket_of(fd)?;
        self.with_socket(fd, |_, _, _| Ok(()))?;
        let time = self.net.options(id)?.send_timeout;
        let is_nonblocking = self.is_nonblocking(fd)?;
        let started = self.try_for(fd, false, time, |net, id, now| {
            net.connect(now, id, address.clone())
        });
        match started {
            Err(libc::EINPROGRESS | libc::EALREADY) if !is_nonblocking => {
                let ended = self.try_for(fd, false, time, |net, id, _| {
                    net.connected(id).unwrap_or(Err(libc::EAGAIN))
                });
                ended.map_err(|errno| match errno {
                    libc::EAGAIN => libc::EINPROGRESS,
                    errno => errno,
                })
            }
            result => result,
        }
    }

    /// Receives from a socket or a pipe: `read`.
    pub(crate) fn receive(&mut self, fd: c_int, into: Into<'_, '_>) -> Result<usize, Errno> {
        if into.iter().all(|part| part.is_empty()) {
            // Unlike `recv`, `read` never waits for nothing.
            return self.socket_of(fd).map(|_| 0);
        }
        let received = self.receive_message(fd, into, Manner::default())?;
        Ok(received.copied)
    }

    /// Sends to a socket or a pipe: `write`.
    pub(crate) fn transmit(&mut self, fd: c_int, from: From<'_, '_>) -> Result<usize, Errno> {
        self.send_message(fd, from, None, About::default(), Manner::default())
    }

    /// Receives bytes, or a message and what is told of it.
    pub(crate) fn receive_message(
        &mut self,
        fd: c_int,
        into: Into<'_, '_>,
        manner: Manner,
    ) -> Result<Received, Errno> {
        let id = self.socket_of(fd)?;
        let time = self.net.options(id)?.receive_timeout;
        let how = Receive {
            peek: manner.peek,
            waits: !manner.at_once && !self.is_nonblocking(fd)?,
        };
        let mut received = self.try_for(fd, manner.at_once, time, |net, id, now| {
            net.receive(now, id, into, how)
        })?;
        let wanted: usize = into.iter().map(|part| part.len()).sum();
        if !manner.all || manner.peek || received.from.is_some() {
            return Ok(received);
        }
        let mut buffer = Vec::new();
        while received.copied > 0 && received.copied < wanted {
            buffer.resize(wanted - received.copied, 0);
            let more = self.try_for(fd, manner.at_once, time, |net, id, now| {
                net.receive(now, id, &mut [&mut buffer], how)
            });
            let more = match more {
                Ok(more) if more.copied > 0 => more.copied,
                // What there was is the result; an error is told by the next call.
                _ => break,
            };
            let mut skipped = received.copied;
            let mut rest = &buffer[..more];
            for part in into.iter_mut() {
                let start = skipped.min(part.len());
                skipped -= start;
                let n = rest.len().min(part.len() - start);
                part[start..start + n].copy_from_slice(&rest[..n]);
                rest = &rest[n..];
            }
            received.copied += more;
            received.length += more;
        }
        Ok(received)
    }

    /// Sends bytes, or a message. A stream that waits takes all bytes.
    pub(crate) fn send_message(
        &mut self,
        fd: c_int,
        from: From<'_, '_>,
        to: Option<&Address>,
        about: About,
        manner: Manner,
    ) -> Result<usize, Errno> {
        let id = self.socket_of(fd)?;
        let time = self.net.options(id)?.send_timeout;
        let all = total(from);
        let mut sent = 0;
        loop {
            let rest = behind(from, sent);
            let result = self.try_for(fd, manner.at_once, time, |net, id, now| {
                net.send(now, id, &rest, to.cloned(), about)
            });
            match result {
                Ok(n) => sent += n,
                Err(errno) if sent == 0 => return Err(errno),
                Err(_) => return Ok(sent),
            }
            if sent >= all || manner.at_once || self.is_nonblocking(fd)? {
                return Ok(sent);
            }
        }
    }
}

//! Unix sockets: streams, datagrams and sequences of packets within a host.

use super::bytes::{From, Into, Stream, gather, scatter, total};
use super::{About, Address, Domain, Kind, Net, Receive, Received, SocketId, UnixName};
use crate::kernel::{Errno, HostId, ready};
use crate::time::Time;
use libc::c_int;
use std::collections::VecDeque;

/// Bytes that a socket holds, as Linux has it.
pub(super) const BUFFER: usize = 212_992;
/// Datagrams that a socket holds, but for one.
const DATAGRAMS: usize = 10;
/// What every program is told of every other: process, user and group.
pub(super) const CREDENTIALS: [u32; 3] = [1, 1000, 1000];

/// How bytes stay together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Stream,
    Datagram,
    /// Messages, over a connection.
    Packets,
}

impl Style {
    pub(super) fn number(self) -> c_int {
        match self {
            Style::Stream => libc::SOCK_STREAM,
            Style::Datagram => libc::SOCK_DGRAM,
            Style::Packets => libc::SOCK_SEQPACKET,
        }
    }
}

/// A Unix socket.
#[derive(Debug)]
pub(super) struct Unix {
    style: Style,
    name: UnixName,
    role: Role,
    /// What has been received, of a stream.
    bytes: Stream,
    /// What has been received, of messages.
    messages: VecDeque<Message>,
    shut_read: bool,
    shut_write: bool,
    /// Sockets that have found no room here, to be told when there is some.
    blocked: Vec<SocketId>,
}

#[derive(Debug)]
struct Message {
    from: UnixName,
    bytes: Vec<u8>,
}

#[derive(Debug)]
enum Role {
    Alone,
    Listening {
        backlog: usize,
        queue: VecDeque<SocketId>,
    },
    Connected {
        peer: SocketId,
        name: UnixName,
    },
    /// The peer of a connection is gone.
    Ended {
        name: UnixName,
    },
}

impl Unix {
    pub(super) fn new(kind: c_int) -> Result<Unix, Errno> {
        let style = match kind {
            libc::SOCK_STREAM => Style::Stream,
            libc::SOCK_DGRAM => Style::Datagram,
            libc::SOCK_SEQPACKET => Style::Packets,
            _ => return Err(libc::ESOCKTNOSUPPORT),
        };
        Ok(Unix {
            style,
            name: UnixName::Unnamed,
            role: Role::Alone,
            bytes: Stream::default(),
            messages: VecDeque::new(),
            shut_read: false,
            shut_write: false,
            blocked: Vec::new(),
        })
    }

    pub(super) fn style(&self) -> Style {
        self.style
    }

    pub(super) fn name(&self) -> &UnixName {
        &self.name
    }

    pub(super) fn remote(&self) -> Result<UnixName, Errno> {
        match &self.role {
            Role::Connected { name, .. } | Role::Ended { name } => Ok(name.clone()),
            Role::Alone | Role::Listening { .. } => Err(libc::ENOTCONN),
        }
    }

    pub(super) fn is_listening(&self) -> bool {
        matches!(self.role, Role::Listening { .. })
    }

    fn peer(&self) -> Option<SocketId> {
        match self.role {
            Role::Connected { peer, .. } => Some(peer),
            _ => None,
        }
    }

    pub(super) fn unread(&self) -> usize {
        let mut messages = self.messages.iter().map(|message| message.bytes.len());
        match self.style {
            Style::Stream => self.bytes.len(),
            Style::Packets => messages.sum(),
            Style::Datagram => messages.next().unwrap_or(0),
        }
    }

    /// The error of one that has found a socket of another style by its name.
    fn other_style(&self) -> Errno {
        match self.name {
            // In Linux each style has abstract names of its own.
            UnixName::Abstract(_) => libc::ECONNREFUSED,
            _ => libc::EPROTOTYPE,
        }
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.messages.is_empty()
    }

    /// Returns how many bytes fit, of that many.
    fn room(&self, length: usize) -> usize {
        match self.style {
            Style::Stream => (BUFFER - self.bytes.len()).min(length),
            Style::Datagram if self.messages.len() > DATAGRAMS => 0,
            Style::Datagram => length,
            Style::Packets => {
                let held: usize = self
                    .messages
                    .iter()
                    .map(|message| message.bytes.len())
                    .sum();
                if held + length <= BUFFER || held == 0 {
                    length
                } else {
                    0
                }
            }
        }
    }
}

impl Net {
    fn unix(&mut self, id: SocketId) -> Result<&mut Unix, Errno> {
        match &mut self.socket_mut(id)?.kind {
            Kind::Unix(unix) => Ok(unix),
            _ => Err(libc::EOPNOTSUPP),
        }
    }

    fn unix_ref(&self, id: SocketId) -> Option<&Unix> {
        match &self.sockets.get(id.0)?.kind {
            Kind::Unix(unix) => Some(unix),
            _ => None,
        }
    }

    pub(super) fn unix_readiness(&self, unix: &Unix) -> u32 {
        let mut readiness = 0;
        if let Role::Listening { queue, .. } = &unix.role {
            return if queue.is_empty() { 0 } else { ready::IN };
        }
        let is_over = matches!(unix.role, Role::Ended { .. });
        let is_connection = unix.style != Style::Datagram;
        let no_read = unix.shut_read || is_over;
        let no_write = unix.shut_write || is_over;
        if no_read {
            readiness |= ready::IN | ready::RDHUP;
        }
        if (no_read && no_write) || (is_connection && matches!(unix.role, Role::Alone)) {
            readiness |= ready::HUP;
        }
        if !unix.is_empty() {
            readiness |= ready::IN;
        }
        let room = match unix.peer().and_then(|peer| self.unix_ref(peer)) {
            // A quarter of the buffer, as Linux has it.
            Some(peer) => peer.room(BUFFER / 4) == BUFFER / 4,
            None => true,
        };
        if no_write || room {
            readiness |= ready::OUT;
        }
        readiness
    }

    /// Makes two sockets that are connected.
    pub(crate) fn pair(
        &mut self,
        host: HostId,
        domain: c_int,
        kind: c_int,
        protocol: c_int,
    ) -> Result<(SocketId, SocketId), Errno> {
        if domain != libc::AF_UNIX {
            return Err(libc::EOPNOTSUPP);
        }
        let one = self.socket(host, domain, kind, protocol)?;
        let two = self.socket(host, domain, kind, protocol)?;
        for (id, peer) in [(one, two), (two, one)] {
            let name = UnixName::Unnamed;
            self.unix(id)?.role = Role::Connected { peer, name };
        }
        Ok((one, two))
    }

    pub(super) fn bind_unix(&mut self, id: SocketId, name: UnixName) -> Result<(), Errno> {
        let host = self.socket_ref(id)?.base.host;
        if self.unix(id)?.name != UnixName::Unnamed {
            return Err(libc::EINVAL);
        }
        let name = match name {
            // Any abstract name that is free.
            UnixName::Unnamed => (0u32..)
                .map(|n| UnixName::Abstract(format!("{n:05x}").into_bytes()))
                .find(|name| !self.names[host.0].unix.contains_key(name))
                .ok_or(libc::EADDRINUSE)?,
            name => name,
        };
        let names = &mut self.names[host.0].unix;
        if names.contains_key(&name) {
            return Err(libc::EADDRINUSE);
        }
        names.insert(name.clone(), id);
        self.unix(id)?.name = name;
        Ok(())
    }

    /// Removes the name of a socket, as `unlink` does. Returns whether there was one.
    pub(crate) fn unlink_unix(&mut self, host: HostId, path: &[u8]) -> bool {
        self.names[host.0]
            .unix
            .remove(&UnixName::Path(path.to_vec()))
            .is_some()
    }

    pub(super) fn listen_unix(&mut self, id: SocketId, backlog: c_int) -> Result<(), Errno> {
        let limit = usize::try_from(backlog).unwrap_or(4096).min(4096);
        let unix = self.unix(id)?;
        if unix.style == Style::Datagram {
            return Err(libc::EOPNOTSUPP);
        }
        if unix.name == UnixName::Unnamed {
            return Err(libc::EINVAL);
        }
        match &mut unix.role {
            Role::Listening { backlog, .. } => *backlog = limit,
            Role::Alone => {
                unix.role = Role::Listening {
                    backlog: limit,
                    queue: VecDeque::new(),
                };
            }
            Role::Connected { .. } | Role::Ended { .. } => return Err(libc::EINVAL),
        }
        Ok(())
    }

    pub(super) fn accept_unix(&mut self, id: SocketId) -> Result<SocketId, Errno> {
        let unix = self.unix(id)?;
        if unix.style == Style::Datagram {
            return Err(libc::EOPNOTSUPP);
        }
        let Role::Listening { queue, .. } = &mut unix.role else {
            return Err(libc::EINVAL);
        };
        let child = queue.pop_front().ok_or(libc::EAGAIN)?;
        self.there_is_room(id);
        Ok(child)
    }

    /// Finds the socket of a name.
    fn find_unix(&self, host: HostId, name: &UnixName) -> Result<SocketId, Errno> {
        let found = self.names[host.0].unix.get(name).copied();
        found.ok_or(match name {
            UnixName::Path(_) => libc::ENOENT,
            _ => libc::ECONNREFUSED,
        })
    }

    pub(super) fn connect_unix(&mut self, id: SocketId, name: &UnixName) -> Result<(), Errno> {
        let host = self.socket_ref(id)?.base.host;
        let unix = self.unix(id)?;
        let (style, own) = (unix.style, unix.name.clone());
        let state = match unix.role {
            Role::Connected { .. } | Role::Ended { .. } => Err(libc::EISCONN),
            Role::Listening { .. } => Err(libc::EINVAL),
            Role::Alone => Ok(()),
        };
        let to = self.find_unix(host, name)?;
        let target = self.unix(to)?;
        if target.style != style {
            return Err(target.other_style());
        }
        if style == Style::Datagram {
            let role = Role::Connected {
                peer: to,
                name: name.clone(),
            };
            self.unix(id)?.role = role;
            return Ok(());
        }
        let name = target.name.clone();
        let Role::Listening { backlog, queue } = &target.role else {
            return Err(libc::ECONNREFUSED);
        };
        if queue.len() > *backlog {
            target.blocked.push(id);
            return Err(libc::EAGAIN);
        }
        state?;
        let mut child = Unix::new(style.number())?;
        child.name = name.clone();
        child.role = Role::Connected {
            peer: id,
            name: own,
        };
        let child = self.insert(host, Domain::Unix, Kind::Unix(Box::new(child)));
        if let Role::Listening { queue, .. } = &mut self.unix(to)?.role {
            queue.push_back(child);
        }
        self.unix(id)?.role = Role::Connected { peer: child, name };
        self.changed(to);
        self.changed(id);
        Ok(())
    }

    pub(super) fn disconnect_unix(&mut self, id: SocketId) -> Result<(), Errno> {
        let unix = self.unix(id)?;
        if unix.style != Style::Datagram {
            return Err(libc::EINVAL);
        }
        unix.role = Role::Alone;
        Ok(())
    }

    /// Tells those that have found no room at a socket that there is some.
    fn there_is_room(&mut self, id: SocketId) {
        let Ok(unix) = self.unix(id) else { return };
        let peer = unix.peer();
        let blocked = std::mem::take(&mut unix.blocked);
        for id in blocked.into_iter().chain(peer) {
            self.changed(id);
        }
    }

    pub(super) fn send_unix(
        &mut self,
        id: SocketId,
        from: From<'_, '_>,
        to: Option<&UnixName>,
    ) -> Result<usize, Errno> {
        let host = self.socket_ref(id)?.base.host;
        let unix = self.unix(id)?;
        let is_stream = unix.style == Style::Stream;
        if is_stream && (unix.shut_write || matches!(unix.role, Role::Ended { .. })) {
            return Err(libc::EPIPE);
        }
        if let Some(error) = self.socket_mut(id)?.base.error.take() {
            return Err(error);
        }
        let unix = self.unix(id)?;
        if unix.shut_write {
            return Err(libc::EPIPE);
        }
        let (style, name) = (unix.style, unix.name.clone());
        let peer = match (&unix.role, style) {
            (Role::Ended { .. }, Style::Datagram) => Err(libc::ECONNREFUSED),
            (Role::Ended { .. }, _) => Err(libc::EPIPE),
            (Role::Connected { peer, .. }, _) => Ok(*peer),
            _ => Err(libc::ENOTCONN),
        };
        let to = match to {
            Some(to) if style == Style::Datagram => self.find_unix(host, to)?,
            Some(_) if style == Style::Stream => {
                return Err(if peer.is_ok() {
                    libc::EISCONN
                } else {
                    libc::EOPNOTSUPP
                });
            }
            _ => peer?,
        };
        let total = total(from);
        let Some(target) = self.unix_ref(to) else {
            // Of a datagram: the socket was closed, which ends the connection to it.
            self.unix(id)?.role = Role::Alone;
            return Err(libc::ECONNREFUSED);
        };
        if target.style != style {
            return Err(target.other_style());
        }
        if target.shut_read {
            return Err(libc::EPIPE);
        }
        if style != Style::Stream && total > BUFFER {
            return Err(libc::EMSGSIZE);
        }
        let room = target.room(total);
        if room == 0 && total > 0 {
            let target = self.unix(to)?;
            if !target.blocked.contains(&id) {
                target.blocked.push(id);
            }
            return Err(libc::EAGAIN);
        }
        let bytes = gather(from, room);
        let target = self.unix(to)?;
        match style {
            Style::Stream => target.bytes.push(bytes),
            Style::Datagram | Style::Packets => {
                target.messages.push_back(Message { from: name, bytes });
            }
        }
        self.changed(to);
        Ok(room)
    }

    pub(super) fn receive_unix(
        &mut self,
        id: SocketId,
        into: Into<'_, '_>,
        how: Receive,
    ) -> Result<Received, Errno> {
        let error = self.socket_ref(id)?.base.error;
        let unix = self.unix(id)?;
        // Messages are behind an error, bytes of a stream before it.
        if unix.style != Style::Stream {
            if let Some(error) = error {
                self.socket_mut(id)?.base.error = None;
                return Err(error);
            }
        }
        let unix = self.unix(id)?;
        let is_over = unix.shut_read || matches!(unix.role, Role::Ended { .. });
        let received = if let Some(message) = unix.messages.front() {
            let received = Received {
                copied: scatter(&message.bytes, into),
                length: message.bytes.len(),
                from: Some(Address::Unix(message.from.clone())),
                about: About::default(),
            };
            if !how.peek {
                unix.messages.pop_front();
            }
            received
        } else if !unix.bytes.is_empty() {
            Received::stream(unix.bytes.take(into, how.peek))
        } else if let Some(error) = error {
            self.socket_mut(id)?.base.error = None;
            return Err(error);
        } else if is_over {
            return Ok(Received::stream(0));
        } else {
            return match (&unix.role, unix.style) {
                (Role::Alone, Style::Stream) => Err(libc::EINVAL),
                (Role::Alone, Style::Packets) => Err(libc::ENOTCONN),
                (Role::Listening { .. }, Style::Packets) => Err(libc::ENOTCONN),
                (Role::Listening { .. }, _) => Err(libc::EINVAL),
                _ => Err(libc::EAGAIN),
            };
        };
        if !how.peek {
            self.there_is_room(id);
        }
        Ok(received)
    }

    pub(super) fn shutdown_unix(
        &mut self,
        id: SocketId,
        read: bool,
        write: bool,
    ) -> Result<(), Errno> {
        let unix = self.unix(id)?;
        unix.shut_read |= read;
        unix.shut_write |= write;
        let (peer, style) = (unix.peer(), unix.style);
        self.changed(id);
        if let Some(peer) = peer {
            if style != Style::Datagram {
                if let Ok(other) = self.unix(peer) {
                    other.shut_read |= write;
                    other.shut_write |= read;
                }
            }
            self.changed(peer);
        }
        Ok(())
    }

    pub(super) fn close_unix(&mut self, now: Time, id: SocketId) {
        let Some(socket) = self.sockets.remove(id.0) else {
            return;
        };
        let Kind::Unix(unix) = socket.kind else {
            return;
        };
        let names = &mut self.names[socket.base.host.0].unix;
        // It would be better to leave a path, which a file system would keep, because programs expect to have to remove
        // it; hosts have no file system of their own yet.
        if names.get(&unix.name) == Some(&id) {
            names.remove(&unix.name);
        }
        let has_unread = !unix.is_empty();
        for blocked in &unix.blocked {
            self.changed(*blocked);
        }
        match unix.role {
            Role::Listening { queue, .. } => {
                for child in queue {
                    let client = self.unix_ref(child).and_then(Unix::peer);
                    if let Some(Ok(client)) = client.map(|id| self.socket_mut(id)) {
                        client.base.error = Some(libc::ECONNRESET);
                    }
                    self.close(now, child);
                }
            }
            Role::Connected { peer, .. } if unix.style != Style::Datagram => {
                if let Ok(socket) = self.socket_mut(peer) {
                    if has_unread {
                        socket.base.error = Some(libc::ECONNRESET);
                    }
                }
                if let Ok(other) = self.unix(peer) {
                    let name = unix.name.clone();
                    other.role = Role::Ended { name };
                }
                self.changed(peer);
            }
            Role::Connected { .. } | Role::Ended { .. } | Role::Alone => {}
        }
    }
}

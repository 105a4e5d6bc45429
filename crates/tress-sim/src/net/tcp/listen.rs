//! Sockets that wait for connections.

use super::super::{Kind, Net, Protocol, SocketId};
use super::{State, Tcp};
use crate::kernel::{Errno, HostId, ready};
use crate::net::address::Ends;
use crate::net::hash::hash;
use crate::net::packet::Segment;
use crate::time::Time;
use libc::c_int;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// What a socket that listens has.
#[derive(Debug, Default)]
pub(in super::super) struct Listener {
    /// Connections that may wait to be accepted, but for one.
    backlog: usize,
    /// Connections that wait to be accepted.
    queue: VecDeque<SocketId>,
    /// Connections whose handshake has not ended.
    opening: Vec<SocketId>,
}

/// The largest backlog that a program can have, as Linux sets it.
const LARGEST_BACKLOG: usize = 4096;

impl Listener {
    pub(in super::super) fn readiness(&self) -> u32 {
        if self.queue.is_empty() { 0 } else { ready::IN }
    }

    fn is_full(&self) -> bool {
        self.queue.len() > self.backlog
    }
}

impl Net {
    pub(in super::super) fn listen_tcp(
        &mut self,
        id: SocketId,
        backlog: c_int,
    ) -> Result<(), Errno> {
        let backlog = usize::try_from(backlog).map_or(LARGEST_BACKLOG, |n| n.min(LARGEST_BACKLOG));
        let socket = self.socket_mut(id)?;
        match &mut socket.kind {
            Kind::Listener(listener) => {
                listener.backlog = backlog;
                return Ok(());
            }
            Kind::Tcp(tcp) if tcp.state == State::Closed => {}
            _ => return Err(libc::EINVAL),
        }
        if socket.base.local.is_none() {
            self.bind_anywhere(id)?;
        }
        if self.is_listened_at(id) {
            return Err(libc::EADDRINUSE);
        }
        let listener = Listener {
            backlog,
            ..Listener::default()
        };
        self.socket_mut(id)?.kind = Kind::Listener(listener);
        Ok(())
    }

    pub(in super::super) fn accept_tcp(&mut self, id: SocketId) -> Result<SocketId, Errno> {
        let socket = self.socket_mut(id)?;
        if let Some(error) = socket.base.error.take() {
            return Err(error);
        }
        let Kind::Listener(listener) = &mut socket.kind else {
            return Err(libc::EINVAL);
        };
        listener.queue.pop_front().ok_or(libc::EAGAIN)
    }

    /// Returns the socket that listens at an address. Of several, each gets its part of the connections.
    pub(super) fn listener_for(
        &self,
        host: HostId,
        [source, destination]: [SocketAddr; 2],
    ) -> Option<SocketId> {
        let sockets = self.names[host.0].at(Protocol::Tcp, destination.port());
        let mut best = None;
        let mut found: Vec<SocketId> = Vec::new();
        for id in sockets {
            let Some(socket) = self.sockets.get(id.0) else {
                continue;
            };
            let Kind::Listener(_) = socket.kind else {
                continue;
            };
            let Some(rank) = socket.base.matches(destination) else {
                continue;
            };
            if best < Some(rank) {
                best = Some(rank);
                found.clear();
            }
            if best == Some(rank) {
                found.push(*id);
            }
        }
        let n = found.len().max(1) as u64;
        found.get((hash(source) % n) as usize).copied()
    }

    /// A host asks for a connection.
    pub(super) fn asks_for_connection(
        &mut self,
        now: Time,
        id: SocketId,
        [source, destination]: [SocketAddr; 2],
        segment: &Segment,
    ) {
        let Some(socket) = self.sockets.get_mut(id.0) else {
            return;
        };
        let Kind::Listener(listener) = &mut socket.kind else {
            return;
        };
        if listener.is_full() || listener.opening.len() >= LARGEST_BACKLOG {
            // It will ask again.
            return;
        }
        let (host, domain) = (socket.base.host, socket.base.domain);
        let options = socket.base.options.clone();
        let tcp = Tcp {
            listener: Some(id),
            ..Tcp::default()
        };
        let child = self.insert(host, domain, Kind::Tcp(Box::new(tcp)));
        if let Some(Kind::Listener(listener)) =
            self.sockets.get_mut(id.0).map(|socket| &mut socket.kind)
        {
            listener.opening.push(child);
        }
        if let Some(socket) = self.sockets.get_mut(child.0) {
            let base = &mut socket.base;
            base.options = options;
            (base.local, base.remote) = (Some(destination), Some(source));
        }
        let names = &mut self.names[host.0];
        let ends = Ends {
            local: destination,
            remote: source,
        };
        names.connections.insert(ends, child);
        names.join_accepted(destination.port(), child);
        let (number, largest) = (segment.number, segment.largest);
        let answer = self.tcp(now, child, |tcp, cx| {
            tcp.begin(cx);
            tcp.receiver.begin(number);
            tcp.sender.largest = tcp.sender.largest.min(largest);
            tcp.set_state(cx, State::SynReceived);
            tcp.send_first(cx);
            tcp.set_timer(cx);
        });
        debug_assert!(answer.is_ok(), "was just made");
    }

    /// A connection that a listener waits for is established, or gone.
    pub(super) fn has_left(&mut self, id: SocketId, child: SocketId, is_established: bool) {
        let Some(socket) = self.sockets.get_mut(id.0) else {
            return;
        };
        let Kind::Listener(listener) = &mut socket.kind else {
            return;
        };
        listener.opening.retain(|other| *other != child);
        if is_established {
            listener.queue.push_back(child);
            self.changed(id);
        }
    }

    /// Returns whether a connection has to wait for its listener to accept others.
    pub(super) fn is_kept_out(&self, id: SocketId) -> bool {
        let kind = |id: SocketId| self.sockets.get(id.0).map(|socket| &socket.kind);
        let Some(Kind::Tcp(tcp)) = kind(id) else {
            return false;
        };
        match tcp.listener.and_then(kind) {
            Some(Kind::Listener(listener)) => listener.is_full(),
            _ => false,
        }
    }

    /// Breaks the connections that nobody has accepted.
    fn drop_waiting(&mut self, now: Time, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(id.0) else {
            return;
        };
        let Kind::Listener(listener) = &mut socket.kind else {
            return;
        };
        let queue = std::mem::take(&mut listener.queue);
        let opening = std::mem::take(&mut listener.opening);
        for child in queue.into_iter().chain(opening) {
            // One that is gone already needs nothing.
            let _ = self.tcp(now, child, |tcp, cx| {
                tcp.listener = None;
                tcp.is_orphan = true;
                tcp.abort(cx);
            });
            // It may have been broken before.
            self.remove(child);
        }
    }

    pub(in super::super) fn close_listener(&mut self, now: Time, id: SocketId) {
        self.drop_waiting(now, id);
        self.remove(id);
    }

    pub(in super::super) fn stop_listening(
        &mut self,
        now: Time,
        id: SocketId,
    ) -> Result<(), Errno> {
        self.drop_waiting(now, id);
        self.socket_mut(id)?.kind = Kind::Tcp(Box::default());
        self.changed(id);
        Ok(())
    }
}

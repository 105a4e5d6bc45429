//! The simulated network: sockets of all hosts, and what is on its way between them.
//!
//! It is a model: it makes no system call and knows no thread. The kernel calls it for what programs do, and tells it
//! when an event that it has scheduled is due. It answers at once; a call that would have to wait fails with `EAGAIN`
//! or `EINPROGRESS`, and [`Net::take_changed`] says later which objects are worth another look.
//!
//! | file | holds |
//! |---|---|
//! | `wire` | machines, directed links between them, packets in flight |
//! | `tcp` | connections: states, sending, receiving, timers |
//! | `udp` | datagrams, multicast, broadcast |
//! | `unix`, `pipe` | what stays within a host, and needs no packets |
//! | `address` | ports and names, and who has which |
//! | `options` | socket options |
//! | `names` | names of hosts, and what happens to hosts |
//!
//! All that is left to chance is drawn from one stream, packet by packet, so that a run can be repeated.

mod address;
mod bytes;
mod config;
mod hash;
mod names;
mod options;
mod packet;
mod pipe;
mod slab;
mod tcp;
#[cfg(test)]
mod test;
mod udp;
mod unix;
mod wire;

pub(crate) use address::{Address, Domain, UnixName};
pub(crate) use bytes::{From, Into, total};
pub use config::Latency;
pub(crate) use config::{Config, Overrides};
pub(crate) use names::How;
pub(crate) use options::{Options, Value};
pub use packet::Kind as PacketKind;
pub use packet::Loss;
pub(crate) use packet::{End, Packet, PacketId, Record};

use crate::choices::Made;
use crate::draw::Stream;
use crate::kernel::{Errno, HostId, ObjectId, ready};
use crate::time::Time;
use address::{Names, Protocol};
use libc::c_int;
use packet::Body;
use slab::{Key, Slab};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use tcp::{Listener, Tcp};
use udp::Udp;
use unix::Unix;
use wire::Wire;

/// A socket, or an end of a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SocketId(Key);

/// Something of the network that happens later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet arrives, unless it is gone.
    Arrive(PacketId),
    /// A timer of a socket may be due.
    Timer(SocketId),
}

/// The network, with all its sockets.
#[derive(Debug)]
pub(crate) struct Net {
    /// What links and sockets are like. May be changed at any time.
    pub(crate) config: Config,
    wire: Wire,
    sockets: Slab<Socket>,
    /// Who has which port, by host.
    names: Vec<Names>,
    /// Addresses by the names of hosts.
    lookup: BTreeMap<String, Vec<IpAddr>>,
    /// Hosts that have joined each group, and how many of their sockets have.
    groups: BTreeMap<IpAddr, BTreeMap<HostId, usize>>,
}

#[derive(Debug)]
struct Socket {
    base: Base,
    kind: Kind,
}

/// What all kinds of sockets have.
#[derive(Debug)]
struct Base {
    id: SocketId,
    host: HostId,
    /// None before it was accepted, and after it was closed.
    object: Option<ObjectId>,
    domain: Domain,
    options: Options,
    /// Told once: by `SO_ERROR`, or by the next call.
    error: Option<Errno>,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
    /// Its address was chosen when it connected; of TCP also the port.
    is_bound_by_connect: bool,
    /// Its program is gone: all calls fail.
    is_dead: bool,
}

#[derive(Debug)]
enum Kind {
    Tcp(Box<Tcp>),
    Listener(Listener),
    Udp(Box<Udp>),
    Unix(Box<Unix>),
    Reader(pipe::Reader),
    Writer(pipe::Writer),
}

impl Kind {
    /// The protocol, of those that have ports.
    fn ports(&self) -> Option<Protocol> {
        match self {
            Kind::Tcp(_) | Kind::Listener(_) => Some(Protocol::Tcp),
            Kind::Udp(_) => Some(Protocol::Udp),
            Kind::Unix(_) | Kind::Reader(_) | Kind::Writer(_) => None,
        }
    }

    fn protocol(&self) -> c_int {
        match self.ports() {
            Some(Protocol::Tcp) => libc::IPPROTO_TCP,
            Some(Protocol::Udp) => libc::IPPROTO_UDP,
            None => 0,
        }
    }

    fn type_number(&self) -> c_int {
        match self {
            Kind::Tcp(_) | Kind::Listener(_) => libc::SOCK_STREAM,
            Kind::Udp(_) => libc::SOCK_DGRAM,
            Kind::Unix(unix) => unix.style().number(),
            Kind::Reader(_) | Kind::Writer(_) => 0,
        }
    }

    fn is_listening(&self) -> bool {
        match self {
            Kind::Listener(_) => true,
            Kind::Unix(unix) => unix.is_listening(),
            _ => false,
        }
    }
}

/// What a socket acts on besides itself.
struct Cx<'a> {
    now: Time,
    config: &'a Config,
    base: &'a mut Base,
    wire: &'a mut Wire,
}

impl Cx<'_> {
    /// Something has happened that those that wait for the socket want to know.
    #[inline]
    fn changed(&mut self) {
        if let Some(object) = self.base.object {
            self.wire.changed.push_back(object);
        }
    }
}

/// How a call on a socket behaves, by its flags.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner {
    /// It returns instead of waiting.
    pub(crate) at_once: bool,
    /// What is received stays there.
    pub(crate) peek: bool,
    /// It waits until all buffers are full.
    pub(crate) all: bool,
}

impl Manner {
    /// Reads the flags of a call that sends or receives.
    pub(crate) fn of(flags: c_int) -> Manner {
        Manner {
            at_once: flags & libc::MSG_DONTWAIT != 0,
            peek: flags & libc::MSG_PEEK != 0,
            all: flags & libc::MSG_WAITALL != 0,
        }
    }
}

/// How a call wants to receive.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Receive {
    /// What is received stays there.
    pub(crate) peek: bool,
    /// It waits if there is nothing, or could.
    pub(crate) waits: bool,
}

/// What a call has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    /// Bytes that were copied.
    pub(crate) copied: usize,
    /// Bytes that there were, of a message.
    pub(crate) length: usize,
    /// Who has sent it, where messages are sent one by one.
    pub(crate) from: Option<Address>,
    pub(crate) about: About,
}

/// What is told besides the bytes of a datagram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// The address that it was sent to.
    pub(crate) destination: Option<IpAddr>,
    pub(crate) service: Option<u8>,
    pub(crate) hops: Option<u8>,
}

impl Received {
    fn stream(copied: usize) -> Received {
        Received {
            copied,
            length: copied,
            from: None,
            about: About::default(),
        }
    }
}

impl Net {
    pub(crate) fn new(stream: Stream, made: Rc<Made>, config: Config) -> Net {
        Net {
            config,
            wire: Wire::new(stream, made),
            sockets: Slab::default(),
            names: Vec::new(),
            lookup: BTreeMap::new(),
            groups: BTreeMap::new(),
        }
    }

    fn insert(&mut self, host: HostId, domain: Domain, kind: Kind) -> SocketId {
        let key = self.sockets.insert_with(|key| {
            let base = Base {
                id: SocketId(key),
                host,
                object: None,
                domain,
                options: Options::default(),
                error: None,
                local: None,
                remote: None,
                is_bound_by_connect: false,
                is_dead: false,
            };
            Socket { base, kind }
        });
        SocketId(key)
    }

    #[inline]
    fn socket_ref(&self, id: SocketId) -> Result<&Socket, Errno> {
        self.sockets
            .get(id.0)
            .filter(|socket| !socket.base.is_dead)
            .ok_or(libc::ENETDOWN)
    }

    #[inline]
    fn socket_mut(&mut self, id: SocketId) -> Result<&mut Socket, Errno> {
        self.sockets
            .get_mut(id.0)
            .filter(|socket| !socket.base.is_dead)
            .ok_or(libc::ENETDOWN)
    }

    fn changed(&mut self, id: SocketId) {
        let object = self.sockets.get(id.0).and_then(|socket| socket.base.object);
        self.wire.changed.extend(object);
    }

    /// Makes a socket of a host.
    pub(crate) fn socket(
        &mut self,
        host: HostId,
        domain: c_int,
        kind: c_int,
        protocol: c_int,
    ) -> Result<SocketId, Errno> {
        if !self.wire.machines[host.0].runs {
            return Err(libc::ENETDOWN);
        }
        let domain = match domain {
            libc::AF_INET => Domain::V4,
            libc::AF_INET6 => Domain::V6,
            libc::AF_UNIX => Domain::Unix,
            _ => return Err(libc::EAFNOSUPPORT),
        };
        let kind = match (domain, kind, protocol) {
            (Domain::Unix, kind, 0) => Kind::Unix(Box::new(Unix::new(kind)?)),
            (Domain::Unix, ..) => return Err(libc::EPROTONOSUPPORT),
            (_, libc::SOCK_STREAM, 0 | libc::IPPROTO_TCP) => Kind::Tcp(Box::default()),
            (_, libc::SOCK_DGRAM, 0 | libc::IPPROTO_UDP) => Kind::Udp(Box::default()),
            (_, libc::SOCK_STREAM | libc::SOCK_DGRAM, _) => return Err(libc::EPROTONOSUPPORT),
            (_, libc::SOCK_RAW, _) => return Err(libc::EPERM),
            _ => return Err(libc::ESOCKTNOSUPPORT),
        };
        Ok(self.insert(host, domain, kind))
    }

    /// Says which object the descriptors of a socket refer to.
    pub(crate) fn set_object(&mut self, id: SocketId, object: ObjectId) {
        if let Some(socket) = self.sockets.get_mut(id.0) {
            socket.base.object = Some(object);
        }
    }

    /// Returns an object whose readiness may have changed.
    #[inline]
    pub(crate) fn take_changed(&mut self) -> Option<ObjectId> {
        self.wire.changed.pop_front()
    }

    /// Returns something that is to happen, to be told to [`happen`](Net::happen) when it is due.
    #[inline]
    pub(crate) fn take_scheduled(&mut self) -> Option<(Time, Event)> {
        self.wire.scheduled.pop_front()
    }

    /// Returns what of a socket is ready.
    #[inline]
    pub(crate) fn readiness(&self, id: SocketId) -> u32 {
        let Ok(socket) = self.socket_ref(id) else {
            return ready::IN | ready::OUT | ready::ERR | ready::HUP | ready::RDHUP;
        };
        let error = if socket.base.error.is_some() {
            ready::ERR
        } else {
            0
        };
        error
            | match &socket.kind {
                Kind::Tcp(tcp) => tcp.readiness(&self.config, &socket.base),
                Kind::Listener(listener) => listener.readiness(),
                Kind::Udp(udp) => udp.readiness(),
                Kind::Unix(unix) => self.unix_readiness(unix),
                Kind::Reader(reader) => reader.readiness(),
                Kind::Writer(writer) => self.writer_readiness(writer),
            }
    }

    /// Handles an event that is due.
    #[inline]
    pub(crate) fn happen(&mut self, now: Time, event: Event) {
        match event {
            Event::Timer(id) => self.tcp_timer(now, id),
            Event::Arrive(id) => {
                let Some(arrived) = self.wire.arrive(now, id) else {
                    return;
                };
                let ([_, to], [source, destination]) = (arrived.hosts, arrived.addresses);
                match arrived.body {
                    Body::Segment(segment) => {
                        self.segment_arrives(now, to, arrived.addresses, segment);
                    }
                    Body::Datagram(payload) => {
                        self.datagram_arrives(now, arrived.hosts, arrived.addresses, payload);
                    }
                    Body::Unreachable => self.is_unreachable(to, destination, source),
                }
            }
        }
    }

    /// Closes a socket that no descriptor refers to any more.
    pub(crate) fn close(&mut self, now: Time, id: SocketId) {
        let Ok(socket) = self.socket_mut(id) else {
            return;
        };
        socket.base.object = None;
        match &socket.kind {
            Kind::Tcp(_) => self.close_tcp(now, id),
            Kind::Listener(_) => self.close_listener(now, id),
            Kind::Udp(_) => self.close_udp(id),
            Kind::Unix(_) => self.close_unix(now, id),
            Kind::Reader(_) | Kind::Writer(_) => self.close_pipe(id),
        }
    }

    /// Removes a socket and what it is known by.
    fn remove(&mut self, id: SocketId) {
        let Some(Socket { base, kind }) = self.sockets.remove(id.0) else {
            return;
        };
        let names = &mut self.names[base.host.0];
        if let (Some(local), Some(protocol)) = (base.local, kind.ports()) {
            names.leave(protocol, local.port(), id);
        }
    }

    /// Gives a socket a local address.
    pub(crate) fn bind(&mut self, id: SocketId, address: Address) -> Result<(), Errno> {
        match (address, self.socket_ref(id)?.base.domain) {
            (Address::Internet(address), Domain::V4 | Domain::V6) => self.bind_port(id, address),
            (Address::Unix(name), Domain::Unix) => self.bind_unix(id, name),
            (Address::Nothing, Domain::V4 | Domain::V6) => Err(libc::EAFNOSUPPORT),
            _ => Err(libc::EINVAL),
        }
    }

    /// Makes a socket wait for connections.
    pub(crate) fn listen(&mut self, id: SocketId, backlog: c_int) -> Result<(), Errno> {
        match self.socket_ref(id)?.kind {
            Kind::Tcp(_) | Kind::Listener(_) => self.listen_tcp(id, backlog),
            Kind::Unix(_) => self.listen_unix(id, backlog),
            _ => Err(libc::EOPNOTSUPP),
        }
    }

    /// Returns a connection that a socket has waited for, which has no object yet. `EAGAIN`: there is none.
    pub(crate) fn accept(&mut self, id: SocketId) -> Result<SocketId, Errno> {
        match self.socket_ref(id)?.kind {
            Kind::Listener(_) => self.accept_tcp(id),
            Kind::Tcp(_) => Err(libc::EINVAL),
            Kind::Unix(_) => self.accept_unix(id),
            _ => Err(libc::EOPNOTSUPP),
        }
    }

    /// Connects a socket. `EINPROGRESS`: see [`connected`](Net::connected). `EAGAIN`: to be tried again.
    pub(crate) fn connect(
        &mut self,
        now: Time,
        id: SocketId,
        address: Address,
    ) -> Result<(), Errno> {
        match (&self.socket_ref(id)?.kind, address) {
            (Kind::Tcp(_), Address::Internet(address)) => self.connect_tcp(now, id, address),
            (Kind::Tcp(_), Address::Nothing) => self.disconnect_tcp(now, id),
            (Kind::Listener(_), Address::Internet(_)) => Err(libc::EISCONN),
            (Kind::Udp(_), Address::Internet(address)) => self.connect_udp(id, address),
            (Kind::Udp(_), Address::Nothing) => self.disconnect_udp(id),
            (Kind::Unix(_), Address::Unix(name)) => self.connect_unix(id, &name),
            (Kind::Unix(_), Address::Nothing) => self.disconnect_unix(id),
            (Kind::Reader(_) | Kind::Writer(_), _) => Err(libc::ENOTSOCK),
            _ => Err(libc::EAFNOSUPPORT),
        }
    }

    /// Sends bytes, to an address or to what the socket is connected to. Returns how many were taken.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Time,
        id: SocketId,
        from: From<'_, '_>,
        to: Option<Address>,
        about: About,
    ) -> Result<usize, Errno> {
        match (&self.socket_ref(id)?.kind, to) {
            // An address is ignored where there is a connection.
            (Kind::Tcp(_), _) => self.send_tcp(now, id, from),
            (Kind::Listener(_), _) => Err(libc::EPIPE),
            (Kind::Udp(_), None | Some(Address::Nothing)) => {
                self.send_udp(now, id, from, None, about)
            }
            (Kind::Udp(_), Some(Address::Internet(to))) => {
                self.send_udp(now, id, from, Some(to), about)
            }
            (Kind::Udp(_), Some(Address::Unix(_))) => Err(libc::EAFNOSUPPORT),
            (Kind::Unix(_), None | Some(Address::Nothing)) => self.send_unix(id, from, None),
            (Kind::Unix(_), Some(Address::Unix(name))) => self.send_unix(id, from, Some(&name)),
            (Kind::Unix(_), Some(Address::Internet(_))) => Err(libc::EINVAL),
            (Kind::Writer(_), _) => self.write_pipe(id, from),
            (Kind::Reader(_), _) => Err(libc::EBADF),
        }
    }

    /// Receives bytes, or a message.
    pub(crate) fn receive(
        &mut self,
        now: Time,
        id: SocketId,
        into: Into<'_, '_>,
        how: Receive,
    ) -> Result<Received, Errno> {
        match &self.socket_ref(id)?.kind {
            Kind::Tcp(_) => self.receive_tcp(now, id, into, how).map(Received::stream),
            Kind::Listener(_) => Err(libc::ENOTCONN),
            Kind::Udp(_) => self.receive_udp(id, into, how),
            Kind::Unix(_) => self.receive_unix(id, into, how),
            Kind::Reader(_) => self.read_pipe(id, into).map(Received::stream),
            Kind::Writer(_) => Err(libc::EBADF),
        }
    }

    /// Returns the number of bytes that can be read, of the first message where there are messages.
    pub(crate) fn unread(&self, id: SocketId) -> Result<usize, Errno> {
        match &self.socket_ref(id)?.kind {
            Kind::Tcp(tcp) => Ok(tcp.unread()),
            Kind::Listener(_) => Err(libc::EINVAL),
            Kind::Udp(udp) => Ok(udp.unread()),
            Kind::Unix(unix) => Ok(unix.unread()),
            Kind::Reader(reader) => Ok(reader.unread()),
            Kind::Writer(writer) => Ok(self.unread(writer.reader()).unwrap_or(0)),
        }
    }

    /// Ends one direction of a connection, or both.
    pub(crate) fn shutdown(&mut self, now: Time, id: SocketId, how: c_int) -> Result<(), Errno> {
        let (read, write) = match how {
            libc::SHUT_RD => (true, false),
            libc::SHUT_WR => (false, true),
            libc::SHUT_RDWR => (true, true),
            _ => return Err(libc::EINVAL),
        };
        match &self.socket_ref(id)?.kind {
            Kind::Tcp(_) => self.shutdown_tcp(now, id, read, write),
            Kind::Listener(_) if read => self.stop_listening(now, id),
            Kind::Listener(_) => Ok(()),
            Kind::Udp(_) => self.shutdown_udp(id, read, write),
            Kind::Unix(_) => self.shutdown_unix(id, read, write),
            Kind::Reader(_) | Kind::Writer(_) => Err(libc::ENOTSOCK),
        }
    }

    /// Returns the local address, as the program sees it.
    pub(crate) fn local_address(&self, id: SocketId) -> Result<Address, Errno> {
        let Socket { base, kind } = self.socket_ref(id)?;
        match kind {
            Kind::Unix(unix) => Ok(Address::Unix(unix.name().clone())),
            Kind::Reader(_) | Kind::Writer(_) => Err(libc::ENOTSOCK),
            _ => Ok(Address::Internet(
                base.shown(base.local.unwrap_or(base.nowhere())),
            )),
        }
    }

    /// Returns the address of the other end, as the program sees it.
    pub(crate) fn remote_address(&self, id: SocketId) -> Result<Address, Errno> {
        let Socket { base, kind } = self.socket_ref(id)?;
        match kind {
            Kind::Unix(unix) => unix.remote().map(Address::Unix),
            Kind::Reader(_) | Kind::Writer(_) => Err(libc::ENOTSOCK),
            Kind::Tcp(tcp) if !tcp.is_connected() => Err(libc::ENOTCONN),
            _ => {
                let remote = base.remote.ok_or(libc::ENOTCONN)?;
                Ok(Address::Internet(base.shown(remote)))
            }
        }
    }

    /// Returns the family of a socket's addresses.
    pub(crate) fn domain(&self, id: SocketId) -> Result<Domain, Errno> {
        Ok(self.socket_ref(id)?.base.domain)
    }

    /// Returns whether it is an end of a pipe.
    pub(crate) fn is_pipe(&self, id: SocketId) -> bool {
        let socket = self.sockets.get(id.0);
        socket.is_some_and(|socket| matches!(socket.kind, Kind::Reader(_) | Kind::Writer(_)))
    }
}

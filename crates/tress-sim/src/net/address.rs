//! Addresses of sockets, and who has which port.

use super::hash::Table;
use super::{Base, Net, SocketId};
use crate::kernel::{Errno, HostId};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Domain {
    V4,
    V6,
    Unix,
}

/// An address as programs give and get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    Internet(SocketAddr),
    Unix(UnixName),
    /// `AF_UNSPEC`: to connect to it means to disconnect.
    Nothing,
}

/// The name of a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum UnixName {
    Unnamed,
    Path(Vec<u8>),
    Abstract(Vec<u8>),
}

/// Protocols that have ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

/// The two addresses of an end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
}

impl Hash for Ends {
    /// Two words: each packet is looked up by them.
    fn hash<H: Hasher>(&self, state: &mut H) {
        for address in [&self.local, &self.remote] {
            let ip = match address {
                SocketAddr::V4(address) => address.ip().to_bits().into(),
                SocketAddr::V6(address) => {
                    let bits = address.ip().to_bits();
                    (bits >> 64) as u64 ^ bits as u64
                }
            };
            state.write_u64(ip.rotate_left(16) ^ u64::from(address.port()));
        }
    }
}

/// Who has which name of a host.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Sockets that are bound to each port, in the order in which they were.
    ports: BTreeMap<(Protocol, u16), Vec<SocketId>>,
    /// Ends of connections, by the local and the remote address.
    pub(super) connections: Table<Ends, SocketId>,
    /// Connections that were accepted at each port, which nobody else may bind to unless all agree.
    accepted: BTreeMap<u16, BTreeSet<SocketId>>,
    pub(super) unix: BTreeMap<UnixName, SocketId>,
    next_port: u16,
}

impl Names {
    pub(super) fn at(&self, protocol: Protocol, port: u16) -> &[SocketId] {
        self.ports.get(&(protocol, port)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn leave(&mut self, protocol: Protocol, port: u16, id: SocketId) {
        if let Some(sockets) = self.ports.get_mut(&(protocol, port)) {
            sockets.retain(|other| *other != id);
            if sockets.is_empty() {
                self.ports.remove(&(protocol, port));
            }
        }
    }

    pub(super) fn join_accepted(&mut self, port: u16, id: SocketId) {
        self.accepted.entry(port).or_default().insert(id);
    }

    pub(super) fn leave_accepted(&mut self, port: u16, id: SocketId) {
        if let Some(sockets) = self.accepted.get_mut(&port) {
            sockets.remove(&id);
            if sockets.is_empty() {
                self.accepted.remove(&port);
            }
        }
    }

    /// Returns whether nobody has any name.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.ports.is_empty()
            && self.connections.is_empty()
            && self.accepted.is_empty()
            && self.unix.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.accepted.clear();
        self.ports.clear();
        self.connections.clear();
        self.unix.clear();
    }
}

/// Returns an address of the fourth version that is written as one of the sixth as what it is.
pub(super) fn plain(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::new(v4.into(), v6.port()),
            // Zones and flows are not part of the model.
            None => SocketAddr::new((*v6.ip()).into(), v6.port()),
        },
        v4 @ SocketAddr::V4(_) => v4,
    }
}

/// Returns whether packets to `to` are for a socket that is bound to `bound`.
fn covers(bound: IpAddr, only_v6: bool, to: IpAddr) -> bool {
    match bound {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => to.is_ipv4(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => to.is_ipv6() || !only_v6,
        bound => bound == to,
    }
}

impl Base {
    /// Returns whether packets to that address are for this socket, and how exactly it has asked for them.
    pub(super) fn matches(&self, to: SocketAddr) -> Option<u32> {
        let local = self.local?;
        let is_ours =
            local.port() == to.port() && covers(local.ip(), self.options.only_v6, to.ip());
        is_ours.then(|| u32::from(!local.ip().is_unspecified()))
    }

    /// An address as a program with this socket sees it.
    pub(super) fn shown(&self, address: SocketAddr) -> SocketAddr {
        match (self.domain, address) {
            (Domain::V6, SocketAddr::V4(v4)) => {
                SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port())
            }
            _ => address,
        }
    }

    /// What is shown before the socket has an address.
    pub(super) fn nowhere(&self) -> SocketAddr {
        match self.domain {
            Domain::V6 => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0),
            Domain::V4 | Domain::Unix => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0),
        }
    }
}

impl Net {
    /// Checks that an address is of the family of a socket, and returns it as the model has it.
    pub(super) fn of_family(base: &Base, address: SocketAddr) -> Result<SocketAddr, Errno> {
        match (base.domain, address) {
            (Domain::V4, SocketAddr::V6(_)) => Err(libc::EAFNOSUPPORT),
            (Domain::V6, SocketAddr::V4(_)) => Err(libc::EAFNOSUPPORT),
            (Domain::V6, v6) if base.options.only_v6 && plain(v6).is_ipv4() => {
                Err(libc::ENETUNREACH)
            }
            _ => Ok(plain(address)),
        }
    }

    /// Returns the address from which a host sends to another one.
    pub(super) fn source(&self, host: HostId, to: IpAddr) -> Result<IpAddr, Errno> {
        let own = self.wire.machines[host.0].address;
        match to {
            to if to.is_loopback() => Ok(to),
            to if to.is_ipv4() == own.is_ipv4() => Ok(own),
            // Multicast within the host, and the unspecified address, which means it.
            IpAddr::V6(to) if to.is_unspecified() => Ok(Ipv6Addr::LOCALHOST.into()),
            IpAddr::V4(to) if to.is_unspecified() => Ok(Ipv4Addr::LOCALHOST.into()),
            _ => Err(libc::ENETUNREACH),
        }
    }

    /// Binds a socket of a protocol with ports.
    pub(super) fn bind_port(&mut self, id: SocketId, address: SocketAddr) -> Result<(), Errno> {
        let socket = self.socket_ref(id)?;
        let Some(protocol) = socket.kind.ports() else {
            return Err(libc::EOPNOTSUPP);
        };
        let base = &socket.base;
        let host = base.host;
        if base.local.is_some() {
            return Err(libc::EINVAL);
        }
        let address = Net::of_family(base, address)?;
        let own = self.wire.machines[host.0].address;
        let ip = address.ip();
        let is_local = ip.is_unspecified() || ip.is_loopback() || ip == own;
        if !is_local && !(protocol == Protocol::Udp && (ip.is_multicast() || is_broadcast(ip))) {
            return Err(libc::EADDRNOTAVAIL);
        }
        let port = match address.port() {
            0 => self.free_port(id, protocol, ip)?,
            port if self.is_taken(id, protocol, ip, port) => return Err(libc::EADDRINUSE),
            port => port,
        };
        self.take_port(id, protocol, SocketAddr::new(ip, port));
        Ok(())
    }

    pub(super) fn take_port(&mut self, id: SocketId, protocol: Protocol, local: SocketAddr) {
        let Ok(socket) = self.socket_mut(id) else {
            return;
        };
        socket.base.local = Some(local);
        let host = socket.base.host;
        self.names[host.0]
            .ports
            .entry((protocol, local.port()))
            .or_default()
            .push(id);
    }

    /// Returns whether another socket keeps this one from an address.
    fn is_taken(&self, id: SocketId, protocol: Protocol, ip: IpAddr, port: u16) -> bool {
        let Ok(socket) = self.socket_ref(id) else {
            return true;
        };
        let this = &socket.base;
        let names = &self.names[this.host.0];
        let accepted = names
            .accepted
            .get(&port)
            .filter(|_| protocol == Protocol::Tcp);
        let mut others = names
            .at(protocol, port)
            .iter()
            .chain(accepted.into_iter().flatten());
        others.any(|other| {
            let Some(other) = self.sockets.get(other.0) else {
                return false;
            };
            let base = &other.base;
            let Some(local) = base.local else {
                return false;
            };
            let overlap = covers(local.ip(), base.options.only_v6, ip)
                || covers(ip, this.options.only_v6, local.ip());
            let both = |option: fn(&Base) -> bool| option(this) && option(base);
            let may_reuse = both(|base| base.options.reuse_address)
                && (protocol == Protocol::Udp || !other.kind.is_listening());
            overlap && !may_reuse && !both(|base| base.options.reuse_port)
        })
    }

    /// Returns whether a socket that is about to listen meets another one that does.
    pub(super) fn is_listened_at(&self, id: SocketId) -> bool {
        let Ok(socket) = self.socket_ref(id) else {
            return true;
        };
        let Some(local) = socket.base.local else {
            return false;
        };
        self.names[socket.base.host.0]
            .at(Protocol::Tcp, local.port())
            .iter()
            .any(|other| {
                let Some(socket_of) = self.sockets.get(other.0).filter(|_| *other != id) else {
                    return false;
                };
                let base = &socket_of.base;
                let Some(of) = base.local else { return false };
                let overlap = covers(of.ip(), base.options.only_v6, local.ip())
                    || covers(local.ip(), socket.base.options.only_v6, of.ip());
                let share = base.options.reuse_port && socket.base.options.reuse_port;
                socket_of.kind.is_listening() && overlap && !share
            })
    }

    fn next_port(&mut self, host: HostId) -> u16 {
        let (first, last) = self.config.ephemeral_ports.clone().into_inner();
        let next = &mut self.names[host.0].next_port;
        *next = if (first..last).contains(next) {
            *next + 1
        } else {
            first
        };
        *next
    }

    fn free_port(&mut self, id: SocketId, protocol: Protocol, ip: IpAddr) -> Result<u16, Errno> {
        let host = self.socket_ref(id)?.base.host;
        for _ in self.config.ephemeral_ports.clone() {
            let port = self.next_port(host);
            // A port that is chosen is nobody else's, even where sharing is allowed.
            if self.names[host.0].at(protocol, port).is_empty()
                || (!self.is_taken(id, protocol, ip, port) && protocol == Protocol::Tcp)
            {
                return Ok(port);
            }
        }
        Err(libc::EADDRINUSE)
    }

    /// Binds a TCP socket that is about to connect: the port may be shared by connections to others.
    pub(super) fn bind_to_connect(
        &mut self,
        id: SocketId,
        ip: IpAddr,
        remote: SocketAddr,
    ) -> Result<(), Errno> {
        let host = self.socket_ref(id)?.base.host;
        for _ in self.config.ephemeral_ports.clone() {
            let local = SocketAddr::new(ip, self.next_port(host));
            let names = &self.names[host.0];
            let is_free = names.at(Protocol::Tcp, local.port()).iter().all(|other| {
                self.sockets
                    .get(other.0)
                    .is_none_or(|other| other.base.is_bound_by_connect)
            });
            if is_free && !names.connections.contains_key(&Ends { local, remote }) {
                self.take_port(id, Protocol::Tcp, local);
                self.socket_mut(id)?.base.is_bound_by_connect = true;
                return Ok(());
            }
        }
        Err(libc::EADDRNOTAVAIL)
    }

    /// Binds a socket to any port, before it sends or listens.
    pub(super) fn bind_anywhere(&mut self, id: SocketId) -> Result<(), Errno> {
        let nowhere = self.socket_ref(id)?.base.nowhere();
        match self.bind_port(id, nowhere) {
            Err(libc::EADDRINUSE) => Err(libc::EAGAIN),
            result => result,
        }
    }
}

pub(super) fn is_broadcast(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(Ipv4Addr::BROADCAST))
}

//! UDP: datagrams, to one host, to the members of a group or to all.

use super::address::{Protocol, is_broadcast};
use super::bytes::{From, Into, gather, scatter, total};
use super::hash::hash;
use super::packet::{Body, Payload};
use super::tcp::target;
use super::{About, Address, Domain, Kind, Net, Receive, Received, SocketId};
use crate::kernel::{Errno, HostId, ready};
use crate::time::Time;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A socket for datagrams.
#[derive(Debug, Default)]
pub(super) struct Udp {
    queue: VecDeque<Datagram>,
    groups: Vec<IpAddr>,
    shut_read: bool,
    shut_write: bool,
}

#[derive(Debug)]
struct Datagram {
    source: SocketAddr,
    destination: IpAddr,
    payload: Payload,
}

/// Bytes that fit into a datagram.
const LARGEST: usize = 65_507;
const HEADERS: usize = 28;

impl Udp {
    pub(super) fn readiness(&self) -> u32 {
        let mut readiness = ready::OUT;
        if !self.queue.is_empty() {
            readiness |= ready::IN;
        }
        if self.shut_read {
            readiness |= ready::IN | ready::RDHUP;
        }
        if self.shut_read && self.shut_write {
            readiness |= ready::HUP;
        }
        readiness
    }

    pub(super) fn unread(&self) -> usize {
        self.queue
            .front()
            .map_or(0, |datagram| datagram.payload.bytes.len())
    }

    pub(super) fn groups(&self) -> &[IpAddr] {
        &self.groups
    }
}

impl Net {
    fn udp(&mut self, id: SocketId) -> Result<&mut Udp, Errno> {
        match &mut self.socket_mut(id)?.kind {
            Kind::Udp(udp) => Ok(udp),
            _ => Err(libc::EOPNOTSUPP),
        }
    }

    pub(super) fn connect_udp(&mut self, id: SocketId, address: SocketAddr) -> Result<(), Errno> {
        let base = &self.socket_ref(id)?.base;
        let remote = target(Net::of_family(base, address)?);
        let (host, local) = (base.host, base.local);
        if is_broadcast(remote.ip()) && !base.options.broadcast {
            return Err(libc::EACCES);
        }
        let source = self.source(host, remote.ip())?;
        if local.is_none() {
            self.bind_anywhere(id)?;
        }
        let base = &mut self.socket_mut(id)?.base;
        base.remote = Some(remote);
        if let Some(local) = &mut base.local {
            if local.ip().is_unspecified() {
                local.set_ip(source);
                base.is_bound_by_connect = true;
            }
        }
        Ok(())
    }

    pub(super) fn disconnect_udp(&mut self, id: SocketId) -> Result<(), Errno> {
        let base = &mut self.socket_mut(id)?.base;
        base.remote = None;
        if std::mem::take(&mut base.is_bound_by_connect) {
            // It hears what is sent to any address of its host again.
            let nowhere = base.nowhere().ip();
            if let Some(local) = &mut base.local {
                local.set_ip(nowhere);
            }
        }
        Ok(())
    }

    pub(super) fn send_udp(
        &mut self,
        now: Time,
        id: SocketId,
        from: From<'_, '_>,
        to: Option<SocketAddr>,
        about: About,
    ) -> Result<usize, Errno> {
        if self.socket_ref(id)?.base.local.is_none() {
            self.bind_anywhere(id)?;
        }
        let socket = self.socket_mut(id)?;
        if let Some(error) = socket.base.error.take() {
            return Err(error);
        }
        let (Kind::Udp(udp), base) = (&socket.kind, &socket.base) else {
            return Err(libc::EOPNOTSUPP);
        };
        if udp.shut_write {
            return Err(libc::EPIPE);
        }
        let length = total(from);
        if length > LARGEST {
            return Err(libc::EMSGSIZE);
        }
        let to = match to {
            Some(to) if to.port() == 0 => return Err(libc::EINVAL),
            Some(to) => target(Net::of_family(base, to)?),
            None => base.remote.ok_or(libc::EDESTADDRREQ)?,
        };
        let ip = to.ip();
        if is_broadcast(ip) && !base.options.broadcast {
            return Err(libc::EACCES);
        }
        let (host, options) = (base.host, &base.options);
        let service = about.service.unwrap_or(options.service);
        let hops = about.hops.unwrap_or(options.hops(ip.is_multicast()));
        let (no_fragments, no_loop) = (options.no_fragments, options.no_multicast_loop);
        let chosen = match about.destination {
            // A program that answers chooses the address that it was asked by.
            Some(source) if !source.is_unspecified() => Some(source),
            _ => base
                .local
                .map(|local| local.ip())
                .filter(|ip| !ip.is_unspecified() && !ip.is_multicast()),
        };
        let source = match chosen {
            Some(source) => source,
            None => self.source(host, ip)?,
        };
        let mtu = match self.wire.host_at(host, ip) {
            Some(to) => self.wire.mtu(&self.config, host, to),
            None => self.config.link.mtu,
        };
        if no_fragments && length + HEADERS + if ip.is_ipv6() { 20 } else { 0 } > mtu {
            return Err(libc::EMSGSIZE);
        }
        let port = self
            .socket_ref(id)?
            .base
            .local
            .map_or(0, |local| local.port());
        let addresses = [SocketAddr::new(source, port), to];
        let payload = Payload {
            bytes: gather(from, length).into(),
            service,
            hops,
        };
        if !ip.is_multicast() && !is_broadcast(ip) {
            self.wire.send(
                &self.config,
                now,
                host,
                addresses,
                Body::Datagram(payload),
                now,
            );
            return Ok(length);
        }
        let own = self.wire.machines[host.0].address;
        let receivers: Vec<HostId> = if ip.is_multicast() {
            let members = self.groups.get(&ip).into_iter().flatten();
            members
                .map(|(member, _)| *member)
                .filter(|member| *member != host || !no_loop)
                .collect()
        } else {
            let all = self.wire.machines.iter().enumerate();
            let reached = all.filter(|(_, machine)| machine.address.is_ipv4() == own.is_ipv4());
            reached.map(|(index, _)| HostId(index)).collect()
        };
        for receiver in receivers {
            let body = Body::Datagram(payload.clone());
            self.wire
                .send_to(&self.config, now, [host, receiver], addresses, body);
        }
        Ok(length)
    }

    /// Returns the sockets that a datagram is for.
    fn receivers(&self, host: HostId, [source, to]: [SocketAddr; 2]) -> Vec<SocketId> {
        let is_for_many = to.ip().is_multicast() || is_broadcast(to.ip());
        let mut best = 0;
        let mut found: Vec<SocketId> = Vec::new();
        for id in self.names[host.0].at(Protocol::Udp, to.port()) {
            let Some(socket) = self.sockets.get(id.0) else {
                continue;
            };
            let Kind::Udp(udp) = &socket.kind else {
                continue;
            };
            let is_member = !to.ip().is_multicast() || udp.groups.contains(&to.ip());
            let rank = match (socket.base.matches(to), socket.base.remote) {
                // A connected socket is bound to an address of its own, but it may be a member.
                (None, _) => continue,
                (_, Some(remote)) if remote != source => continue,
                (Some(rank), remote) => 1 + rank + 2 * u32::from(remote.is_some()),
            };
            if is_for_many {
                found.extend(is_member.then_some(*id));
                continue;
            }
            if rank > best {
                best = rank;
                found.clear();
            }
            if rank == best {
                found.push(*id);
            }
        }
        if found.len() > 1 && !is_for_many {
            let share = |id: &SocketId| {
                self.sockets
                    .get(id.0)
                    .is_some_and(|socket| socket.base.options.reuse_port)
            };
            // Those that share a port get the datagrams of a source together; of others the last one gets all.
            let index = if found.iter().all(share) {
                (hash(source) % found.len() as u64) as usize
            } else {
                found.len() - 1
            };
            return vec![found[index]];
        }
        found
    }

    pub(super) fn datagram_arrives(
        &mut self,
        now: Time,
        [_, host]: [HostId; 2],
        [source, destination]: [SocketAddr; 2],
        payload: Payload,
    ) {
        let capacity = self.config.udp_capacity;
        let receivers = self.receivers(host, [source, destination]);
        let ip = destination.ip();
        if receivers.is_empty() && !ip.is_multicast() && !is_broadcast(ip) {
            let addresses = [destination, source];
            self.wire
                .send(&self.config, now, host, addresses, Body::Unreachable, now);
            return;
        }
        for id in receivers {
            let Ok(udp) = self.udp(id) else { continue };
            if udp.queue.len() >= capacity {
                self.wire.counters.lost += 1;
                continue;
            }
            udp.queue.push_back(Datagram {
                source,
                destination: ip,
                payload: payload.clone(),
            });
            self.changed(id);
        }
    }

    /// A host has told that nobody has the port `remote`, to which something was sent from `local`.
    pub(super) fn is_unreachable(&mut self, host: HostId, local: SocketAddr, remote: SocketAddr) {
        for id in self.names[host.0].at(Protocol::Udp, local.port()).to_vec() {
            let Ok(socket) = self.socket_mut(id) else {
                continue;
            };
            if socket.base.remote == Some(remote) {
                socket.base.error = Some(libc::ECONNREFUSED);
                self.changed(id);
            }
        }
    }

    pub(super) fn receive_udp(
        &mut self,
        id: SocketId,
        into: Into<'_, '_>,
        how: Receive,
    ) -> Result<Received, Errno> {
        let socket = self.socket_mut(id)?;
        if let Some(error) = socket.base.error.take() {
            return Err(error);
        }
        let Kind::Udp(udp) = &mut socket.kind else {
            return Err(libc::EOPNOTSUPP);
        };
        let Some(datagram) = udp.queue.front() else {
            // The end is told to those that would wait for ever.
            let has_ended = udp.shut_read && how.waits;
            return has_ended.then(|| Received::stream(0)).ok_or(libc::EAGAIN);
        };
        let (base, options) = (&socket.base, &socket.base.options);
        let Payload {
            bytes,
            service,
            hops,
        } = &datagram.payload;
        let destination = base.shown(SocketAddr::new(datagram.destination, 0)).ip();
        let received = Received {
            copied: scatter(bytes, into),
            length: bytes.len(),
            from: Some(Address::Internet(base.shown(datagram.source))),
            about: About {
                destination: options.tell_destination.then_some(destination),
                service: options.tell_service.then_some(*service),
                hops: options.tell_hops.then_some(*hops),
            },
        };
        if !how.peek {
            udp.queue.pop_front();
        }
        Ok(received)
    }

    pub(super) fn shutdown_udp(
        &mut self,
        id: SocketId,
        read: bool,
        write: bool,
    ) -> Result<(), Errno> {
        let is_connected = self.socket_ref(id)?.base.remote.is_some();
        // As in Linux it has its effect though it fails.
        let udp = self.udp(id)?;
        udp.shut_read |= read;
        udp.shut_write |= write;
        self.changed(id);
        if is_connected {
            Ok(())
        } else {
            Err(libc::ENOTCONN)
        }
    }

    pub(super) fn close_udp(&mut self, id: SocketId) {
        let Ok(socket) = self.socket_mut(id) else {
            return;
        };
        let host = socket.base.host;
        let groups = match &mut socket.kind {
            Kind::Udp(udp) => std::mem::take(&mut udp.groups),
            _ => Vec::new(),
        };
        self.leave_groups(host, &groups);
        self.remove(id);
    }

    pub(super) fn leave_groups(&mut self, host: HostId, groups: &[IpAddr]) {
        for group in groups {
            let Some(members) = self.groups.get_mut(group) else {
                continue;
            };
            if let Some(count) = members.get_mut(&host) {
                *count -= 1;
                if *count == 0 {
                    members.remove(&host);
                }
            }
            if members.is_empty() {
                self.groups.remove(group);
            }
        }
    }

    /// Joins a group of multicast.
    pub(crate) fn join(&mut self, id: SocketId, group: IpAddr) -> Result<(), Errno> {
        if !group.is_multicast() {
            return Err(libc::EINVAL);
        }
        let socket = self.socket_mut(id)?;
        let (host, domain) = (socket.base.host, socket.base.domain);
        if domain == Domain::V4 && group.is_ipv6() {
            return Err(libc::ENOPROTOOPT);
        }
        let udp = self.udp(id)?;
        if udp.groups.contains(&group) {
            return Err(libc::EADDRINUSE);
        }
        udp.groups.push(group);
        *self
            .groups
            .entry(group)
            .or_default()
            .entry(host)
            .or_default() += 1;
        Ok(())
    }

    /// Leaves a group of multicast.
    pub(crate) fn leave(&mut self, id: SocketId, group: IpAddr) -> Result<(), Errno> {
        let host = self.socket_ref(id)?.base.host;
        let udp = self.udp(id)?;
        let Some(index) = udp.groups.iter().position(|other| *other == group) else {
            return Err(libc::EADDRNOTAVAIL);
        };
        udp.groups.remove(index);
        self.leave_groups(host, &[group]);
        Ok(())
    }

    /// Returns whether an address is one of this host, as a program may give it for an interface.
    pub(crate) fn is_interface(&self, host: HostId, address: Ipv4Addr) -> bool {
        let own = self.wire.machines[host.0].address;
        address.is_unspecified() || address.is_loopback() || own == IpAddr::V4(address)
    }
}

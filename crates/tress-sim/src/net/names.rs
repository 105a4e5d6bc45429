//! Hosts: their names, what happens to them, and the links between them.

use super::address::Names;
use super::packet::{Loss, Packet, PacketId, Record};
use super::wire::{Counters, Machine};
use super::{Kind, Net, Overrides, SocketId};
use crate::kernel::HostId;
use crate::picture::Recorder;
use crate::time::Time;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// How a host stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// It is off from one moment to the next: nobody is told.
    PowerLoss,
    /// Its programs end. Its system closes what they had open.
    Kill,
}

impl Net {
    /// Adds a host, which is on. Hosts are added in the order of their ids.
    ///
    /// # Panics
    /// Another host has that address.
    pub(crate) fn add_host(&mut self, host: HostId, address: IpAddr, name: &str) {
        assert_eq!(
            host.0,
            self.names.len(),
            "hosts are added in the order of their ids"
        );
        let before = self.wire.addresses.insert(address, host);
        assert!(before.is_none(), "{address} is the address of another host");
        self.names.push(Names::default());
        self.wire.machines.push(Machine {
            name: name.to_owned(),
            address,
            is_up: true,
            runs: true,
            established: 0,
        });
        self.add_name(name, vec![address]);
    }

    /// Says which addresses a name has, in place of those that it had.
    pub(crate) fn add_name(&mut self, name: &str, addresses: Vec<IpAddr>) {
        self.lookup.insert(name.to_ascii_lowercase(), addresses);
    }

    /// Makes a name unknown.
    pub(crate) fn remove_name(&mut self, name: &str) {
        self.lookup.remove(&name.to_ascii_lowercase());
    }

    /// Returns the addresses of a name, or of an address that is written out. None: nobody has the name.
    pub(crate) fn lookup(&self, name: &str) -> Option<Vec<IpAddr>> {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if let Ok(address) = name.parse() {
            return Some(vec![address]);
        }
        if name == "localhost" || name.ends_with(".localhost") {
            return Some(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        self.lookup.get(&name).cloned()
    }

    /// Returns the name of the host with an address.
    pub(crate) fn name_of(&self, from: HostId, address: IpAddr) -> Option<&str> {
        if address.is_loopback() {
            return Some("localhost");
        }
        let host = self.wire.host_at(from, address)?;
        Some(&self.wire.machines[host.0].name)
    }

    pub(crate) fn address_of(&self, host: HostId) -> IpAddr {
        self.wire.machines[host.0].address
    }

    /// Draws how long a lookup takes.
    pub(crate) fn draw_lookup(&mut self) -> Duration {
        self.wire.draw_lookup(self.config.lookup)
    }

    /// Returns the sockets of a host, in the order of their places.
    fn sockets_of(&self, host: HostId) -> Vec<SocketId> {
        let of_host = self
            .sockets
            .iter()
            .filter(|(_, socket)| socket.base.host == host);
        of_host.map(|(key, _)| SocketId(key)).collect()
    }

    /// Stops a host. Its sockets are gone for its programs: all that they do with them fails with `ENETDOWN`.
    pub(crate) fn crash(&mut self, now: Time, host: HostId, how: How) {
        let sockets = self.sockets_of(host);
        for id in &sockets {
            self.changed(*id);
        }
        if how == How::Kill {
            // Connections to itself that one end closes may end both: those that are left are closed.
            for id in sockets {
                self.close(now, id);
                if let Some(socket) = self.sockets.get_mut(id.0) {
                    socket.base.is_dead = true;
                }
            }
        } else {
            for id in sockets {
                let Some(socket) = self.sockets.remove(id.0) else {
                    continue;
                };
                if let Kind::Udp(udp) = &socket.kind {
                    self.leave_groups(host, udp.groups());
                }
            }
            self.names[host.0].clear();
            let lost = std::mem::take(&mut self.wire.machines[host.0].established);
            self.wire.counters.established -= lost;
        }
        let machine = &mut self.wire.machines[host.0];
        machine.runs = false;
        machine.is_up = how == How::Kill;
    }

    /// Switches a host on, and lets its programs use sockets.
    pub(crate) fn switch_on(&mut self, host: HostId) {
        let machine = &mut self.wire.machines[host.0];
        (machine.is_up, machine.runs) = (true, true);
    }

    /// Gives access to the settings of one direction between two hosts.
    pub(crate) fn overrides(&mut self, from: HostId, to: HostId) -> &mut Overrides {
        self.wire.overrides(from, to)
    }

    /// Loses all packets that are sent from one host to the other from now on.
    pub(crate) fn partition_oneway(&mut self, from: HostId, to: HostId) {
        self.wire.cut(from, to);
    }

    /// Undoes a partition, and a failure by chance.
    pub(crate) fn repair_oneway(&mut self, from: HostId, to: HostId) {
        self.wire.repair(from, to);
    }

    /// Keeps all packets from one host to the other, those that are on their way and those that are sent from now on.
    pub(crate) fn hold(&mut self, from: HostId, to: HostId) {
        self.wire.hold(from, to);
    }

    /// Delivers what was kept, and keeps nothing any more.
    pub(crate) fn release(&mut self, now: Time, from: HostId, to: HostId) {
        self.wire.release(now, from, to);
    }

    /// Returns all packets that are on their way or kept, in the order in which they were sent.
    pub(crate) fn in_flight(&self) -> Vec<(PacketId, &Packet)> {
        self.wire.in_flight()
    }

    /// Lets a packet arrive now.
    pub(crate) fn deliver(&mut self, now: Time, packet: PacketId) {
        self.wire.deliver(now, packet);
    }

    /// Loses a packet that is on its way.
    pub(crate) fn drop_packet(&mut self, now: Time, packet: PacketId, loss: Loss) {
        self.wire.drop_packet(now, packet, loss);
    }

    pub(crate) fn counters(&self) -> Counters {
        self.wire.counters
    }

    /// Returns the number of connections that programs of a host have.
    pub(crate) fn established(&self, host: HostId) -> usize {
        self.wire.machines[host.0].established
    }

    /// Has packets recorded.
    pub(crate) fn set_recorder(&mut self, recorder: Recorder) {
        self.wire.recorder = recorder;
    }

    /// Starts or stops to write down what happens to packets.
    pub(crate) fn set_log(&mut self, on: bool) {
        self.wire.log = on.then(Vec::new);
    }

    /// Takes what was written down.
    pub(crate) fn take_log(&mut self) -> Vec<Record> {
        self.wire
            .log
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }
}

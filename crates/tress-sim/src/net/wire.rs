//! The wire: machines, the links between them, and the packets that are on their way.

use super::Event;
use super::config::{Config, Latency, LinkConfig, Overrides};
use super::hash::Table;
use super::packet::{Body, End, Loss, Packet, PacketId, Record};
use super::slab::Slab;
use crate::choices::Made;
use crate::draw::Stream;
use crate::kernel::{HostId, ObjectId};
use crate::picture::Recorder;
use crate::time::Time;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

/// Everything but the sockets.
#[derive(Debug)]
pub(super) struct Wire {
    stream: Stream,
    made: Rc<Made>,
    pub(super) machines: Vec<Machine>,
    pub(super) addresses: Table<IpAddr, HostId>,
    links: Table<(HostId, HostId), Link>,
    packets: Slab<Packet>,
    pub(super) scheduled: VecDeque<(Time, Event)>,
    pub(super) changed: VecDeque<ObjectId>,
    pub(super) counters: Counters,
    /// The first number of the TCP connection that began last.
    pub(super) last_number: u64,
    pub(super) log: Option<Vec<Record>>,
    pub(super) recorder: Recorder,
}

/// A host, as the network sees it.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) name: String,
    pub(super) address: IpAddr,
    /// It has power: its kernel answers.
    pub(super) is_up: bool,
    /// Its programs may use sockets.
    pub(super) runs: bool,
    pub(super) established: usize,
}

/// What is left of a packet that has arrived.
#[derive(Debug)]
pub(super) struct Arrived {
    /// The one that has sent it, and the one that gets it.
    pub(super) hosts: [HostId; 2],
    pub(super) addresses: [SocketAddr; 2],
    pub(super) body: Body,
}

/// What has happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Packets that were sent.
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// Bytes that were sent, with headers.
    pub(crate) bytes: u64,
    /// TCP connections that are established, each counted at both of its ends.
    pub(crate) established: usize,
}

/// One direction between two hosts. It exists when it is first used or changed.
#[derive(Debug, Default)]
struct Link {
    own: Option<Box<Overrides>>,
    /// Cut on purpose.
    is_cut: bool,
    /// Failed by chance.
    has_failed: bool,
    /// Keeps its packets.
    is_held: bool,
    held: Vec<PacketId>,
    /// Latency, where each link has one.
    fixed: Option<(Latency, Duration)>,
    /// When what has been sent will have left.
    busy_until: Time,
}

impl Link {
    /// Returns what the link is like: as all are, unless it has settings of its own.
    #[inline]
    fn config<'a>(&self, all: &'a LinkConfig) -> Cow<'a, LinkConfig> {
        match &self.own {
            None => Cow::Borrowed(all),
            Some(own) => Cow::Owned(own.over(all)),
        }
    }
}

/// By how many latencies a packet that is overtaken comes late, at least.
const OVERTAKEN: u32 = 2;

impl Wire {
    pub(super) fn new(stream: Stream, made: Rc<Made>) -> Wire {
        Wire {
            stream,
            made,
            machines: Vec::new(),
            addresses: Table::default(),
            links: Table::default(),
            packets: Slab::default(),
            scheduled: VecDeque::new(),
            changed: VecDeque::new(),
            counters: Counters::default(),
            last_number: 0,
            log: None,
            recorder: Recorder::default(),
        }
    }

    #[inline]
    pub(super) fn schedule(&mut self, time: Time, event: Event) {
        self.scheduled.push_back((time, event));
    }

    /// Draws how long a lookup of a name takes.
    pub(super) fn draw_lookup(&mut self, latency: Latency) -> Duration {
        latency.draw(&mut self.stream, &self.made, &mut None)
    }

    /// Returns the host with that address, as `from` sees it.
    #[inline]
    pub(super) fn host_at(&self, from: HostId, address: IpAddr) -> Option<HostId> {
        if address.is_loopback() || address.is_unspecified() {
            return Some(from);
        }
        self.addresses.get(&address).copied()
    }

    /// Sends a packet. It arrives at `after` or later. Returns when, as far as that is known.
    #[inline]
    pub(super) fn send(
        &mut self,
        config: &Config,
        now: Time,
        from: HostId,
        [source, destination]: [SocketAddr; 2],
        body: Body,
        after: Time,
    ) -> Time {
        let to = self.host_at(from, destination.ip());
        self.send_packet(config, now, from, to, [source, destination], body, after)
    }

    /// Sends a packet to one host of several that an address means.
    pub(super) fn send_to(
        &mut self,
        config: &Config,
        now: Time,
        [from, to]: [HostId; 2],
        addresses: [SocketAddr; 2],
        body: Body,
    ) {
        self.send_packet(config, now, from, Some(to), addresses, body, now);
    }

    #[expect(clippy::too_many_arguments, reason = "all of it is one packet")]
    fn send_packet(
        &mut self,
        config: &Config,
        now: Time,
        from: HostId,
        to: Option<HostId>,
        [source, destination]: [SocketAddr; 2],
        body: Body,
        after: Time,
    ) -> Time {
        self.counters.sent += 1;
        let order = self.counters.sent;
        let mut packet = Packet {
            from,
            to: to.unwrap_or(from),
            source,
            destination,
            sent: now,
            due: None,
            order,
            was_held: false,
            is_copy: false,
            body,
        };
        let length = packet.length();
        self.counters.bytes += length as u64;
        let Some(to) = to else {
            self.counters.lost += 1;
            self.recorder.packet_to_nobody(&packet);
            if let Some(log) = &mut self.log {
                let record = packet.record(End::Lost(now, Loss::NoHost));
                log.push(Record { to: None, ..record });
            }
            return after;
        };
        if to == from {
            let due = (now + config.loopback).max(after);
            self.deliver_at(due, packet);
            return due;
        }

        let link = self.links.entry((from, to)).or_default();
        let config = link.config(&config.link);
        let (stream, made, machines) = (&mut self.stream, &*self.made, &self.machines);
        let what = |how: &str| {
            let [from, to] = [from, to].map(|host| machines[host.0].name.as_str());
            format!("at {now:?}: {how} from {from} to {to}")
        };
        link.has_failed = match link.has_failed {
            true => !stream.happens(config.repair_rate),
            false => made.goes_wrong(stream, config.fail_rate, || what("the link fails")),
        };
        if link.is_cut || link.has_failed {
            let loss = match link.is_cut {
                true => Loss::Partition,
                false => Loss::Broken,
            };
            self.lose(now, &packet, loss);
            return after;
        }
        // A datagram that is larger than a packet is lost with any of its fragments.
        let is_lost = config.loss > 0.0 && {
            let fragments = length.div_ceil(config.mtu.max(1)).max(1);
            (0..fragments)
                .any(|_| made.goes_wrong(stream, config.loss, || what("a packet is lost")))
        };
        if is_lost {
            self.lose(now, &packet, Loss::Chance);
            return after;
        }
        if link.is_held {
            packet.was_held = true;
            let id = PacketId(self.packets.insert_with(|_| packet));
            link.held.push(id);
            return after;
        }
        let mut leaves = now;
        if let Some(bandwidth) = config.bandwidth {
            let takes =
                |bytes: usize| Duration::from_secs_f64(bytes as f64 / bandwidth.max(1) as f64);
            let begins = link.busy_until.max(now);
            if begins.since(now) > takes(config.queue) {
                self.lose(now, &packet, Loss::Queue);
                return after;
            }
            leaves = begins + takes(length);
            link.busy_until = leaves;
        }
        let latency = config.latency.draw(stream, made, &mut link.fixed);
        let mut due = (leaves + latency).max(after);
        let mut next = due;
        if made.goes_wrong(stream, config.reordering, || what("a packet is overtaken")) {
            // What is sent next may arrive before it.
            next = after;
            due += (latency + config.latency.draw(stream, made, &mut link.fixed)) * OVERTAKEN;
        }
        if made.goes_wrong(stream, config.duplication, || {
            what("a packet arrives twice")
        }) {
            let again = leaves + config.latency.draw(stream, made, &mut link.fixed);
            let copy = Packet {
                is_copy: true,
                ..packet.clone()
            };
            self.deliver_at(again.max(due), copy);
        }
        self.deliver_at(due, packet);
        next
    }

    #[inline]
    fn deliver_at(&mut self, due: Time, packet: Packet) {
        let due_packet = Packet {
            due: Some(due),
            ..packet
        };
        let id = PacketId(self.packets.insert_with(|_| due_packet));
        self.schedule(due, Event::Arrive(id));
    }

    fn lose(&mut self, now: Time, packet: &Packet, loss: Loss) {
        self.counters.lost += 1;
        self.note(packet, End::Lost(now, loss));
    }

    /// Notes that the way of a packet has ended.
    fn note(&mut self, packet: &Packet, end: End) {
        self.recorder.packet(packet, end);
        if let Some(log) = &mut self.log {
            log.push(packet.record(end));
        }
    }

    /// Takes what a packet that has arrived carries, unless it has come early, its link keeps it or the host is off.
    #[inline]
    pub(super) fn arrive(&mut self, now: Time, id: PacketId) -> Option<Arrived> {
        let packet = self.packets.get_mut(id.0)?;
        packet.due?;
        if !self.machines[packet.to.0].is_up {
            let packet = self.packets.remove(id.0)?;
            self.lose(now, &packet, Loss::Off);
            return None;
        }
        self.counters.delivered += 1;
        self.recorder.packet(packet, End::Delivered(now));
        if let Some(log) = &mut self.log {
            log.push(packet.record(End::Delivered(now)));
        }
        // A packet is large: only what goes on is moved.
        let arrived = Arrived {
            hosts: [packet.from, packet.to],
            addresses: [packet.source, packet.destination],
            body: mem::replace(&mut packet.body, Body::Unreachable),
        };
        self.packets.discard(id.0);
        Some(arrived)
    }

    /// The size of the largest packet between two hosts.
    pub(super) fn mtu(&self, config: &Config, from: HostId, to: HostId) -> usize {
        if from == to {
            return 65_536;
        }
        let own = self
            .links
            .get(&(from, to))
            .and_then(|link| link.own.as_ref());
        own.and_then(|own| own.mtu).unwrap_or(config.link.mtu)
    }

    fn link(&mut self, from: HostId, to: HostId) -> &mut Link {
        self.links.entry((from, to)).or_default()
    }

    /// Gives access to the settings of one direction.
    pub(super) fn overrides(&mut self, from: HostId, to: HostId) -> &mut Overrides {
        self.link(from, to).own.get_or_insert_default()
    }

    pub(super) fn cut(&mut self, from: HostId, to: HostId) {
        self.link(from, to).is_cut = true;
    }

    pub(super) fn repair(&mut self, from: HostId, to: HostId) {
        let link = self.link(from, to);
        (link.is_cut, link.has_failed) = (false, false);
    }

    pub(super) fn hold(&mut self, from: HostId, to: HostId) {
        self.link(from, to).is_held = true;
        let is_under_way =
            |packet: &Packet| (packet.from, packet.to) == (from, to) && packet.due.is_some();
        let packets = self.in_flight().into_iter();
        let kept: Vec<_> = packets
            .filter(|(_, packet)| is_under_way(packet))
            .map(|(id, _)| id)
            .collect();
        for id in &kept {
            if let Some(packet) = self.packets.get_mut(id.0) {
                packet.due = None;
                packet.was_held = true;
            }
        }
        self.link(from, to).held.extend(kept);
    }

    pub(super) fn release(&mut self, now: Time, from: HostId, to: HostId) {
        let link = self.link(from, to);
        link.is_held = false;
        for id in std::mem::take(&mut link.held) {
            self.deliver(now, id);
        }
    }

    /// Lets a packet arrive now.
    pub(super) fn deliver(&mut self, now: Time, id: PacketId) {
        let Some(packet) = self.packets.get_mut(id.0) else {
            return;
        };
        let (from, to) = (packet.from, packet.to);
        let was_held = packet.due.is_none();
        packet.due = Some(now);
        if was_held {
            self.link(from, to).held.retain(|other| *other != id);
        }
        self.schedule(now, Event::Arrive(id));
    }

    /// Removes a packet: it never arrives.
    pub(super) fn drop_packet(&mut self, now: Time, id: PacketId, loss: Loss) {
        let Some(packet) = self.packets.remove(id.0) else {
            return;
        };
        if packet.due.is_none() {
            self.link(packet.from, packet.to)
                .held
                .retain(|other| *other != id);
        }
        self.lose(now, &packet, loss);
    }

    /// Returns the packets that are on their way or kept, in the order in which they were sent.
    pub(super) fn in_flight(&self) -> Vec<(PacketId, &Packet)> {
        let mut found: Vec<_> = self
            .packets
            .iter()
            .map(|(key, packet)| (PacketId(key), packet))
            .collect();
        found.sort_by_key(|(_, packet)| packet.order);
        found
    }
}

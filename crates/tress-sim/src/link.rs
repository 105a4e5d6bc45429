//! What travels between hosts, and what can be done to it.

use crate::kernel::{HostId, Kernel};
use crate::name::{ToIpAddr, ToIpAddrs};
use crate::net::{End, Latency, Loss, Net, PacketId, PacketKind, Record};
use crate::time::Time;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

impl Kernel {
    /// Returns the host of that name.
    ///
    /// # Panics
    /// There is none.
    pub(crate) fn host_named(&mut self, host: &impl ToIpAddr) -> HostId {
        let address = host.address(&mut self.names);
        self.host_with(address)
    }

    fn host_with(&self, address: IpAddr) -> HostId {
        let host = self.host_at(address);
        host.unwrap_or_else(|| match self.names.name(address) {
            Some(name) => panic!("there is no host {name}"),
            None => panic!("there is no host with the address {address}"),
        })
    }

    /// Returns the hosts of these names.
    ///
    /// # Panics
    /// There is no host of one of them.
    pub(crate) fn hosts_named(&mut self, hosts: &impl ToIpAddrs) -> Vec<HostId> {
        let addresses = hosts.addresses(&mut self.names);
        addresses
            .into_iter()
            .map(|address| self.host_with(address))
            .collect()
    }

    /// Does something to each link from one of the hosts to one of the others. A verb tells it, for a recording.
    pub(crate) fn between(
        &mut self,
        verb: &str,
        from: impl ToIpAddrs,
        to: impl ToIpAddrs,
        mut act: impl FnMut(&mut Net, Time, HostId, HostId),
    ) {
        let (from, to) = (self.hosts_named(&from), self.hosts_named(&to));
        let now = self.now;
        self.recorder.act(now, || {
            let (from, to) = (self.names_of(&from), self.names_of(&to));
            format!("{verb} from {from} to {to}")
        });
        self.do_between(&from, &to, &mut act);
    }

    fn do_between(
        &mut self,
        from: &[HostId],
        to: &[HostId],
        act: &mut dyn FnMut(&mut Net, Time, HostId, HostId),
    ) {
        let now = self.now;
        for &one in from {
            for &other in to.iter().filter(|other| **other != one) {
                act(&mut self.net, now, one, other);
            }
        }
        self.settle();
    }

    /// As `between`, in both directions.
    pub(crate) fn between_both(
        &mut self,
        verb: &str,
        a: impl ToIpAddrs,
        b: impl ToIpAddrs,
        mut act: impl FnMut(&mut Net, Time, HostId, HostId),
    ) {
        let (a, b) = (self.hosts_named(&a), self.hosts_named(&b));
        self.recorder.act(self.now, || {
            let (a, b) = (self.names_of(&a), self.names_of(&b));
            format!("{verb} between {a} and {b}")
        });
        self.do_between(&a, &b, &mut |net, now, from, to| {
            act(net, now, from, to);
            act(net, now, to, from);
        });
    }

    /// The names of hosts, one behind the other.
    pub(crate) fn names_of(&self, hosts: &[HostId]) -> String {
        let names: Vec<_> = hosts
            .iter()
            .map(|host| self.hosts[host.0].name.as_str())
            .collect();
        names.join(" ")
    }
}

impl Net {
    /// Loses all packets from one host to the other, those that are on their way and those that are sent from now on.
    /// What is held stays so.
    pub(crate) fn cut(&mut self, now: Time, from: HostId, to: HostId) {
        self.partition_oneway(from, to);
        let under_way = self.in_flight().into_iter();
        let lost = under_way
            .filter(|(_, packet)| (packet.from, packet.to) == (from, to) && packet.due.is_some());
        for id in lost.map(|(id, _)| id).collect::<Vec<_>>() {
            self.drop_packet(now, id, Loss::Partition);
        }
    }
}

impl Latency {
    /// Returns the shortest and the longest duration.
    pub(crate) fn limits(self) -> (Duration, Duration) {
        match self {
            Latency::Constant(latency) => (latency, latency),
            Latency::Exponential { min, cap: max, .. }
            | Latency::Uniform { min, max }
            | Latency::PerLink { min, max } => (min, max),
            Latency::Bimodal { fast, slow, .. } => (fast.min(slow), fast.max(slow).mul_f64(1.1)),
        }
    }

    /// Returns an exponential distribution with the same shortest duration and another longest one. Its mean is the
    /// same part of the range, a fifth if this is not exponential.
    pub(crate) fn up_to(self, cap: Duration) -> Latency {
        let (min, old_cap) = self.limits();
        let part = match self {
            Latency::Exponential { mean, .. } if old_cap > min => {
                mean.div_duration_f64(old_cap - min)
            }
            _ => 0.2,
        };
        let min = min.min(cap);
        let mean = (cap - min).mul_f64(part);
        Latency::Exponential { min, mean, cap }
    }
}

/// What a packet belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// A segment of a TCP connection.
    Tcp,
    /// A datagram, or the answer that its port is closed.
    Udp,
}

/// A packet that is on its way, or kept by a link.
#[derive(Debug, Clone)]
pub struct Sent {
    id: PacketId,
    source: SocketAddr,
    destination: SocketAddr,
    hosts: (IpAddr, IpAddr),
    protocol: Protocol,
    bytes: Vec<u8>,
}

impl Sent {
    /// Returns where it was sent from and where to.
    pub fn pair(&self) -> (SocketAddr, SocketAddr) {
        (self.source, self.destination)
    }

    /// Returns what it belongs to.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Returns the bytes of a program that it carries.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The packets that are on their way, in the order in which they were sent.
///
/// Passed to the function given to [`Sim::links`](crate::Sim::links).
#[derive(Debug)]
pub struct Links<'a> {
    kernel: &'a mut Kernel,
}

impl<'a> Links<'a> {
    pub(crate) fn new(kernel: &'a mut Kernel) -> Links<'a> {
        Links { kernel }
    }

    /// Returns the packets that are on their way.
    pub fn sent(&self) -> Vec<Sent> {
        let net = &self.kernel.net;
        let mut packets = net.in_flight();
        packets.sort_by_key(|(_, packet)| packet.order);
        let sent = packets.into_iter().map(|(id, packet)| Sent {
            id,
            source: packet.source,
            destination: packet.destination,
            hosts: (net.address_of(packet.from), net.address_of(packet.to)),
            protocol: match packet.kind() {
                PacketKind::Datagram | PacketKind::Unreachable => Protocol::Udp,
                _ => Protocol::Tcp,
            },
            bytes: packet.bytes().to_vec(),
        });
        sent.collect()
    }

    /// Returns each two hosts that have packets on their way between them, in the order of the first one of each.
    ///
    /// # Examples
    /// ```
    /// use tokio::net::UdpSocket;
    /// use tress_sim::Builder;
    ///
    /// let mut sim = Builder::new().build();
    /// for name in ["a", "b"] {
    ///     sim.client(name, async move {
    ///         let socket = UdpSocket::bind("0.0.0.0:1").await?;
    ///         socket.send_to(name.as_bytes(), "server:1").await?;
    ///         Ok(())
    ///     });
    /// }
    /// sim.client("server", async {
    ///     let socket = UdpSocket::bind("0.0.0.0:1").await?;
    ///     let mut buffer = [0];
    ///     socket.recv(&mut buffer).await?;
    ///     assert_eq!(buffer, *b"b");
    ///     socket.recv(&mut buffer).await?;
    ///     Ok(())
    /// });
    /// sim.hold(["a", "b"], "server");
    /// while sim.links(|links| links.pairs().len()) < 2 {
    ///     sim.step()?;
    /// }
    /// sim.links(|links| links.deliver_between("b", "server"));
    /// sim.step()?;
    /// sim.release(["a", "b"], "server");
    /// sim.run()?;
    /// # Ok::<(), tress_sim::Error>(())
    /// ```
    pub fn pairs(&self) -> Vec<(IpAddr, IpAddr)> {
        let mut pairs = Vec::new();
        for (a, b) in self.sent().iter().map(|sent| sent.hosts) {
            if !pairs.contains(&(a, b)) && !pairs.contains(&(b, a)) {
                pairs.push((a, b));
            }
        }
        pairs
    }

    /// Returns the packets that are on their way between hosts, in both directions.
    pub fn sent_between(&mut self, a: impl ToIpAddrs, b: impl ToIpAddrs) -> Vec<Sent> {
        let names = &mut self.kernel.names;
        let (a, b) = (a.addresses(names), b.addresses(names));
        let mut sent = self.sent();
        sent.retain(|sent| {
            let (from, to) = sent.hosts;
            a.contains(&from) && b.contains(&to) || a.contains(&to) && b.contains(&from)
        });
        sent
    }

    /// Delivers all packets between hosts now, in both directions.
    pub fn deliver_between(&mut self, a: impl ToIpAddrs, b: impl ToIpAddrs) {
        for sent in self.sent_between(a, b) {
            self.deliver(&sent);
        }
    }

    /// Delivers a packet now.
    pub fn deliver(&mut self, sent: &Sent) {
        let now = self.kernel.now;
        self.kernel.net.deliver(now, sent.id);
        self.kernel.settle();
    }

    /// Delivers all packets now.
    pub fn deliver_all(&mut self) {
        for sent in self.sent() {
            self.deliver(&sent);
        }
    }

    /// Loses a packet.
    pub fn lose(&mut self, sent: &Sent) {
        let now = self.kernel.now;
        self.kernel.net.drop_packet(now, sent.id, Loss::Taken);
        self.kernel.settle();
    }
}

/// What became of a packet. Returned by [`Sim::take_packets`](crate::Sim::take_packets).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packet {
    /// When it was sent, since the start of the run.
    pub sent: Duration,
    /// When it arrived or was lost.
    pub ended: Duration,
    /// Why it was lost, if it was.
    pub loss: Option<Loss>,
    /// The host that has sent it.
    pub from: String,
    /// The host that it was sent to, if one has that address.
    pub to: Option<String>,
    /// The address and port that it was sent from.
    pub source: SocketAddr,
    /// The address and port that it was sent to.
    pub destination: SocketAddr,
    /// What it is for.
    pub kind: PacketKind,
    /// The number of bytes of a program in it.
    pub length: usize,
    /// Whether a link has [kept](crate::Sim::hold) it.
    pub was_held: bool,
    /// Whether it arrived beside the one that was sent, as the network has duplicated it.
    pub is_copy: bool,
    /// Whether it is a segment of TCP that was sent before, and seemed to be lost.
    pub is_repeated: bool,
}

impl Packet {
    pub(crate) fn new(record: Record, name: impl Fn(HostId) -> String) -> Packet {
        let (ended, loss) = match record.end {
            End::Delivered(at) => (at, None),
            End::Lost(at, loss) => (at, Some(loss)),
        };
        Packet {
            sent: record.sent.elapsed(),
            ended: ended.elapsed(),
            loss,
            from: name(record.from),
            to: record.to.map(name),
            source: record.source,
            destination: record.destination,
            kind: record.kind,
            length: record.length,
            was_held: record.was_held,
            is_copy: record.is_copy,
            is_repeated: record.is_repeated,
        }
    }
}

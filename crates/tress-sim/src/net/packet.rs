//! What travels from host to host.

use super::slab::Key;
use crate::kernel::HostId;
use crate::time::Time;
use std::net::SocketAddr;
use std::rc::Rc;

/// A packet on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PacketId(pub(super) Key);

/// Something that one host sends to another.
#[derive(Debug, Clone)]
pub(crate) struct Packet {
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    /// When it was sent.
    pub(crate) sent: Time,
    /// When it will arrive. None: its link keeps it.
    pub(crate) due: Option<Time>,
    /// Counts the packets of all hosts.
    pub(crate) order: u64,
    /// A link has kept it.
    pub(crate) was_held: bool,
    /// The network has made it of another one.
    pub(crate) is_copy: bool,
    pub(super) body: Body,
}

/// What a packet carries.
#[derive(Debug, Clone)]
pub(super) enum Body {
    Segment(Segment),
    Datagram(Payload),
    /// Nobody has the port to which the receiver has sent a datagram.
    Unreachable,
}

/// A datagram of UDP.
#[derive(Debug, Clone)]
pub(super) struct Payload {
    pub(super) bytes: Rc<[u8]>,
    /// The type of service, of which two bits tell of congestion.
    pub(super) service: u8,
    pub(super) hops: u8,
}

/// A segment of TCP. Numbers of bytes do not wrap.
#[derive(Debug, Clone, Default)]
pub(super) struct Segment {
    /// Number of the first byte.
    pub(super) number: u64,
    /// Number of the byte that is expected next, if any is known.
    pub(super) acknowledged: Option<u64>,
    /// Bytes that may be sent from there on.
    pub(super) window: u64,
    /// The largest segment, told in the first one.
    pub(super) largest: usize,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
    pub(super) is_reset: bool,
    /// Nothing follows for now.
    pub(super) is_pushed: bool,
    /// All of it was sent before.
    pub(super) is_repeated: bool,
    pub(super) bytes: Vec<u8>,
}

impl Segment {
    /// The numbers that it uses.
    pub(super) fn length(&self) -> u64 {
        self.bytes.len() as u64 + u64::from(self.is_first) + u64::from(self.is_last)
    }

    pub(super) fn end(&self) -> u64 {
        self.number + self.length()
    }
}

/// What a packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Asks for a TCP connection.
    Connect,
    /// Agrees to a TCP connection.
    Accept,
    /// Data of a TCP connection.
    Data,
    /// Acknowledges data of a TCP connection.
    Acknowledge,
    /// The end of one direction of a TCP connection, with or without data.
    Finish,
    /// Ends a TCP connection at once, or refuses it.
    Reset,
    /// A datagram of UDP.
    Datagram,
    /// Says that no program has the port of a datagram.
    Unreachable,
}

impl Packet {
    pub(crate) fn kind(&self) -> Kind {
        match &self.body {
            Body::Datagram(_) => Kind::Datagram,
            Body::Unreachable => Kind::Unreachable,
            Body::Segment(segment) if segment.is_reset => Kind::Reset,
            Body::Segment(segment) if segment.is_first => match segment.acknowledged {
                None => Kind::Connect,
                Some(_) => Kind::Accept,
            },
            Body::Segment(segment) if segment.is_last => Kind::Finish,
            Body::Segment(segment) if segment.bytes.is_empty() => Kind::Acknowledge,
            Body::Segment(_) => Kind::Data,
        }
    }

    /// The bytes of a program that it carries.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.body {
            Body::Segment(segment) => &segment.bytes,
            Body::Datagram(payload) => &payload.bytes,
            Body::Unreachable => &[],
        }
    }

    /// Returns whether it is a segment that was sent before.
    pub(crate) fn is_repeated(&self) -> bool {
        matches!(&self.body, Body::Segment(segment) if segment.is_repeated)
    }

    /// Its length with headers.
    pub(super) fn length(&self) -> usize {
        let network = if self.destination.is_ipv6() { 40 } else { 20 };
        let transport = match &self.body {
            Body::Segment(_) => 20,
            Body::Datagram(_) => 8,
            Body::Unreachable => 36,
        };
        network + transport + self.bytes().len()
    }

    pub(super) fn record(&self, end: End) -> Record {
        Record {
            sent: self.sent,
            end,
            from: self.from,
            to: Some(self.to),
            source: self.source,
            destination: self.destination,
            kind: self.kind(),
            length: self.bytes().len(),
            was_held: self.was_held,
            is_copy: self.is_copy,
            is_repeated: self.is_repeated(),
        }
    }
}

/// How the way of a packet has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Delivered(Time),
    Lost(Time, Loss),
}

/// Why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// By chance.
    Chance,
    /// Its link is cut, or was while it was on its way.
    Partition,
    /// Its link has broken by chance.
    Broken,
    /// Its link had more to send than it keeps.
    Queue,
    /// The host that it was sent to was off.
    Off,
    /// No host has that address.
    NoHost,
    /// By [`Links::lose`](crate::Links::lose).
    Taken,
}

/// What is known of a packet afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) sent: Time,
    pub(crate) end: End,
    pub(crate) from: HostId,
    /// None: no host has that address.
    pub(crate) to: Option<HostId>,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) kind: Kind,
    /// Number of bytes of a program in it.
    pub(crate) length: usize,
    pub(crate) was_held: bool,
    pub(crate) is_copy: bool,
    pub(crate) is_repeated: bool,
}

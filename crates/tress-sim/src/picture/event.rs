//! What is recorded.

use super::code::{Reader, Writer};
use super::tape::Lane;
use crate::faults::{Fault, Happened};
use crate::net::{End, How, Loss, Packet, PacketKind};
use crate::time::Time;
use std::net::SocketAddr;
use std::time::Duration;

/// A host, by its place in the list of names. `NONE` is none.
type Place = u32;
const NONE: Place = u32::MAX;

/// Maximum number of bytes of a packet that are recorded.
const SHOWN: usize = 64;

/// Something that has happened.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Event {
    pub(super) time: Time,
    pub(super) what: What,
}

/// What has happened.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    /// The way of a packet has ended.
    Packet(Message),
    /// Something was written to the standard output or error.
    Output {
        host: Option<usize>,
        is_error: bool,
        bytes: Vec<u8>,
    },
    State {
        host: usize,
        state: State,
    },
    Fault {
        number: u32,
        kind: &'static str,
        lasting: Duration,
        what: String,
    },
    /// The test, or a host, has done something to hosts or links.
    Act(String),
    /// All faults end.
    Heal,
    /// A program, an invariant or the whole simulation has failed; the text starts with a verb.
    Failure {
        host: Option<usize>,
        text: String,
    },
}

/// What becomes of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Started,
    PowerLost,
    Killed,
    Paused,
    Resumed,
    /// Its program has ended by itself.
    Ended,
}

const STATES: [State; 6] = [
    State::Started,
    State::PowerLost,
    State::Killed,
    State::Paused,
    State::Resumed,
    State::Ended,
];

impl From<How> for State {
    fn from(how: How) -> State {
        match how {
            How::PowerLoss => State::PowerLost,
            How::Kill => State::Killed,
        }
    }
}

/// A packet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub(super) sent: Time,
    pub(super) from: usize,
    pub(super) to: Option<usize>,
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) kind: PacketKind,
    pub(super) length: u32,
    pub(super) fate: Fate,
    pub(super) was_held: bool,
    pub(super) is_copy: bool,
    pub(super) is_repeated: bool,
    /// The first bytes that it carries.
    pub(super) bytes: Vec<u8>,
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Delivered,
    Lost(Loss),
    /// It had not arrived when the recording ended.
    UnderWay,
}

impl From<End> for Fate {
    fn from(end: End) -> Fate {
        match end {
            End::Delivered(_) => Fate::Delivered,
            End::Lost(_, loss) => Fate::Lost(loss),
        }
    }
}

const KINDS: [PacketKind; 8] = [
    PacketKind::Connect,
    PacketKind::Accept,
    PacketKind::Data,
    PacketKind::Acknowledge,
    PacketKind::Finish,
    PacketKind::Reset,
    PacketKind::Datagram,
    PacketKind::Unreachable,
];

const FATES: [Fate; 9] = [
    Fate::Delivered,
    Fate::UnderWay,
    Fate::Lost(Loss::Chance),
    Fate::Lost(Loss::Partition),
    Fate::Lost(Loss::Broken),
    Fate::Lost(Loss::Queue),
    Fate::Lost(Loss::Off),
    Fate::Lost(Loss::NoHost),
    Fate::Lost(Loss::Taken),
];

const FAULTS: [(Fault, &str); 10] = [
    (Fault::Partition, "Partition"),
    (Fault::OneWay, "OneWay"),
    (Fault::Hold, "Hold"),
    (Fault::Loss, "Loss"),
    (Fault::Delay, "Delay"),
    (Fault::Crash, "Crash"),
    (Fault::Kill, "Kill"),
    (Fault::Pause, "Pause"),
    (Fault::Clock, "Clock"),
    (Fault::Slow, "Slow"),
];

/// The place of something in a list that has all of its kind.
fn place<T: PartialEq>(all: &[T], one: &T) -> u8 {
    let found = all.iter().position(|other| other == one);
    found.map_or(u8::MAX, |place| place as u8)
}

/// What an event begins with.
mod tag {
    pub(super) const PACKET: u8 = 1;
    pub(super) const OUTPUT: u8 = 2;
    pub(super) const STATE: u8 = 3;
    pub(super) const FAULT: u8 = 4;
    pub(super) const ACT: u8 = 5;
    pub(super) const HEAL: u8 = 6;
    pub(super) const FAILURE: u8 = 7;
}

/// What is to be recorded, where it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum New<'a> {
    /// It was sent to no host if the flag says so.
    Packet(&'a Packet, Fate),
    Output(Option<usize>, bool, &'a [u8]),
    State(usize, State),
    Fault(&'a Happened),
    Act(&'a str),
    Heal,
    Failure(Option<usize>, &'a str),
}

impl New<'_> {
    pub(super) fn lane(&self) -> Lane {
        match self {
            New::Packet(..) | New::Output(..) => Lane::Frequent,
            _ => Lane::Rare,
        }
    }

    pub(super) fn write(&self, to: &mut Writer<'_>) {
        let host = |host: Option<usize>| host.map_or(NONE, |host| host as u32);
        match *self {
            New::Packet(packet, fate) => {
                to.u8(tag::PACKET);
                to.u64(packet.sent.0);
                to.u32(packet.from.0 as u32);
                let exists = fate != Fate::Lost(Loss::NoHost);
                to.u32(host(exists.then_some(packet.to.0)));
                to.address(packet.source);
                to.address(packet.destination);
                to.u8(place(&KINDS, &packet.kind()));
                to.u8(place(&FATES, &fate));
                let flags = [packet.was_held, packet.is_copy, packet.is_repeated()];
                to.u8(flags
                    .iter()
                    .rev()
                    .fold(0, |all, one| all << 1 | u8::from(*one)));
                let bytes = packet.bytes();
                to.u32(bytes.len() as u32);
                to.bytes(&bytes[..bytes.len().min(SHOWN)]);
            }
            New::Output(from, is_error, bytes) => {
                to.u8(tag::OUTPUT);
                to.u32(host(from));
                to.u8(is_error.into());
                to.bytes(bytes);
            }
            New::State(of, state) => {
                to.u8(tag::STATE);
                to.u32(of as u32);
                to.u8(place(&STATES, &state));
            }
            New::Fault(happened) => {
                to.u8(tag::FAULT);
                to.u32(happened.number as u32);
                to.u8(place(&FAULTS.map(|(fault, _)| fault), &happened.kind));
                to.u64(u64::try_from(happened.lasting.as_nanos()).unwrap_or(u64::MAX));
                to.bytes(happened.what.as_bytes());
            }
            New::Act(text) => {
                to.u8(tag::ACT);
                to.bytes(text.as_bytes());
            }
            New::Heal => to.u8(tag::HEAL),
            New::Failure(of, text) => {
                to.u8(tag::FAILURE);
                to.u32(host(of));
                to.bytes(text.as_bytes());
            }
        }
    }
}

impl What {
    /// Reads what was written, if it makes sense.
    pub(super) fn read(bytes: &[u8]) -> Option<What> {
        let mut from = Reader::new(bytes);
        let host = |place: Place| (place != NONE).then_some(place as usize);
        Some(match from.u8()? {
            tag::PACKET => What::Packet(Message::read(from)?),
            tag::OUTPUT => What::Output {
                host: host(from.u32()?),
                is_error: from.u8()? != 0,
                bytes: from.bytes()?.to_vec(),
            },
            tag::STATE => What::State {
                host: host(from.u32()?)?,
                state: *STATES.get(usize::from(from.u8()?))?,
            },
            tag::FAULT => What::Fault {
                number: from.u32()?,
                kind: FAULTS.get(usize::from(from.u8()?))?.1,
                lasting: Duration::from_nanos(from.u64()?),
                what: from.text()?,
            },
            tag::ACT => What::Act(from.text()?),
            tag::HEAL => What::Heal,
            tag::FAILURE => What::Failure {
                host: host(from.u32()?),
                text: from.text()?,
            },
            _ => return None,
        })
    }
}

impl Message {
    /// A packet that has not arrived.
    pub(super) fn under_way(packet: &Packet) -> Message {
        let bytes = packet.bytes();
        Message {
            sent: packet.sent,
            from: packet.from.0,
            to: Some(packet.to.0),
            source: packet.source,
            destination: packet.destination,
            kind: packet.kind(),
            length: bytes.len() as u32,
            fate: Fate::UnderWay,
            was_held: packet.was_held,
            is_copy: packet.is_copy,
            is_repeated: packet.is_repeated(),
            bytes: bytes[..bytes.len().min(SHOWN)].to_vec(),
        }
    }

    fn read(mut from: Reader<'_>) -> Option<Message> {
        let sent = Time(from.u64()?);
        let (sender, to) = (from.u32()? as usize, from.u32()?);
        let (source, destination) = (from.address()?, from.address()?);
        let kind = *KINDS.get(usize::from(from.u8()?))?;
        let fate = *FATES.get(usize::from(from.u8()?))?;
        let flags = from.u8()?;
        Some(Message {
            sent,
            from: sender,
            to: (to != NONE).then_some(to as usize),
            source,
            destination,
            kind,
            length: from.u32()?,
            fate,
            was_held: flags & 1 != 0,
            is_copy: flags & 2 != 0,
            is_repeated: flags & 4 != 0,
            bytes: from.bytes()?.to_vec(),
        })
    }
}

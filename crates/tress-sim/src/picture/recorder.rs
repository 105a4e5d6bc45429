//! What writes a recording.

use super::event::{Fate, New, State};
use super::recording::Recording;
use super::tape::{LARGEST, Tape};
use crate::faults::Happened;
use crate::kernel::HostId;
use crate::net::{End, Loss, Packet};
use crate::time::Time;
use std::cell::RefCell;
use std::rc::Rc;

/// Records what happens in a simulation, or does nothing. Clones write to the same tape.
///
/// It is made for each simulation, also for those that are not recorded: both find the same memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder(Rc<RefCell<Tapes>>);

#[derive(Debug, Default)]
struct Tapes {
    written: Option<Tape>,
    /// One that was asked for while another one was written. It is not used, but takes the memory that it would take otherwise.
    spare: Option<Tape>,
}

/// Bytes of an output that one event holds.
const PIECE: usize = LARGEST - 64;

impl Recorder {
    /// Begins to record, unless that was done before. Returns whether it has begun.
    pub(crate) fn begin(&self, seed: u64) -> bool {
        let tape = Tape::new();
        if self.is_on() {
            self.0.borrow_mut().spare = Some(tape);
            return false;
        }
        self.begin_on(tape, seed);
        true
    }

    /// Begins to record to that tape, from its start.
    pub(crate) fn begin_on(&self, mut tape: Tape, seed: u64) {
        tape.clear(seed);
        self.0.borrow_mut().written = Some(tape);
    }

    /// Records nothing any more.
    pub(crate) fn end(&self) {
        *self.0.borrow_mut() = Tapes::default();
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.borrow().written.is_some()
    }

    /// Returns what was recorded, if anything is.
    pub(crate) fn recording(&self) -> Option<Recording> {
        self.0.borrow().written.as_ref().map(Recording::read)
    }

    #[inline]
    fn add(&self, time: Time, event: New<'_>) {
        if let Some(tape) = &mut self.0.borrow_mut().written {
            tape.add(event.lane(), time, |writer| event.write(writer));
        }
    }

    pub(crate) fn host(&self, name: &str) {
        if let Some(tape) = &mut self.0.borrow_mut().written {
            tape.add_name(name);
        }
    }

    /// The way of a packet has ended.
    #[inline]
    pub(crate) fn packet(&self, packet: &Packet, end: End) {
        let (End::Delivered(time) | End::Lost(time, _)) = end;
        self.add(time, New::Packet(packet, Fate::from(end)));
    }

    /// A packet was sent to an address that no host has.
    pub(crate) fn packet_to_nobody(&self, packet: &Packet) {
        let fate = Fate::Lost(Loss::NoHost);
        self.add(packet.sent, New::Packet(packet, fate));
    }

    /// A packet has not arrived yet.
    pub(crate) fn under_way(&self, now: Time, packet: &Packet) {
        self.add(now, New::Packet(packet, Fate::UnderWay));
    }

    pub(crate) fn output(&self, now: Time, host: Option<HostId>, is_error: bool, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE) {
            let host = host.map(|host| host.0);
            self.add(now, New::Output(host, is_error, piece));
        }
    }

    pub(crate) fn state(&self, now: Time, host: HostId, state: State) {
        self.add(now, New::State(host.0, state));
    }

    pub(crate) fn fault(&self, now: Time, happened: &Happened) {
        self.add(now, New::Fault(happened));
    }

    /// Something was done to hosts or links.
    pub(crate) fn act(&self, now: Time, what: impl FnOnce() -> String) {
        if self.is_on() {
            self.add(now, New::Act(&what()));
        }
    }

    pub(crate) fn heal(&self, now: Time) {
        self.add(now, New::Heal);
    }

    /// Something has failed. Of a long text the start is kept.
    pub(crate) fn failure(&self, now: Time, host: Option<HostId>, text: &str) {
        let mut length = text.len().min(PIECE);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        let text = &text[..length];
        self.add(now, New::Failure(host.map(|host| host.0), text));
    }
}

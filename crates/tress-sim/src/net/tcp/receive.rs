//! The direction from the other end to here.

use super::super::bytes::{Into, Stream};
use super::super::{Cx, Net, Receive, SocketId};
use super::{State, Tcp};
use crate::kernel::Errno;
use crate::net::packet::Segment;
use crate::time::Time;
use std::collections::BTreeMap;

/// What has been received.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// The first number of the other end is known.
    pub(super) is_synchronised: bool,
    /// The number that is expected next.
    pub(super) next: u64,
    /// What the program has not read.
    pub(super) queue: Stream,
    /// What came before something that is still missing, by its first number.
    early: BTreeMap<u64, Vec<u8>>,
    /// The number behind all bytes, if known.
    last: Option<u64>,
    /// All has been received.
    pub(super) has_ended: bool,
    /// The first number that the other end was told there is no room for.
    promised: u64,
    /// Segments that were not acknowledged.
    owed: u32,
}

/// Segments after which an acknowledgement is sent though more may follow.
const MANY: u32 = 2;

impl Receiver {
    pub(super) fn begin(&mut self, first: u64) {
        self.is_synchronised = true;
        self.next = first + 1;
        self.promised = self.next;
    }

    pub(super) fn capacity(&self, cx: &Cx) -> usize {
        cx.base
            .options
            .receive_buffer
            .unwrap_or(cx.config.tcp_receive_buffer)
    }

    fn window(&self, cx: &Cx) -> u64 {
        let room = self.capacity(cx).saturating_sub(self.queue.len()) as u64;
        // What was promised stays so.
        room.max(self.promised.saturating_sub(self.next))
    }

    /// Returns the window, to be told with what has been received.
    pub(super) fn promise(&mut self, cx: &Cx) -> u64 {
        let window = self.window(cx);
        self.promised = self.next + window;
        self.owed = 0;
        window
    }

    /// Returns whether a reset with that number can be one of this connection.
    pub(super) fn may_reset(&self, cx: &Cx, number: u64) -> bool {
        (self.next..=self.next + self.window(cx)).contains(&number)
    }

    /// Adds the bytes from a number on.
    fn add(&mut self, number: u64, mut bytes: Vec<u8>) {
        let known = (self.next - number) as usize;
        if known >= bytes.len() {
            return;
        }
        bytes.drain(..known);
        self.next += bytes.len() as u64;
        self.queue.push(bytes);
    }

    /// Takes a segment's bytes, in any order. Returns whether it was the expected one.
    #[inline]
    fn take(&mut self, segment: Segment) -> bool {
        let before = self.next;
        let Segment {
            number,
            bytes,
            is_last,
            ..
        } = segment;
        if is_last {
            self.last = Some(number + bytes.len() as u64);
        }
        if number > self.next {
            if !bytes.is_empty() {
                let known = self.early.entry(number).or_default();
                if known.len() < bytes.len() {
                    *known = bytes;
                }
            }
            return false;
        }
        self.add(number, bytes);
        while let Some(first) = self.early.first_entry() {
            if *first.key() > self.next {
                break;
            }
            let (number, bytes) = first.remove_entry();
            self.add(number, bytes);
        }
        self.next > before || (is_last && !self.has_ended)
    }
}

impl Tcp {
    /// Handles what a segment carries.
    #[inline]
    pub(super) fn take(&mut self, cx: &mut Cx, segment: Segment) {
        let receiver = &self.receiver;
        let is_beyond = segment.end() > receiver.promised.max(receiver.next) + 1;
        if is_beyond || (segment.end() <= receiver.next) {
            // Seen before, asked for by a probe, or more than there is room for: say what is expected.
            self.acknowledge(cx);
            return;
        }
        let nobody_reads = self.is_orphan
            || (self.shut_read && matches!(self.state, State::FinWait1 | State::FinWait2));
        if nobody_reads && !segment.bytes.is_empty() {
            self.abort(cx);
            cx.base.error = Some(libc::ECONNRESET);
            cx.changed();
            return;
        }
        let receiver = &mut self.receiver;
        let is_pushed = segment.is_pushed || segment.is_last;
        let had_early = !receiver.early.is_empty();
        let is_expected = receiver.take(segment);
        receiver.owed += 1;
        let owes = !is_expected || is_pushed || had_early || receiver.owed >= MANY;
        let has_ended = receiver.last == Some(receiver.next) && !receiver.has_ended;
        if has_ended {
            receiver.next += 1;
            receiver.has_ended = true;
        }
        if owes {
            self.acknowledge(cx);
        }
        if has_ended {
            self.other_end_has_finished(cx);
        }
        if is_expected {
            cx.changed();
        }
    }

    #[inline]
    fn read(&mut self, cx: &mut Cx, into: Into<'_, '_>, how: Receive) -> Result<usize, Errno> {
        let copied = self.receiver.queue.take(into, how.peek);
        if copied > 0 {
            if !how.peek && !self.is_over() {
                self.tell_of_room(cx);
            }
            return Ok(copied);
        }
        if into.iter().all(|part| part.is_empty()) && !self.receiver.queue.is_empty() {
            return Ok(0);
        }
        if self.receiver.has_ended {
            // Whatever has happened since: there is nothing more to read.
            return Ok(0);
        }
        if let Some(error) = cx.base.error.take() {
            return Err(error);
        }
        if self.shut_read || self.is_broken {
            return Ok(0);
        }
        match self.state {
            State::Closed => Err(libc::ENOTCONN),
            _ => Err(libc::EAGAIN),
        }
    }

    /// Tells the other end of room that it does not know of, if it could soon lack it.
    fn tell_of_room(&mut self, cx: &mut Cx) {
        let receiver = &self.receiver;
        if receiver.has_ended {
            return;
        }
        let capacity = receiver.capacity(cx) as u64;
        let known = receiver.promised.saturating_sub(receiver.next);
        let more = receiver.window(cx) - known;
        let enough = (2 * self.sender.largest as u64).min(capacity / 2);
        if known < capacity / 2 && more >= enough {
            self.acknowledge(cx);
        }
    }
}

impl Net {
    pub(in super::super) fn receive_tcp(
        &mut self,
        now: Time,
        id: SocketId,
        into: Into<'_, '_>,
        how: Receive,
    ) -> Result<usize, Errno> {
        self.tcp(now, id, |tcp, cx| tcp.read(cx, into, how))?
    }
}

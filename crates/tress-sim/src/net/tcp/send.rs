//! The direction from here to the other end.

use super::super::bytes::{self, From};
use super::super::{Base, Config, Cx, Kind, Net, SocketId};
use super::{State, Tcp};
use crate::kernel::Errno;
use crate::net::packet::Segment;
use crate::time::Time;
use std::collections::VecDeque;

/// What has been sent and what is to be.
#[derive(Debug, Default)]
pub(super) struct Sender {
    /// The first number that is not acknowledged: that of the first byte of the buffer.
    pub(super) acknowledged: u64,
    /// The next number to be sent. Goes back when what was sent seems to be lost.
    pub(super) sent: u64,
    pub(super) most_sent: u64,
    /// The number behind all that a segment was made of.
    pub(super) told: u64,
    /// The first number that the other end has no room for.
    pub(super) limit: u64,
    buffer: VecDeque<u8>,
    /// Bytes of the largest segment.
    pub(super) largest: usize,
    /// Nothing follows the buffer.
    pub(super) is_finished: bool,
    /// The number behind all bytes, once it was sent.
    last: Option<u64>,
    /// Acknowledgements in a row that told nothing new.
    repeated: u32,
    /// A program has found no room.
    wants_room: bool,
    /// When the packet that was sent last arrives: the next one does not overtake it.
    pub(super) arrives: Time,
}

/// Acknowledgements that tell nothing new, after which a segment is taken for lost.
const REPEATED: u32 = 3;

impl Sender {
    pub(super) fn begin(&mut self, number: u64) {
        (self.acknowledged, self.sent, self.most_sent) = (number, number, number);
    }

    fn capacity(config: &Config, base: &Base) -> usize {
        base.options.send_buffer.unwrap_or(config.tcp_send_buffer)
    }

    fn room(&self, config: &Config, base: &Base) -> usize {
        Sender::capacity(config, base).saturating_sub(self.buffer.len())
    }

    /// Returns whether there is enough room for it to be worth a call.
    pub(super) fn is_writable(&self, config: &Config, base: &Base) -> bool {
        3 * self.room(config, base) >= Sender::capacity(config, base)
    }

    /// The number behind the last byte.
    fn end(&self) -> u64 {
        self.acknowledged + self.buffer.len() as u64
    }

    /// Returns whether the other end knows that nothing follows.
    fn has_ended(&self) -> bool {
        self.last.is_some_and(|last| self.acknowledged > last)
    }

    pub(super) fn is_in_flight(&self) -> bool {
        self.sent > self.acknowledged
    }

    /// Returns whether there is something to send for which there is no room.
    pub(super) fn is_stalled(&self) -> bool {
        !self.is_in_flight() && !self.buffer.is_empty() && self.limit <= self.sent
    }

    fn bytes(&self, number: u64, length: usize) -> Vec<u8> {
        let start = (number - self.acknowledged) as usize;
        let mut bytes = Vec::with_capacity(length);
        let (front, back) = self.buffer.as_slices();
        let of_front = front.len().saturating_sub(start).min(length);
        if of_front > 0 {
            bytes.extend_from_slice(&front[start..start + of_front]);
        }
        if of_front < length {
            let start = (start + of_front) - front.len();
            bytes.extend_from_slice(&back[start..start + length - of_front]);
        }
        bytes
    }

    /// Makes the segment that begins with a number, of at most the bytes below `limit`.
    #[inline]
    fn segment(&mut self, number: u64, limit: u64) -> Option<Segment> {
        let end = self.end();
        let to = end.min(limit);
        let length = (to.saturating_sub(number) as usize).min(self.largest);
        let next = number + length as u64;
        let is_last = self.is_finished && !self.has_ended() && next == end;
        if length == 0 && !is_last {
            return None;
        }
        if is_last {
            self.last = Some(end);
        }
        Some(Segment {
            number,
            is_last,
            is_pushed: next >= to,
            bytes: self.bytes(number, length),
            ..Segment::default()
        })
    }
}

impl Tcp {
    /// Sends what may be sent.
    pub(super) fn output(&mut self, cx: &mut Cx) {
        use State::{CloseWait, Closing, Established, FinWait1, LastAck};
        if !matches!(
            self.state,
            Established | CloseWait | FinWait1 | Closing | LastAck
        ) {
            return;
        }
        loop {
            let sender = &mut self.sender;
            let mut limit = sender.limit;
            if self.timers.is_backing_off() {
                // One segment at a time, until there is an answer.
                limit = limit.min(sender.acknowledged + sender.largest as u64);
            }
            let Some(segment) = sender.segment(sender.sent, limit) else {
                break;
            };
            sender.sent = segment.end();
            if sender.sent > sender.most_sent {
                sender.most_sent = sender.sent;
                self.timers.time(cx.now, sender.sent);
            }
            self.send(cx, segment);
        }
        if self.sender.is_in_flight() || self.sender.is_stalled() {
            self.timers.ensure_resend(cx, &self.sender);
        }
    }

    /// Handles an acknowledgement, which also tells how much room there is.
    pub(super) fn acknowledged(&mut self, cx: &mut Cx, number: u64, window: u64, is_empty: bool) {
        let sender = &mut self.sender;
        if number > sender.most_sent || number < sender.acknowledged {
            return;
        }
        let limit = number + window;
        let is_news = limit > sender.limit;
        sender.limit = sender.limit.max(limit);
        self.timers.unanswered_is_answered(sender.is_in_flight());
        if number > sender.acknowledged {
            let was_writable = sender.is_writable(cx.config, cx.base);
            let bytes = ((number - sender.acknowledged) as usize).min(sender.buffer.len());
            sender.buffer.drain(..bytes);
            sender.acknowledged = number;
            sender.sent = sender.sent.max(number);
            sender.repeated = 0;
            self.timers.progress(cx, sender);
            let is_writable = sender.is_writable(cx.config, cx.base);
            if is_writable && (sender.wants_room || !was_writable) {
                sender.wants_room = false;
                cx.changed();
            }
            if sender.has_ended() {
                self.end_is_acknowledged(cx);
            }
        } else if is_empty && !is_news && sender.is_in_flight() {
            sender.repeated += 1;
            if sender.repeated == REPEATED {
                let first = sender.segment(sender.acknowledged, sender.most_sent);
                if let Some(segment) = first {
                    self.timers.is_resent();
                    self.send(
                        cx,
                        Segment {
                            is_pushed: true,
                            ..segment
                        },
                    );
                }
            }
        }
        self.output(cx);
    }

    /// Sends what was sent first and not acknowledged once more.
    pub(super) fn go_back(&mut self, cx: &mut Cx) {
        self.sender.sent = self.sender.acknowledged;
        self.sender.repeated = 0;
        self.output(cx);
    }

    /// Asks the other end to tell what it has, by a number that it has seen.
    pub(super) fn probe(&mut self, cx: &mut Cx) {
        let number = self.sender.acknowledged - 1;
        self.send(
            cx,
            Segment {
                number,
                ..Segment::default()
            },
        );
    }

    #[inline]
    fn write(&mut self, cx: &mut Cx, from: From<'_, '_>) -> Result<usize, Errno> {
        if cx.base.error.is_some() || self.shut_write || self.is_broken {
            return Err(cx.base.error.take().unwrap_or(libc::EPIPE));
        }
        match self.state {
            State::Established | State::CloseWait => {}
            State::SynSent | State::SynReceived => return Err(libc::EAGAIN),
            _ => return Err(libc::EPIPE),
        }
        let total = bytes::total(from);
        let room = self.sender.room(cx.config, cx.base);
        let taken = total.min(room);
        let mut left = taken;
        for part in from {
            let n = part.len().min(left);
            self.sender.buffer.extend(&part[..n]);
            left -= n;
        }
        self.sender.wants_room |= taken < total;
        if taken == 0 && total > 0 {
            return Err(libc::EAGAIN);
        }
        self.output(cx);
        self.set_timer(cx);
        Ok(taken)
    }
}

impl Net {
    pub(in super::super) fn send_tcp(
        &mut self,
        now: Time,
        id: SocketId,
        from: From<'_, '_>,
    ) -> Result<usize, Errno> {
        debug_assert!(matches!(self.socket_ref(id)?.kind, Kind::Tcp(_)));
        self.tcp(now, id, |tcp, cx| tcp.write(cx, from))?
    }
}

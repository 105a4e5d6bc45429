//! TCP: connections that survive the loss of packets, and end when they cannot.
//!
//! Bytes are numbered without wrapping, from a first number that no other connection of a run has, so that what belongs
//! to an earlier connection of the same two ports is recognised. Otherwise it is the protocol: a handshake, segments
//! within the receiver's window, cumulative acknowledgement, retransmission with doubled time-outs, half-close, resets.
//! There is no congestion control: the window is the limit.
//!
//! Each segment with bytes is acknowledged when it is the last of those that were sent together, so that a message and
//! its acknowledgement are two packets.

mod close;
mod connect;
mod listen;
mod receive;
mod send;
mod timers;

pub(super) use connect::target;
pub(super) use listen::Listener;

use super::address::Ends;
use super::packet::{Body, Segment};
use super::{Base, Config, Cx, Kind, Net, SocketId};
use crate::kernel::{Errno, HostId, ready};
use crate::time::Time;
use receive::Receiver;
use send::Sender;
use std::net::SocketAddr;
use timers::Timers;

/// One end of a connection.
#[derive(Debug, Default)]
pub(super) struct Tcp {
    state: State,
    sender: Sender,
    receiver: Receiver,
    timers: Timers,
    /// What `connect` has told so far.
    asked: Asked,
    /// The program has ended the direction.
    shut_read: bool,
    shut_write: bool,
    /// The connection was broken: both directions have ended.
    is_broken: bool,
    /// No descriptor refers to it: the system ends the connection.
    is_orphan: bool,
    /// Where it waits to be accepted.
    listener: Option<SocketId>,
    /// Counted as established.
    is_counted: bool,
}

/// The states of the protocol, but for listening, which is another [`Kind`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// How far a program is with `connect`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Asked {
    #[default]
    No,
    InProgress,
    Told,
}

impl Tcp {
    fn set_state(&mut self, cx: &mut Cx, state: State) {
        self.state = state;
        self.count(cx);
    }

    /// Counts the connection while it is one that a program has.
    fn count(&mut self, cx: &mut Cx) {
        use State::{CloseWait, Established, FinWait1, FinWait2};
        let counts =
            !self.is_orphan && matches!(self.state, Established | CloseWait | FinWait1 | FinWait2);
        if counts == self.is_counted {
            return;
        }
        self.is_counted = counts;
        let of_host = &mut cx.wire.machines[cx.base.host.0].established;
        let of_all = &mut cx.wire.counters.established;
        for count in [of_host, of_all] {
            *count = if counts { *count + 1 } else { *count - 1 };
        }
    }

    /// Returns whether there is a connection, or was one whose end the program does not know.
    pub(super) fn is_connected(&self) -> bool {
        !matches!(
            self.state,
            State::Closed | State::SynSent | State::SynReceived | State::TimeWait
        )
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }

    pub(super) fn unread(&self) -> usize {
        self.receiver.queue.len()
    }

    /// The size of the largest segment.
    pub(super) fn largest(&self) -> usize {
        self.sender.largest
    }

    #[inline]
    pub(super) fn readiness(&self, config: &Config, base: &Base) -> u32 {
        let mut readiness = 0;
        let no_read = self.shut_read || self.is_broken || self.receiver.has_ended;
        let no_write = self.shut_write || self.is_broken;
        if (no_read && no_write) || self.is_over() {
            readiness |= ready::HUP;
        }
        if no_read {
            readiness |= ready::IN | ready::RDHUP;
        }
        if !self.receiver.queue.is_empty() {
            readiness |= ready::IN;
        }
        let is_opening = matches!(self.state, State::SynSent | State::SynReceived);
        if !is_opening && (no_write || self.sender.is_writable(config, base)) {
            readiness |= ready::OUT;
        }
        readiness
    }

    /// Sends a segment, with everything that every segment tells.
    fn send(&mut self, cx: &mut Cx, mut segment: Segment) {
        if self.receiver.is_synchronised {
            segment.acknowledged = Some(self.receiver.next);
            segment.window = self.receiver.promise(cx);
        }
        if segment.is_first {
            segment.window = self.receiver.capacity(cx) as u64;
            segment.largest = self.sender.largest;
        }
        let (Some(local), Some(remote)) = (cx.base.local, cx.base.remote) else {
            return;
        };
        let end = segment.end();
        segment.is_repeated = segment.length() > 0 && end <= self.sender.told;
        self.sender.told = end.max(self.sender.told);
        let body = Body::Segment(segment);
        let after = self.sender.arrives;
        let from = cx.base.host;
        self.sender.arrives = cx
            .wire
            .send(cx.config, cx.now, from, [local, remote], body, after);
    }

    /// Acknowledges what has been received.
    #[inline]
    fn acknowledge(&mut self, cx: &mut Cx) {
        let number = self.sender.most_sent;
        self.send(
            cx,
            Segment {
                number,
                ..Segment::default()
            },
        );
    }

    /// Handles a segment of this connection.
    #[inline]
    fn arrive(&mut self, cx: &mut Cx, segment: Segment) {
        self.timers.heard(cx.now);
        match self.state {
            State::Closed => {}
            State::SynSent => self.arrive_in_syn_sent(cx, segment),
            State::TimeWait => {
                if segment.is_reset {
                    self.set_state(cx, State::Closed);
                } else if segment.length() > 0 {
                    self.acknowledge(cx);
                    self.timers.set_end(cx.now + cx.config.time_wait);
                }
            }
            _ => self.arrive_in_order(cx, segment),
        }
        if self.state != State::Closed {
            self.set_timer(cx);
        }
    }

    fn arrive_in_order(&mut self, cx: &mut Cx, segment: Segment) {
        if segment.is_reset {
            if self.receiver.may_reset(cx, segment.number) {
                self.broken_by_reset(cx);
            }
            return;
        }
        if segment.is_first {
            if self.state == State::SynReceived && segment.acknowledged.is_none() {
                self.send_first(cx);
            } else {
                // Either the last packet of the handshake was lost, or the other end has forgotten the connection and
                // wants another one: then it answers with a reset.
                self.acknowledge(cx);
            }
            if self.state != State::SynReceived || segment.acknowledged.is_none() {
                return;
            }
        }
        let Some(acknowledged) = segment.acknowledged else {
            return;
        };
        if self.state == State::SynReceived {
            if acknowledged != self.sender.sent {
                return;
            }
            self.set_state(cx, State::Established);
            cx.changed();
        }
        self.acknowledged(cx, acknowledged, segment.window, segment.length() == 0);
        if self.state == State::Closed {
            return;
        }
        if segment.length() > 0 || segment.number < self.receiver.next {
            self.take(cx, segment);
        }
    }
}

impl Net {
    /// Does something with a connection, and then what follows from its new state.
    pub(super) fn tcp<R>(
        &mut self,
        now: Time,
        id: SocketId,
        act: impl FnOnce(&mut Tcp, &mut Cx) -> R,
    ) -> Result<R, Errno> {
        let socket = self.sockets.get_mut(id.0).ok_or(libc::ENETDOWN)?;
        let Kind::Tcp(tcp) = &mut socket.kind else {
            return Err(libc::EINVAL);
        };
        let before = tcp.state;
        let mut cx = Cx {
            now,
            config: &self.config,
            base: &mut socket.base,
            wire: &mut self.wire,
        };
        let result = act(tcp, &mut cx);
        if tcp.state != before {
            self.state_has_changed(id);
        }
        Ok(result)
    }

    fn state_has_changed(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(id.0) else {
            return;
        };
        let Kind::Tcp(tcp) = &mut socket.kind else {
            return;
        };
        let is_closed = tcp.state == State::Closed;
        if tcp.state == State::SynReceived {
            return;
        }
        let listener = tcp.listener.take();
        let is_gone = is_closed && (tcp.is_orphan || listener.is_some());
        if is_closed {
            self.forget_connection(id);
        }
        if let Some(listener) = listener {
            self.has_left(listener, id, !is_closed);
        }
        if is_gone {
            self.remove(id);
        }
    }

    /// Frees the addresses of a connection that has ended.
    fn forget_connection(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(id.0) else {
            return;
        };
        let base = &mut socket.base;
        let (Some(local), Some(remote)) = (base.local, base.remote) else {
            return;
        };
        let names = &mut self.names[base.host.0];
        let ends = Ends { local, remote };
        if names.connections.get(&ends) == Some(&id) {
            names.connections.remove(&ends);
        }
        names.leave_accepted(local.port(), id);
        if base.is_bound_by_connect {
            names.leave(super::Protocol::Tcp, local.port(), id);
        }
    }

    #[inline]
    pub(super) fn segment_arrives(
        &mut self,
        now: Time,
        host: HostId,
        [source, destination]: [SocketAddr; 2],
        segment: Segment,
    ) {
        let ends = Ends {
            local: destination,
            remote: source,
        };
        let known = self.names[host.0].connections.get(&ends).copied();
        if let Some(id) = known {
            if !segment.is_reset && self.is_kept_out(id) {
                return;
            }
            if !(segment.is_first && self.is_waiting_out(id)) {
                // The connection exists for as long as its addresses are known.
                let _ = self.tcp(now, id, |tcp, cx| tcp.arrive(cx, segment));
                return;
            }
            // A new connection of the same two ports: the old one need not be waited for any longer.
            let _ = self.tcp(now, id, |tcp, cx| tcp.set_state(cx, State::Closed));
        }
        if segment.is_first && segment.acknowledged.is_none() && !segment.is_reset {
            if let Some(listener) = self.listener_for(host, [source, destination]) {
                self.asks_for_connection(now, listener, [source, destination], &segment);
                return;
            }
        }
        if !segment.is_reset {
            self.refuse(now, host, [destination, source], &segment);
        }
    }

    fn is_waiting_out(&self, id: SocketId) -> bool {
        let socket = self.sockets.get(id.0);
        socket.is_some_and(|socket| match &socket.kind {
            Kind::Tcp(tcp) => tcp.state == State::TimeWait,
            _ => false,
        })
    }

    /// Answers a segment that belongs to no connection.
    fn refuse(&mut self, now: Time, host: HostId, addresses: [SocketAddr; 2], to: &Segment) {
        let reset = Segment {
            number: to.acknowledged.unwrap_or(0),
            acknowledged: to.acknowledged.is_none().then(|| to.end()),
            is_reset: true,
            ..Segment::default()
        };
        self.wire.send(
            &self.config,
            now,
            host,
            addresses,
            Body::Segment(reset),
            now,
        );
    }
}

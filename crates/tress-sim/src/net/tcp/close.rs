//! How a connection ends.

use super::super::{Cx, Kind, Net, SocketId};
use super::{Asked, State, Tcp};
use crate::kernel::Errno;
use crate::net::packet::Segment;
use crate::time::Time;
use std::time::Duration;

/// How long a connection that nobody has waits for the other end to finish.
const LAST_WAIT: Duration = Duration::from_secs(60);

impl Tcp {
    /// Nothing of the connection works any more.
    pub(super) fn broken(&mut self, cx: &mut Cx, error: Option<Errno>) {
        self.is_broken = true;
        cx.base.error = error.or(cx.base.error);
        self.set_state(cx, State::Closed);
        cx.changed();
    }

    pub(super) fn broken_by_reset(&mut self, cx: &mut Cx) {
        let error = match self.state {
            State::SynSent => libc::ECONNREFUSED,
            State::CloseWait => libc::EPIPE,
            _ => libc::ECONNRESET,
        };
        self.broken(cx, Some(error));
    }

    /// Breaks the connection, and tells the other end.
    pub(super) fn abort(&mut self, cx: &mut Cx) {
        if !matches!(self.state, State::Closed | State::SynSent | State::TimeWait) {
            let number = self.sender.most_sent;
            let reset = Segment {
                number,
                is_reset: true,
                ..Segment::default()
            };
            self.send(cx, reset);
        }
        self.is_broken = true;
        self.set_state(cx, State::Closed);
    }

    /// The program sends nothing more.
    fn finish(&mut self, cx: &mut Cx) {
        let next = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            _ => return,
        };
        self.sender.is_finished = true;
        self.set_state(cx, next);
        self.output(cx);
        self.set_timer(cx);
    }

    /// The other end has received all, and knows that it is all.
    pub(super) fn end_is_acknowledged(&mut self, cx: &mut Cx) {
        match self.state {
            State::FinWait1 => {
                self.set_state(cx, State::FinWait2);
                if self.is_orphan {
                    self.timers.set_end(cx.now + LAST_WAIT);
                }
            }
            State::Closing => self.wait_out(cx),
            State::LastAck => self.set_state(cx, State::Closed),
            _ => {}
        }
        cx.changed();
    }

    /// The other end sends nothing more.
    pub(super) fn other_end_has_finished(&mut self, cx: &mut Cx) {
        match self.state {
            State::Established => self.set_state(cx, State::CloseWait),
            State::FinWait1 => self.set_state(cx, State::Closing),
            State::FinWait2 => self.wait_out(cx),
            _ => {}
        }
        cx.changed();
    }

    /// Both ends have finished. What is still on its way must not reach a new connection of the same ports.
    fn wait_out(&mut self, cx: &mut Cx) {
        self.set_state(cx, State::TimeWait);
        self.timers.stop_resend();
        self.timers.set_end(cx.now + cx.config.time_wait);
        self.set_timer(cx);
    }

    fn shutdown(&mut self, cx: &mut Cx, read: bool, write: bool) -> Result<(), Errno> {
        match self.state {
            State::Closed | State::TimeWait => return Err(libc::ENOTCONN),
            State::SynSent | State::SynReceived => {
                self.asked = Asked::No;
                self.abort(cx);
                cx.changed();
                return Ok(());
            }
            _ => {}
        }
        self.shut_read |= read;
        if write && !self.shut_write {
            self.shut_write = true;
            self.finish(cx);
        }
        cx.changed();
        Ok(())
    }

    /// No descriptor refers to it any more.
    fn orphan(&mut self, cx: &mut Cx) {
        self.is_orphan = true;
        self.count(cx);
        let is_hard = cx.base.options.linger == Some(0) || !self.receiver.queue.is_empty();
        match self.state {
            State::Closed | State::TimeWait => {}
            State::SynSent | State::SynReceived => self.abort(cx),
            _ if is_hard => self.abort(cx),
            State::FinWait2 => {
                self.timers.set_end(cx.now + LAST_WAIT);
                self.set_timer(cx);
            }
            _ => {
                self.shut_write = true;
                self.finish(cx);
            }
        }
    }
}

impl Net {
    pub(in super::super) fn shutdown_tcp(
        &mut self,
        now: Time,
        id: SocketId,
        read: bool,
        write: bool,
    ) -> Result<(), Errno> {
        self.tcp(now, id, |tcp, cx| tcp.shutdown(cx, read, write))?
    }

    pub(in super::super) fn close_tcp(&mut self, now: Time, id: SocketId) {
        let closed = self.tcp(now, id, |tcp, cx| {
            tcp.orphan(cx);
            tcp.state == State::Closed
        });
        if closed != Ok(false) {
            self.remove(id);
        }
    }

    /// `connect` to nothing: the connection is broken, and the socket can be used again.
    pub(in super::super) fn disconnect_tcp(
        &mut self,
        now: Time,
        id: SocketId,
    ) -> Result<(), Errno> {
        self.tcp(now, id, |tcp, cx| tcp.abort(cx))?;
        let socket = self.socket_mut(id)?;
        socket.kind = Kind::Tcp(Box::default());
        socket.base.remote = None;
        self.changed(id);
        Ok(())
    }
}

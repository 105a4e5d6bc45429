//! How a connection begins.

use super::super::{Cx, Kind, Net, SocketId};
use super::{Asked, State, Tcp};
use crate::kernel::Errno;
use crate::net::address::Ends;
use crate::net::packet::Segment;
use crate::time::Time;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes of the headers of a packet.
pub(super) fn headers(address: SocketAddr) -> usize {
    if address.is_ipv6() { 60 } else { 40 }
}

/// Returns where packets to an address go: the unspecified one means the host itself.
pub(in super::super) fn target(address: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

impl Tcp {
    /// Gives the connection its first number.
    pub(super) fn begin(&mut self, cx: &mut Cx) {
        // Far enough apart that no connection ever sends a number of another one.
        cx.wire.last_number += 1 << 44;
        self.sender.begin(cx.wire.last_number);
        let (host, remote) = (
            cx.base.host,
            cx.base.remote.expect("is known when it begins"),
        );
        let to = cx.wire.host_at(host, remote.ip());
        let mtu = to.map_or(cx.config.link.mtu, |to| {
            cx.wire
                .mtu(cx.config, host, to)
                .min(cx.wire.mtu(cx.config, to, host))
        });
        self.sender.largest = mtu.saturating_sub(headers(remote)).max(88);
        self.timers.begin(cx.now);
    }

    /// Sends the first segment, which asks for the connection or agrees to it.
    pub(super) fn send_first(&mut self, cx: &mut Cx) {
        let number = self.sender.acknowledged;
        let segment = Segment {
            number,
            is_first: true,
            ..Segment::default()
        };
        self.sender.sent = number + 1;
        self.sender.most_sent = number + 1;
        self.timers.start_resend(cx, &self.sender);
        self.send(cx, segment);
    }

    fn ask(&mut self, cx: &mut Cx) {
        self.begin(cx);
        self.asked = Asked::InProgress;
        self.set_state(cx, State::SynSent);
        self.send_first(cx);
        self.set_timer(cx);
    }

    pub(super) fn arrive_in_syn_sent(&mut self, cx: &mut Cx, segment: Segment) {
        let is_answer = segment.acknowledged == Some(self.sender.sent);
        if segment.acknowledged.is_some() && !is_answer {
            // Of an earlier connection: it does not exist any more.
            if !segment.is_reset {
                let reset = Segment {
                    number: segment.acknowledged.unwrap_or(0),
                    is_reset: true,
                    ..Segment::default()
                };
                self.send(cx, reset);
            }
            return;
        }
        if segment.is_reset {
            if is_answer {
                self.broken_by_reset(cx);
            }
            return;
        }
        if !segment.is_first {
            return;
        }
        self.receiver.begin(segment.number);
        self.sender.largest = self.sender.largest.min(segment.largest);
        if is_answer {
            self.set_state(cx, State::Established);
            self.acknowledged(cx, self.sender.sent, segment.window, false);
            self.acknowledge(cx);
            cx.changed();
        } else {
            // Both ask at the same time.
            self.set_state(cx, State::SynReceived);
            self.send_first(cx);
        }
    }
}

impl Net {
    pub(in super::super) fn connect_tcp(
        &mut self,
        now: Time,
        id: SocketId,
        address: SocketAddr,
    ) -> Result<(), Errno> {
        let socket = self.socket_mut(id)?;
        let Kind::Tcp(tcp) = &mut socket.kind else {
            return Err(libc::EINVAL);
        };
        match (tcp.asked, tcp.state) {
            (Asked::InProgress, State::SynSent | State::SynReceived) => return Err(libc::EALREADY),
            (Asked::InProgress, _) => {
                return self.connected(id).unwrap_or(Err(libc::EALREADY));
            }
            (_, State::Closed) => {}
            _ => return Err(libc::EISCONN),
        }
        let base = &mut socket.base;
        let remote = target(Net::of_family(base, address)?);
        if base.is_bound_by_connect {
            // Of an earlier attempt.
            (base.local, base.is_bound_by_connect) = (None, false);
        }
        let (host, local) = (base.host, base.local);
        if remote.ip().is_multicast() || super::super::address::is_broadcast(remote.ip()) {
            return Err(libc::ENETUNREACH);
        }
        let source = self.source(host, remote.ip())?;
        match local {
            None => self.bind_to_connect(id, source, remote)?,
            Some(local) => {
                let ip = if local.ip().is_unspecified() {
                    source
                } else {
                    local.ip()
                };
                let local = SocketAddr::new(ip, local.port());
                if self.names[host.0]
                    .connections
                    .contains_key(&Ends { local, remote })
                {
                    return Err(libc::EADDRNOTAVAIL);
                }
                self.socket_mut(id)?.base.local = Some(local);
            }
        }
        let base = &mut self.socket_mut(id)?.base;
        (base.remote, base.error) = (Some(remote), None);
        let local = base.local.expect("bound above");
        let ends = Ends { local, remote };
        self.names[host.0].connections.insert(ends, id);
        let socket = self.socket_mut(id)?;
        socket.kind = Kind::Tcp(Box::default());
        self.tcp(now, id, |tcp, cx| tcp.ask(cx))?;
        Err(libc::EINPROGRESS)
    }

    /// Returns how an attempt to connect has ended, if it has.
    pub(crate) fn connected(&mut self, id: SocketId) -> Option<Result<(), Errno>> {
        let socket = match self.socket_mut(id) {
            Ok(socket) => socket,
            Err(errno) => return Some(Err(errno)),
        };
        let Kind::Tcp(tcp) = &mut socket.kind else {
            return Some(Ok(()));
        };
        match tcp.state {
            State::SynSent | State::SynReceived => None,
            State::Closed => {
                tcp.asked = Asked::No;
                Some(Err(socket.base.error.take().unwrap_or(libc::ECONNABORTED)))
            }
            _ => {
                tcp.asked = Asked::Told;
                Some(Ok(()))
            }
        }
    }
}

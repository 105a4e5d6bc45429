//! Options of sockets: what programs set, and what they are told.

use super::address::{Domain, Protocol};
use super::{Base, Kind, Net, Socket, SocketId, unix};
use crate::kernel::{Errno, HostId};
use crate::time::Time;
use libc::c_int;
use std::time::Duration;

/// The options that the model or the calls heed, and those that are only kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) reuse_address: bool,
    pub(crate) reuse_port: bool,
    pub(crate) keep_alive: bool,
    pub(crate) broadcast: bool,
    /// Seconds, if closing is to wait or, with zero, to break the connection.
    pub(crate) linger: Option<c_int>,
    pub(crate) only_v6: bool,
    pub(crate) receive_buffer: Option<usize>,
    pub(crate) send_buffer: Option<usize>,
    /// How long calls wait.
    pub(crate) receive_timeout: Option<Duration>,
    pub(crate) send_timeout: Option<Duration>,
    pub(crate) keep_idle: Option<Duration>,
    pub(crate) keep_interval: Option<Duration>,
    pub(crate) keep_count: Option<u32>,
    pub(crate) user_timeout: Option<Duration>,
    pub(crate) service: u8,
    pub(crate) hops: Option<u8>,
    pub(crate) multicast_hops: Option<u8>,
    pub(crate) no_multicast_loop: bool,
    /// Datagrams that do not fit into a packet are refused.
    pub(crate) no_fragments: bool,
    /// What to tell with each datagram.
    pub(crate) tell_destination: bool,
    pub(crate) tell_service: bool,
    pub(crate) tell_hops: bool,
    /// Kept and told, without effect.
    kept: Vec<((c_int, c_int), c_int)>,
}

/// A value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Number(c_int),
    /// One byte, where programs ask for one.
    Duration(Option<Duration>),
    Linger(Option<c_int>),
    /// Process, user and group.
    Credentials([u32; 3]),
    Bytes(Vec<u8>),
}

const DEFAULT_HOPS: u8 = 64;

/// Options of these names are numbers that are kept and told, without effect: delays and sizes that the model does not
/// have, and priorities.
const KEPT: &[(c_int, c_int)] = &[
    (libc::SOL_SOCKET, libc::SO_PRIORITY),
    (libc::SOL_SOCKET, libc::SO_MARK),
    (libc::SOL_SOCKET, libc::SO_OOBINLINE),
    (libc::SOL_SOCKET, libc::SO_DONTROUTE),
    (libc::SOL_SOCKET, libc::SO_RCVLOWAT),
    (libc::SOL_SOCKET, libc::SO_TIMESTAMP),
    (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS),
    (libc::SOL_SOCKET, libc::SO_BUSY_POLL),
    (libc::SOL_SOCKET, libc::SO_INCOMING_CPU),
    (libc::SOL_SOCKET, libc::SO_PASSCRED),
    (libc::SOL_SOCKET, libc::SO_RXQ_OVFL),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY),
    (libc::IPPROTO_TCP, libc::TCP_QUICKACK),
    (libc::IPPROTO_TCP, libc::TCP_CORK),
    (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT),
    (libc::IPPROTO_TCP, libc::TCP_SYNCNT),
    (libc::IPPROTO_TCP, libc::TCP_LINGER2),
    (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP),
    (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT),
    (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT),
    (libc::IPPROTO_IP, libc::IP_FREEBIND),
    (libc::IPPROTO_IP, libc::IP_TRANSPARENT),
    (libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT),
    (libc::IPPROTO_IP, libc::IP_RECVERR),
    (libc::IPPROTO_IP, libc::IP_MULTICAST_IF),
    (libc::IPPROTO_IP, libc::IP_MULTICAST_ALL),
    (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER),
    (libc::IPPROTO_IPV6, libc::IPV6_FREEBIND),
    (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
    (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_IF),
    (libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG),
    (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER),
];

/// Values of options that refuse fragments.
const REFUSE_FRAGMENTS: [c_int; 2] = [libc::IP_PMTUDISC_DO, libc::IP_PMTUDISC_PROBE];

impl Options {
    fn kept(&self, name: (c_int, c_int)) -> Option<c_int> {
        self.kept
            .iter()
            .find(|(other, _)| *other == name)
            .map(|(_, value)| *value)
    }

    fn keep(&mut self, name: (c_int, c_int), value: c_int) {
        self.kept.retain(|(other, _)| *other != name);
        self.kept.push((name, value));
    }

    /// The time to live of what is sent.
    pub(super) fn hops(&self, is_multicast: bool) -> u8 {
        if is_multicast {
            return self.multicast_hops.unwrap_or(1);
        }
        self.hops.unwrap_or(DEFAULT_HOPS)
    }
}

/// A number of seconds or of tries, which is at least one.
fn positive(value: c_int, limit: c_int) -> Result<u32, Errno> {
    if !(1..=limit).contains(&value) {
        return Err(libc::EINVAL);
    }
    Ok(value as u32)
}

fn hops(value: c_int) -> Result<Option<u8>, Errno> {
    match value {
        -1 => Ok(None),
        0..=255 => Ok(Some(value as u8)),
        _ => Err(libc::EINVAL),
    }
}

impl Base {
    /// Sets an option that is a number.
    pub(super) fn set_number(
        &mut self,
        level: c_int,
        name: c_int,
        value: c_int,
        is_tcp: bool,
    ) -> Result<(), Errno> {
        if self.domain == Domain::Unix && level != libc::SOL_SOCKET {
            return Err(libc::EOPNOTSUPP);
        }
        let options = &mut self.options;
        let on = value != 0;
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_REUSEADDR) => options.reuse_address = on,
            (libc::SOL_SOCKET, libc::SO_REUSEPORT) => options.reuse_port = on,
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => options.keep_alive = on,
            (libc::SOL_SOCKET, libc::SO_BROADCAST) => options.broadcast = on,
            (libc::SOL_SOCKET, libc::SO_RCVBUF | libc::SO_RCVBUFFORCE) => {
                options.receive_buffer = Some((value.max(0) as usize).clamp(1152, 1 << 29));
            }
            (libc::SOL_SOCKET, libc::SO_SNDBUF | libc::SO_SNDBUFFORCE) => {
                options.send_buffer = Some((value.max(0) as usize).clamp(2304, 1 << 29));
            }
            (libc::IPPROTO_TCP, _) if !is_tcp => return Err(libc::ENOPROTOOPT),
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE) => {
                options.keep_idle = Some(Duration::from_secs(positive(value, 32_767)?.into()));
            }
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL) => {
                options.keep_interval = Some(Duration::from_secs(positive(value, 32_767)?.into()));
            }
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT) => {
                options.keep_count = Some(positive(value, 127)?);
            }
            (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => {
                let ms = u64::try_from(value).map_err(|_| libc::EINVAL)?;
                options.user_timeout = (ms > 0).then(|| Duration::from_millis(ms));
            }
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => {
                if !(88..=32_767).contains(&value) {
                    return Err(libc::EINVAL);
                }
                options.keep((level, name), value);
            }
            (libc::IPPROTO_IPV6, _) if self.domain != Domain::V6 => return Err(libc::ENOPROTOOPT),
            (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) => {
                if self.local.is_some() {
                    return Err(libc::EINVAL);
                }
                options.only_v6 = on;
            }
            (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                options.service = value.max(0) as u8;
            }
            (libc::IPPROTO_IP, libc::IP_TTL) => {
                let hops = hops(value)?;
                if hops == Some(0) {
                    return Err(libc::EINVAL);
                }
                options.hops = hops;
            }
            (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS) => options.hops = hops(value)?,
            (libc::IPPROTO_IP, libc::IP_MULTICAST_TTL) if is_tcp => return Err(libc::EINVAL),
            (libc::IPPROTO_IP, libc::IP_MULTICAST_TTL)
            | (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS) => {
                options.multicast_hops = hops(value)?;
            }
            (libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP)
            | (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_LOOP) => options.no_multicast_loop = !on,
            (libc::IPPROTO_IP, libc::IP_PKTINFO) | (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO) => {
                options.tell_destination = on
            }
            (libc::IPPROTO_IP, libc::IP_RECVTOS) | (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS) => {
                options.tell_service = on
            }
            (libc::IPPROTO_IP, libc::IP_RECVTTL)
            | (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT) => options.tell_hops = on,
            name if KEPT.contains(&name) => {
                if matches!(
                    name,
                    (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER)
                        | (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER)
                ) {
                    options.no_fragments = REFUSE_FRAGMENTS.contains(&value);
                }
                options.keep(name, value);
            }
            _ => return Err(libc::ENOPROTOOPT),
        }
        Ok(())
    }

    /// Returns an option that does not depend on what kind of socket it is.
    fn option(&self, level: c_int, name: c_int) -> Result<Value, Errno> {
        let options = &self.options;
        let flag = |on: bool| Ok(Value::Number(on.into()));
        let seconds = |set: Option<Duration>, default: u64| {
            let seconds = set.map_or(default, |set| set.as_secs());
            Ok(Value::Number(seconds as c_int))
        };
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_REUSEADDR) => flag(options.reuse_address),
            (libc::SOL_SOCKET, libc::SO_REUSEPORT) => flag(options.reuse_port),
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => flag(options.keep_alive),
            (libc::SOL_SOCKET, libc::SO_BROADCAST) => flag(options.broadcast),
            (libc::SOL_SOCKET, libc::SO_LINGER) => Ok(Value::Linger(options.linger)),
            (libc::SOL_SOCKET, libc::SO_RCVTIMEO) => Ok(Value::Duration(options.receive_timeout)),
            (libc::SOL_SOCKET, libc::SO_SNDTIMEO) => Ok(Value::Duration(options.send_timeout)),
            (libc::SOL_SOCKET, libc::SO_DOMAIN) => Ok(Value::Number(match self.domain {
                Domain::V4 => libc::AF_INET,
                Domain::V6 => libc::AF_INET6,
                Domain::Unix => libc::AF_UNIX,
            })),
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE) => seconds(options.keep_idle, 7200),
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL) => seconds(options.keep_interval, 75),
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT) => {
                Ok(Value::Number(options.keep_count.unwrap_or(9) as c_int))
            }
            (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => {
                let ms = options
                    .user_timeout
                    .map_or(0, |timeout| timeout.as_millis());
                Ok(Value::Number(ms as c_int))
            }
            (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => Ok(Value::Bytes(b"cubic\0".to_vec())),
            (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) => flag(options.only_v6),
            (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                Ok(Value::Number(options.service.into()))
            }
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS) => {
                Ok(Value::Number(options.hops(false).into()))
            }
            (libc::IPPROTO_IP, libc::IP_MULTICAST_TTL)
            | (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS) => {
                Ok(Value::Number(options.hops(true).into()))
            }
            (libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP)
            | (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_LOOP) => flag(!options.no_multicast_loop),
            (libc::IPPROTO_IP, libc::IP_PKTINFO) | (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO) => {
                flag(options.tell_destination)
            }
            (libc::IPPROTO_IP, libc::IP_RECVTOS) | (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS) => {
                flag(options.tell_service)
            }
            (libc::IPPROTO_IP, libc::IP_RECVTTL)
            | (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT) => flag(options.tell_hops),
            name if KEPT.contains(&name) => Ok(Value::Number(options.kept(name).unwrap_or(0))),
            _ => Err(libc::ENOPROTOOPT),
        }
    }
}

impl Socket {
    /// Returns an option, but for those that need more than the socket.
    pub(super) fn get_option(&mut self, level: c_int, name: c_int) -> Result<Value, Errno> {
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_ERROR) => {
                Ok(Value::Number(self.base.error.take().unwrap_or(0)))
            }
            (libc::SOL_SOCKET, libc::SO_TYPE) => Ok(Value::Number(self.kind.type_number())),
            (libc::SOL_SOCKET, libc::SO_PROTOCOL) => Ok(Value::Number(self.kind.protocol())),
            (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => {
                Ok(Value::Number(self.kind.is_listening().into()))
            }
            (libc::SOL_SOCKET, _) => self.base.option(level, name),
            _ if self.base.domain == Domain::Unix => Err(libc::EOPNOTSUPP),
            (libc::IPPROTO_TCP, _) if self.kind.ports() != Some(Protocol::Tcp) => {
                Err(libc::EOPNOTSUPP)
            }
            (libc::IPPROTO_IPV6, _) if self.base.domain == Domain::V4 => Err(libc::EOPNOTSUPP),
            _ => self.base.option(level, name),
        }
    }
}

impl Net {
    /// Returns the options of a socket that calls heed.
    pub(crate) fn options(&self, id: SocketId) -> Result<&Options, Errno> {
        Ok(&self.socket_ref(id)?.base.options)
    }

    /// Returns the options of a socket that are no numbers, to be set.
    pub(crate) fn options_mut(&mut self, id: SocketId) -> Result<&mut Options, Errno> {
        Ok(&mut self.socket_mut(id)?.base.options)
    }

    /// Sets an option that is a number.
    pub(crate) fn set_option(
        &mut self,
        now: Time,
        id: SocketId,
        level: c_int,
        name: c_int,
        value: c_int,
    ) -> Result<(), Errno> {
        let Socket { base, kind } = self.socket_mut(id)?;
        let is_tcp = kind.ports() == Some(Protocol::Tcp);
        base.set_number(level, name, value, is_tcp)?;
        // Its timers may depend on it.
        if let Kind::Tcp(_) = kind {
            self.tcp(now, id, |tcp, cx| tcp.set_timer(cx))?;
        }
        Ok(())
    }

    /// Returns the value of an option.
    pub(crate) fn option(
        &mut self,
        id: SocketId,
        level: c_int,
        name: c_int,
    ) -> Result<Value, Errno> {
        let (tcp_receive, tcp_send) = (self.config.tcp_receive_buffer, self.config.tcp_send_buffer);
        let socket = self.socket_mut(id)?;
        let is_tcp = socket.kind.ports() == Some(Protocol::Tcp);
        let options = &socket.base.options;
        // As in Linux the system tells of twice as much as was asked for.
        let buffer = |set: Option<usize>, tcp: usize| {
            let default = if is_tcp { 2 * tcp } else { unix::BUFFER };
            Ok(Value::Number(set.map_or(default, |set| 2 * set) as c_int))
        };
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_RCVBUF) => buffer(options.receive_buffer, tcp_receive),
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => buffer(options.send_buffer, tcp_send),
            (libc::SOL_SOCKET, libc::SO_PEERCRED) if socket.base.domain == Domain::Unix => {
                Ok(Value::Credentials(unix::CREDENTIALS))
            }
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG) if is_tcp => match &socket.kind {
                Kind::Tcp(tcp) => Ok(Value::Number(tcp.largest() as c_int)),
                _ => Ok(Value::Number(536)),
            },
            (libc::IPPROTO_IP, libc::IP_MTU) | (libc::IPPROTO_IPV6, libc::IPV6_MTU) => {
                let (host, remote) = (socket.base.host, socket.base.remote);
                let to = self.wire.host_at(host, remote.ok_or(libc::ENOTCONN)?.ip());
                let mtu = self
                    .wire
                    .mtu(&self.config, host, to.unwrap_or(HostId(usize::MAX)));
                Ok(Value::Number(mtu as c_int))
            }
            _ => socket.get_option(level, name),
        }
    }
}

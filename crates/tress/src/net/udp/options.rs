use super::UdpSocket;
use crate::net::options::ip_options;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Defines setters and getters that call those of mio.
macro_rules! options {
    ($($(#[$about:meta])* $get:ident, $set:ident, $type:ty;)*) => {$(
        $(#[$about])*
        ///
        /// # Errors
        /// Any error of `setsockopt(2)`.
        pub fn $set(&self, value: $type) -> io::Result<()> {
            self.io.get_ref().$set(value)
        }

        #[doc = concat!("Returns the value that [`", stringify!($set), "`](Self::", stringify!($set), ") sets.")]
        ///
        /// # Errors
        /// Any error of `getsockopt(2)`.
        pub fn $get(&self) -> io::Result<$type> {
            self.io.get_ref().$get()
        }
    )*};
}

/// Options.
impl UdpSocket {
    options! {
        /// Sets whether the socket may send to broadcast addresses (`SO_BROADCAST`).
        broadcast, set_broadcast, bool;
        /// Sets whether datagrams to IPv4 multicast groups are also delivered to this machine
        /// (`IP_MULTICAST_LOOP`).
        multicast_loop_v4, set_multicast_loop_v4, bool;
        /// Sets the time to live, the maximum number of hops, of datagrams to IPv4 multicast groups
        /// (`IP_MULTICAST_TTL`).
        ///
        /// The default is 1: such datagrams do not leave the local network.
        multicast_ttl_v4, set_multicast_ttl_v4, u32;
        /// Sets whether datagrams to IPv6 multicast groups are also delivered to this machine
        /// (`IPV6_MULTICAST_LOOP`).
        multicast_loop_v6, set_multicast_loop_v6, bool;
        /// Sets the time to live, the maximum number of hops, of datagrams that are sent (`IP_TTL`).
        ttl, set_ttl, u32;
    }

    ip_options!();

    /// Joins an IPv4 multicast group, on the interface with this address (`IP_ADD_MEMBERSHIP`).
    ///
    /// If the address is [unspecified](Ipv4Addr::UNSPECIFIED), the system chooses the interface.
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    ///
    /// # Examples
    /// ```no_run
    /// use std::net::Ipv4Addr;
    /// use tress::net::UdpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = UdpSocket::bind("0.0.0.0:5353").await?;
    /// socket.join_multicast_v4(Ipv4Addr::new(224, 0, 0, 251), Ipv4Addr::UNSPECIFIED)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn join_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.get_ref().join_multicast_v4(&multiaddr, &interface)
    }

    /// Joins an IPv6 multicast group, on the interface with this index (`IPV6_ADD_MEMBERSHIP`).
    ///
    /// If the index is 0, the system chooses the interface.
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get_ref().join_multicast_v6(multiaddr, interface)
    }

    /// Leaves an IPv4 multicast group that was [joined](Self::join_multicast_v4).
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    pub fn leave_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.get_ref().leave_multicast_v4(&multiaddr, &interface)
    }

    /// Leaves an IPv6 multicast group that was [joined](Self::join_multicast_v6).
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get_ref().leave_multicast_v6(multiaddr, interface)
    }
}

use super::UdpSocket;
use crate::net::options::ip_options;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Getters and setters that are mio's.
macro_rules! options {
    ($($(#[$about:meta])* $get:ident, $set:ident, $type:ty;)*) => {$(
        $(#[$about])*
        ///
        /// # Errors
        /// What the system says.
        pub fn $set(&self, value: $type) -> io::Result<()> {
            self.io.get_ref().$set(value)
        }

        #[doc = concat!("What [`", stringify!($set), "`](Self::", stringify!($set), ") sets.")]
        ///
        /// # Errors
        /// What the system says.
        pub fn $get(&self) -> io::Result<$type> {
            self.io.get_ref().$get()
        }
    )*};
}

/// Options.
impl UdpSocket {
    options! {
        /// Lets it send to broadcast addresses.
        broadcast, set_broadcast, bool;
        /// Whether what it sends to groups comes back to this machine (IPv4).
        multicast_loop_v4, set_multicast_loop_v4, bool;
        /// Sets how many hops datagrams to groups may take (IPv4). 1, the network it is in, unless
        /// set.
        multicast_ttl_v4, set_multicast_ttl_v4, u32;
        /// Whether what it sends to groups comes back to this machine (IPv6).
        multicast_loop_v6, set_multicast_loop_v6, bool;
        /// Sets how many hops datagrams may take (IPv4).
        ttl, set_ttl, u32;
    }

    ip_options!();

    /// Joins a group, on the interface with this address; any interface if it is
    /// [unspecified](Ipv4Addr::UNSPECIFIED).
    ///
    /// # Errors
    /// What the system says.
    pub fn join_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.get_ref().join_multicast_v4(&multiaddr, &interface)
    }

    /// Joins a group, on the interface with this index; any interface if it is 0.
    ///
    /// # Errors
    /// What the system says.
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get_ref().join_multicast_v6(multiaddr, interface)
    }

    /// Leaves a group that was [joined](Self::join_multicast_v4).
    ///
    /// # Errors
    /// What the system says.
    pub fn leave_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.get_ref().leave_multicast_v4(&multiaddr, &interface)
    }

    /// Leaves a group that was [joined](Self::join_multicast_v6).
    ///
    /// # Errors
    /// What the system says.
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get_ref().leave_multicast_v6(multiaddr, interface)
    }
}

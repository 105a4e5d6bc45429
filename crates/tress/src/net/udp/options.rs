use super::UdpSocket;
use crate::net::options::ip_options;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Defines setters and getters that call those of mio.
macro_rules! options {
    ($($(#[$about:meta])* $get:ident, $set:ident, $type:ty;)*) => {$(
        $(#[$about])*
        pub fn $set(&self, value: $type) -> io::Result<()> {
            self.io.get_ref().$set(value)
        }

        #[doc = concat!("Returns the value that [`", stringify!($set), "`](Self::", stringify!($set), ") sets.")]
        ///
        /// # Errors
        /// Any error of `getsockopt(2)`.
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        #[doc = concat!("match socket.", stringify!($get), "() {")]
        #[doc = concat!("    Ok(value) => println!(\"", stringify!($get), ": {value}\"),")]
        ///     Err(error) => println!("not for this kind of socket: {error}"),
        /// }
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn $get(&self) -> io::Result<$type> {
            self.io.get_ref().$get()
        }
    )*};
}

/// Options.
impl UdpSocket {
    options! {
        /// Sets whether the socket may send to broadcast addresses (`SO_BROADCAST`).
        ///
        /// # Errors
        /// Any error of `setsockopt(2)`.
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// socket.set_broadcast(true)?;
        /// assert!(socket.broadcast()?);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        broadcast, set_broadcast, bool;
        /// Sets whether datagrams to IPv4 multicast groups are also delivered to this machine
        /// (`IP_MULTICAST_LOOP`).
        ///
        /// # Errors
        /// Any error of `setsockopt(2)`.
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// socket.set_multicast_loop_v4(false)?;
        /// assert!(!socket.multicast_loop_v4()?);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        multicast_loop_v4, set_multicast_loop_v4, bool;
        /// Sets the time to live, the maximum number of hops, of datagrams to IPv4 multicast groups
        /// (`IP_MULTICAST_TTL`).
        ///
        /// The default is 1: such datagrams do not leave the local network.
        ///
        /// # Errors
        /// Any error of `setsockopt(2)`.
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// socket.set_multicast_ttl_v4(4)?;
        /// assert_eq!(socket.multicast_ttl_v4()?, 4);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        multicast_ttl_v4, set_multicast_ttl_v4, u32;
        /// Sets whether datagrams to IPv6 multicast groups are also delivered to this machine
        /// (`IPV6_MULTICAST_LOOP`).
        ///
        /// # Errors
        /// Any error of `setsockopt(2)`.
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// if let Ok(socket) = tress::net::UdpSocket::bind("[::1]:0").await {
        ///     socket.set_multicast_loop_v6(false)?;
        ///     assert!(!socket.multicast_loop_v6()?);
        /// }
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        multicast_loop_v6, set_multicast_loop_v6, bool;
        /// Sets the time to live, the maximum number of hops, of datagrams that are sent (`IP_TTL`).
        ///
        /// # Errors
        /// Any error of `setsockopt(2)`.
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// socket.set_ttl(64)?;
        /// assert_eq!(socket.ttl()?, 64);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
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
    ///
    /// # Examples
    /// ```no_run
    /// use std::net::Ipv6Addr;
    /// use tress::net::UdpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = UdpSocket::bind("[::]:5353").await?;
    /// socket.join_multicast_v6(&Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0xfb), 0)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get_ref().join_multicast_v6(multiaddr, interface)
    }

    /// Leaves an IPv4 multicast group that was [joined](Self::join_multicast_v4).
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
    /// let group = Ipv4Addr::new(224, 0, 0, 251);
    /// let socket = UdpSocket::bind("0.0.0.0:5353").await?;
    /// socket.join_multicast_v4(group, Ipv4Addr::UNSPECIFIED)?;
    /// socket.leave_multicast_v4(group, Ipv4Addr::UNSPECIFIED)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn leave_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.get_ref().leave_multicast_v4(&multiaddr, &interface)
    }

    /// Leaves an IPv6 multicast group that was [joined](Self::join_multicast_v6).
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    ///
    /// # Examples
    /// ```no_run
    /// use std::net::Ipv6Addr;
    /// use tress::net::UdpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0xfb);
    /// let socket = UdpSocket::bind("[::]:5353").await?;
    /// socket.join_multicast_v6(&group, 0)?;
    /// socket.leave_multicast_v6(&group, 0)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get_ref().leave_multicast_v6(multiaddr, interface)
    }
}

//! Options that sockets of the Internet protocols share. The macro is called once in an `impl`.

macro_rules! ip_options {
    () => {
        /// Returns the traffic class of IPv6 packets that are sent (`IPV6_TCLASS`).
        ///
        /// # Errors
        /// Any error of `getsockopt(2)`.
        ///
        /// # Examples
        /// With a UDP socket:
        /// ```
        /// use tress::net::UdpSocket;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// if let Ok(socket) = UdpSocket::bind("[::1]:0").await {
        ///     println!("traffic class {}", socket.tclass_v6()?);
        /// }
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[cfg(any(
            target_os = "android",
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "fuchsia",
            target_os = "linux",
            target_os = "macos",
            target_os = "netbsd",
            target_os = "openbsd",
            target_os = "cygwin",
        ))]
        pub fn tclass_v6(&self) -> std::io::Result<u32> {
            socket2::SockRef::from(self).tclass_v6()
        }

        /// Sets the traffic class of IPv6 packets that are sent (`IPV6_TCLASS`).
        ///
        /// # Errors
        /// Any error of `setsockopt(2)`.
        ///
        /// # Examples
        /// With a UDP socket:
        /// ```
        /// use tress::net::UdpSocket;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// if let Ok(socket) = UdpSocket::bind("[::1]:0").await {
        ///     socket.set_tclass_v6(0x10)?;
        ///     assert_eq!(socket.tclass_v6()?, 0x10);
        /// }
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[cfg(any(
            target_os = "android",
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "fuchsia",
            target_os = "linux",
            target_os = "macos",
            target_os = "netbsd",
            target_os = "openbsd",
            target_os = "cygwin",
        ))]
        pub fn set_tclass_v6(&self, tclass: u32) -> std::io::Result<()> {
            socket2::SockRef::from(self).set_tclass_v6(tclass)
        }

        /// Returns the type of service of IPv4 packets that are sent (`IP_TOS`).
        ///
        /// # Errors
        /// Any error of `getsockopt(2)`.
        ///
        /// # Examples
        /// With a TCP socket:
        /// ```
        /// let socket = tress::net::TcpSocket::new_v4()?;
        /// println!("type of service {}", socket.tos_v4()?);
        /// # Ok::<(), std::io::Error>(())
        /// ```
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "redox",
            target_os = "solaris",
            target_os = "illumos",
            target_os = "haiku"
        )))]
        pub fn tos_v4(&self) -> std::io::Result<u32> {
            socket2::SockRef::from(self).tos_v4()
        }

        /// Sets the type of service of IPv4 packets that are sent (`IP_TOS`).
        ///
        /// Windows accepts the option and ignores it.
        ///
        /// # Errors
        /// Any error of `setsockopt(2)`.
        ///
        /// # Examples
        /// With a TCP socket:
        /// ```
        /// let socket = tress::net::TcpSocket::new_v4()?;
        /// socket.set_tos_v4(0x10)?;
        /// # #[cfg(unix)]
        /// assert_eq!(socket.tos_v4()?, 0x10);
        /// # Ok::<(), std::io::Error>(())
        /// ```
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "redox",
            target_os = "solaris",
            target_os = "illumos",
            target_os = "haiku"
        )))]
        pub fn set_tos_v4(&self, tos: u32) -> std::io::Result<()> {
            socket2::SockRef::from(self).set_tos_v4(tos)
        }

        /// Returns the type of service: the old name of [`tos_v4`](Self::tos_v4).
        ///
        /// # Errors
        /// Any error of `getsockopt(2)`.
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "redox",
            target_os = "solaris",
            target_os = "illumos",
            target_os = "haiku"
        )))]
        #[deprecated = "it is called `tos_v4`: IPv6 has `tclass_v6`"]
        #[doc(hidden)]
        pub fn tos(&self) -> std::io::Result<u32> {
            self.tos_v4()
        }

        /// Sets the type of service: the old name of [`set_tos_v4`](Self::set_tos_v4).
        ///
        /// # Errors
        /// Any error of `setsockopt(2)`.
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "redox",
            target_os = "solaris",
            target_os = "illumos",
            target_os = "haiku"
        )))]
        #[deprecated = "it is called `set_tos_v4`: IPv6 has `set_tclass_v6`"]
        #[doc(hidden)]
        pub fn set_tos(&self, tos: u32) -> std::io::Result<()> {
            self.set_tos_v4(tos)
        }

        /// Returns the name of the network interface that the socket is bound to (`SO_BINDTODEVICE`), if it
        /// is.
        ///
        /// # Errors
        /// Any error of `getsockopt(2)`.
        ///
        /// # Examples
        /// With a TCP socket:
        /// ```
        /// let socket = tress::net::TcpSocket::new_v4()?;
        /// assert_eq!(socket.device()?, None);
        /// # Ok::<(), std::io::Error>(())
        /// ```
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        pub fn device(&self) -> std::io::Result<Option<Vec<u8>>> {
            socket2::SockRef::from(self).device()
        }

        /// Restricts the socket to packets of the network interface of this name (`SO_BINDTODEVICE`).
        ///
        /// `None` ends the restriction.
        ///
        /// # Errors
        /// Any error of `setsockopt(2)`: the system may require a capability.
        ///
        /// # Examples
        /// With a TCP socket:
        /// ```no_run
        /// let socket = tress::net::TcpSocket::new_v4()?;
        /// socket.bind_device(Some(b"eth0"))?;
        /// # Ok::<(), std::io::Error>(())
        /// ```
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        pub fn bind_device(&self, interface: Option<&[u8]>) -> std::io::Result<()> {
            socket2::SockRef::from(self).bind_device(interface)
        }
    };
}

pub(super) use ip_options;

use std::fmt;
use std::io;
#[cfg(any(target_os = "linux", target_os = "android"))]
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net;
use std::path::Path;

/// The address of a Unix socket.
///
/// It is a path, a name in the abstract namespace (Linux and Android), or unnamed. It converts from and
/// into the type of the standard library, which can also create one from a path.
///
/// # Examples
/// ```
/// use tress::net::UnixStream;
/// use tress::net::unix::SocketAddr;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, _far) = UnixStream::pair()?;
/// assert!(near.local_addr()?.is_unnamed());
///
/// let address: SocketAddr = std::os::unix::net::SocketAddr::from_pathname("/run/example.sock")?.into();
/// assert_eq!(address.as_pathname().unwrap().to_str(), Some("/run/example.sock"));
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct SocketAddr(pub(super) net::SocketAddr);

impl SocketAddr {
    /// Returns whether the address is unnamed.
    ///
    /// The sockets of a pair have no names, nor have sockets that connect without being bound first.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixStream::pair()?;
    /// assert!(near.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn is_unnamed(&self) -> bool {
        self.0.is_unnamed()
    }

    /// Returns the path, if the address is one.
    ///
    /// # Examples
    /// ```
    /// use std::path::Path;
    /// use tress::net::unix::SocketAddr;
    ///
    /// let address = std::os::unix::net::SocketAddr::from_pathname("/run/example.sock")?;
    /// let address = SocketAddr::from(address);
    /// assert_eq!(address.as_pathname(), Some(Path::new("/run/example.sock")));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn as_pathname(&self) -> Option<&Path> {
        self.0.as_pathname()
    }

    /// Returns the name in the abstract namespace, without the zero byte in front, if the address is one.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixListener;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let name = format!("\0example-{}", std::process::id());
    /// let listener = UnixListener::bind(&name)?;
    /// assert_eq!(listener.local_addr()?.as_abstract_name(), Some(name[1..].as_bytes()));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn as_abstract_name(&self) -> Option<&[u8]> {
        abstract_names::name(&self.0)
    }
}

impl fmt::Debug for SocketAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<net::SocketAddr> for SocketAddr {
    fn from(address: net::SocketAddr) -> SocketAddr {
        SocketAddr(address)
    }
}

impl From<SocketAddr> for net::SocketAddr {
    fn from(address: SocketAddr) -> net::SocketAddr {
        address.0
    }
}

/// Returns the address that a path stands for. On Linux and Android, a path that begins with a zero byte is
/// an abstract name.
pub(super) fn of_path(path: &Path) -> io::Result<net::SocketAddr> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Some(address) = abstract_names::of_path(path) {
        return address;
    }
    net::SocketAddr::from_pathname(path)
}

/// Converts an address from the system's form.
pub(super) fn of_system(address: &socket2::SockAddr) -> io::Result<SocketAddr> {
    match address.as_unix() {
        Some(address) => Ok(SocketAddr(address)),
        // The system returns an empty address for a socket without a name.
        None => net::SocketAddr::from_pathname("").map(SocketAddr),
    }
}

/// Converts an address to the system's form.
pub(super) fn to_system(address: &net::SocketAddr) -> io::Result<socket2::SockAddr> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Some(name) = abstract_names::name(address) {
        let path = [&[0], name].concat();
        return socket2::SockAddr::unix(std::ffi::OsStr::from_bytes(&path));
    }
    let Some(path) = address.as_pathname() else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the address has no name: make one with `SocketAddr::from_pathname`",
        ));
    };
    socket2::SockAddr::unix(path)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod abstract_names {
    use std::io;
    #[cfg(target_os = "android")]
    use std::os::android::net::SocketAddrExt;
    #[cfg(target_os = "linux")]
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net;
    use std::path::Path;

    pub(super) fn name(address: &net::SocketAddr) -> Option<&[u8]> {
        address.as_abstract_name()
    }

    pub(super) fn of_path(path: &Path) -> Option<io::Result<net::SocketAddr>> {
        let name = path.as_os_str().as_bytes().strip_prefix(&[0])?;
        Some(net::SocketAddr::from_abstract_name(name))
    }
}

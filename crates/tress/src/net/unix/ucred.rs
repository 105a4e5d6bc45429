use super::{gid_t, pid_t, uid_t};
use std::io;
use std::os::fd::AsRawFd;

/// The user, group and process of a peer at the time when it connected.
///
/// It is returned by `UnixStream::peer_cred`.
///
/// # Examples
/// ```
/// use tress::net::UnixStream;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, _far) = UnixStream::pair()?;
/// let peer = near.peer_cred()?;
/// println!("user {}, group {}, process {:?}", peer.uid(), peer.gid(), peer.pid());
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UCred {
    uid: uid_t,
    gid: gid_t,
    pid: Option<pid_t>,
}

impl UCred {
    /// Returns the effective user of the peer.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixStream::pair()?;
    /// println!("user {}", near.peer_cred()?.uid());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn uid(&self) -> uid_t {
        self.uid
    }

    /// Returns the effective group of the peer.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixStream::pair()?;
    /// println!("group {}", near.peer_cred()?.gid());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn gid(&self) -> gid_t {
        self.gid
    }

    /// Returns the process of the peer, on Linux and Android.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixStream::pair()?;
    /// if let Some(pid) = near.peer_cred()?.pid() {
    ///     assert_eq!(pid as u32, std::process::id());
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn pid(&self) -> Option<pid_t> {
        self.pid
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn of_peer(stream: &impl AsRawFd) -> io::Result<UCred> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes no more than `length` bytes into `peer`, which is as long.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(UCred {
        uid: peer.uid,
        gid: peer.gid,
        pid: Some(peer.pid),
    })
}

/// The BSDs and macOS do not report the process in this way.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn of_peer(stream: &impl AsRawFd) -> io::Result<UCred> {
    let (mut uid, mut gid) = (0, 0);
    // SAFETY: both are written by the call only.
    if unsafe { libc::getpeereid(stream.as_raw_fd(), &raw mut uid, &raw mut gid) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(UCred {
        uid,
        gid,
        pid: None,
    })
}

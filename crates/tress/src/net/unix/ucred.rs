use super::{gid_t, pid_t, uid_t};
use std::io;
use std::os::fd::AsRawFd;

/// Who a peer was when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UCred {
    uid: uid_t,
    gid: gid_t,
    pid: Option<pid_t>,
}

impl UCred {
    /// The user.
    pub fn uid(&self) -> uid_t {
        self.uid
    }

    /// The group.
    pub fn gid(&self) -> gid_t {
        self.gid
    }

    /// The process, where the system tells.
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

/// The BSDs and macOS tell no process this way.
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

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::Duration;

/// An alarm that one thread waits for and any thread may set.
#[derive(Debug)]
pub struct Ticker {
    fd: File,
}

impl Ticker {
    /// Creates an alarm that is not set.
    ///
    /// # Errors
    /// The system has no room for another timer.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a plain system call that touches no memory of ours.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Ticker {
            // SAFETY: the descriptor was just made for us and nobody else owns it.
            fd: unsafe { File::from_raw_fd(fd) },
        })
    }

    /// Makes `wait` return after `after`, replacing an earlier setting.
    pub fn arm(&self, after: Duration) {
        let zero = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let spec = libc::itimerspec {
            it_interval: zero,
            it_value: libc::timespec {
                tv_sec: libc::time_t::try_from(after.as_secs()).unwrap_or(libc::time_t::MAX),
                // A zero value would disarm the timer instead of firing it.
                tv_nsec: after.subsec_nanos().max(1).into(),
            },
        };
        // SAFETY: the kernel reads `spec`, which lives for the call; no old value is asked for.
        let rc = unsafe {
            libc::timerfd_settime(
                self.fd.as_raw_fd(),
                0,
                &raw const spec,
                std::ptr::null_mut(),
            )
        };
        assert_eq!(rc, 0, "timerfd_settime: {}", io::Error::last_os_error());
    }

    /// Blocks until the alarm goes off.
    pub fn wait(&self) {
        let mut expirations = [0; 8];
        loop {
            match (&self.fd).read(&mut expirations) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                result => {
                    result.expect("reading a timerfd cannot fail");
                    return;
                }
            }
        }
    }
}

//! Process groups, `flock(2)` and signals.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;
use tress::signal::unix::{Signal, SignalKind, signal};

/// How long a group that was asked to end may take, before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time between two looks at a group that ends.
const LOOK: Duration = Duration::from_millis(5);

/// Puts the process into a group of its own, so that all that it starts can be ended with it.
pub(crate) fn own_group(command: &mut Command) {
    command.process_group(0);
}

/// Ends the group of a process, and waits until nothing of it is left.
///
/// Another thread reaps the leader.
pub(crate) fn end_group(leader: u32) {
    let Ok(group) = i32::try_from(leader) else {
        return;
    };
    for (signal, patience) in [(libc::SIGTERM, PATIENCE), (libc::SIGKILL, PATIENCE)] {
        kill(group, signal);
        let mut waited = Duration::ZERO;
        while waited < patience {
            // Signal 0 only asks whether there is anybody.
            if !kill(group, 0) {
                return;
            }
            std::thread::sleep(LOOK);
            waited += LOOK;
        }
    }
}

fn kill(group: i32, signal: i32) -> bool {
    // SAFETY: it takes two numbers and touches no memory of ours.
    unsafe { libc::killpg(group, signal) == 0 }
}

/// Locks a file until it is closed; returns whether nobody else has.
///
/// # Errors
/// Any error of `flock(2)` but that somebody else has the lock.
pub(crate) fn claim(file: &File) -> io::Result<bool> {
    // SAFETY: the descriptor is open, because the file is borrowed.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        error => Err(error),
    }
}

/// Waits for Ctrl-C, SIGTERM or SIGHUP, calling `ready` once none of them ends the process any more; returns the exit
/// code for the one that came.
///
/// # Errors
/// Any error of `sigaction(2)`.
pub(crate) async fn until_asked_to_end(ready: impl FnOnce()) -> io::Result<i32> {
    let listen = |kind: SignalKind| -> io::Result<(Signal, i32)> {
        Ok((signal(kind)?, 128 + kind.as_raw_value()))
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    ready();
    Ok(tress::select! {
        _ = interrupt.0.recv() => interrupt.1,
        _ = terminate.0.recv() => terminate.1,
        _ = hangup.0.recv() => hangup.1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_ends_with_what_it_started() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & sleep 600"]);
        own_group(&mut command);
        let mut child = command.spawn().unwrap();
        let leader = child.id();
        let reaper = std::thread::spawn(move || child.wait().unwrap());
        end_group(leader);
        assert!(!reaper.join().unwrap().success());
        assert!(!kill(leader as i32, 0), "nothing of it is left");
    }

    #[test]
    fn a_claim_is_for_one() {
        let path = std::env::temp_dir().join(format!("tress-claim-{}", std::process::id()));
        let first = File::create(&path).unwrap();
        assert!(claim(&first).unwrap());
        let second = File::open(&path).unwrap();
        assert!(!claim(&second).unwrap());
        drop(first);
        assert!(claim(&second).unwrap());
        std::fs::remove_file(path).unwrap();
    }
}

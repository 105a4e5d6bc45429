//! A second process of the same test program, there to be killed.

use crate::server::die_with_parent;
use std::ffi::OsStr;
use std::future::Future;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use tokio::runtime::Builder;

/// The variable that says that a process is a peer.
const VARIABLE: &str = "ECO_PEER";

/// A process that serves until it is killed.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Peer {
    /// Starts the ignored test `name` of this program as a process, and waits until it has announced where it listens.
    ///
    /// # Panics
    /// Panics if the process cannot be started, or ends before its announcement.
    pub fn start(name: &str) -> Peer {
        Peer::start_with(name, &[])
    }

    /// As [`start`](Peer::start), with more variables in the process's environment.
    ///
    /// # Panics
    /// As [`start`](Peer::start).
    pub fn start_with(name: &str, variables: &[(&str, &OsStr)]) -> Peer {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args([
                name,
                "--exact",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(VARIABLE, "1")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stdin(Stdio::null());
        let mut child = die_with_parent(&mut command, libc::SIGKILL)
            .spawn()
            .expect("a peer");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let address = lines
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("peer at ")?.parse().ok())
            .expect("the peer's announcement");
        Peer { child, address }
    }

    /// Kills the process and waits for its end.
    pub fn kill(&mut self) {
        // It fails only if the process has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a future in a process that [`Peer::start`] has started, until that is killed.
///
/// # Panics
/// Panics if the process is no peer, or if the future ends.
pub fn serve_as_peer(future: impl Future) {
    assert!(std::env::var_os(VARIABLE).is_some(), "only for Peer::start");
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(future);
    panic!("the peer has ended by itself");
}

/// Tells the process that started this one where this one listens.
///
/// # Panics
/// Panics if standard output is closed.
pub fn announce(address: SocketAddr) {
    // The test harness has begun a line.
    println!("\npeer at {address}");
    std::io::stdout().flush().expect("standard output");
}

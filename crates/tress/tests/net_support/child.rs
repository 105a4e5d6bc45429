//! Another process to talk to: this program again, with one of its tests to run.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

/// Tells the child what to do; a test that is a child's body does nothing without it.
const ORDER: &str = "TRESS_TEST_ORDER";

/// What this process is to do, if it is a child.
pub fn order() -> Option<String> {
    std::env::var(ORDER).ok()
}

/// A child that is killed, and waited for, when this is dropped.
pub struct Peer(Child);

impl Peer {
    /// Starts this program again to run `test` alone, which finds `order`.
    pub fn start(test: &str, order: &str) -> Peer {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", test, "--nocapture"])
            .env(ORDER, order)
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        Peer(command.spawn().unwrap())
    }

    /// Gives it a sign to go on.
    pub fn sign(&mut self) {
        let stdin = self.0.stdin.as_mut().expect("piped");
        stdin.write_all(&[0]).unwrap();
    }

    /// Ends its standard input, which is its sign to end, and waits until it has.
    pub fn finish(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }

    /// Kills it, with a signal that it cannot see.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// For the child: waits for a sign.
pub fn wait_for_sign() {
    std::io::stdin().read_exact(&mut [0]).unwrap();
}

/// For the child: waits until it shall end.
pub fn until_told() {
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
}

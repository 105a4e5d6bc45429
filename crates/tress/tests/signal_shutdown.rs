//! A process that is asked to end ends in good order.
#![cfg(all(unix, not(loom)))]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use tress::runtime::Runtime;
use tress::shutdown::Shutdown;

const CHILD: &str = "TRESS_TEST_SHUTDOWN_CHILD";

/// The child's part: says that it listens, and what it did when it was told.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    Runtime::new().unwrap().block_on(async {
        let shutdown = Shutdown::new();
        let work = shutdown.start_work().unwrap();
        let mut listening = std::pin::pin!(shutdown.trigger_on_signals());
        assert!(tress::future::poll_once(listening.as_mut()).await.is_none());
        eprintln!("listening");
        listening.await.unwrap();
        drop(work);
        shutdown.drain().await.unwrap();
        eprintln!("drained");
    });
}

#[test]
fn both_signals_end_it_in_good_order() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env(CHILD, "1")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "listening"));
        // SAFETY: a child of ours that has not been waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        assert!(lines.any(|line| line.unwrap() == "drained"));
        assert!(child.wait().unwrap().success());
    }
}

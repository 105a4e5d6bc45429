//! A coroutine whose stack overflows: the process says whose it was and aborts. Each case is a process of
//! its own, in which this program runs its first test.

#![cfg(all(feature = "coroutine", unix))]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use tress::coroutine;
use tress::runtime::Builder;

/// Says to a child process which case it is.
const VICTIM: &str = "TRESS_TEST_OVERFLOW";

/// Not a test by itself: what the next ones run in a process of its own.
#[test]
fn overflow_victim() {
    fn deep(n: u64) -> u64 {
        let room = std::hint::black_box([n; 64]);
        if n == 0 {
            room[0]
        } else {
            deep(n - 1) + room[63]
        }
    }
    let Ok(kind) = std::env::var(VICTIM) else {
        return;
    };
    let rt = match &*kind {
        "current" => Builder::new_current_thread().build().unwrap(),
        _ => Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap(),
    };
    if kind == "foreign" {
        rt.block_on(async { coroutine::spawn(|| ()).await.unwrap() });
        // SAFETY: not at all; the process is to end by it.
        unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(0) };
    }
    rt.block_on(async {
        let task = coroutine::Builder::new()
            .name("digger")
            .stack_size(64 * 1024)
            .spawn(|| deep(1 << 30));
        task.await.unwrap();
    });
}

fn run_victim(kind: &str) -> (ExitStatus, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "overflow_victim",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(VICTIM, kind)
        .output()
        .unwrap();
    (
        output.status,
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn an_overflow_names_the_coroutine_and_aborts() {
    for kind in ["multi", "current"] {
        let (status, text) = run_victim(kind);
        assert_eq!(status.signal(), Some(6), "{text}");
        assert!(text.contains("coroutine 'digger', spawned at "), "{text}");
        assert!(
            text.contains("has overflowed its stack of 64 KiB"),
            "{text}"
        );
    }
}

#[test]
fn other_faults_are_none_of_ours() {
    let (status, text) = run_victim("foreign");
    assert_eq!(status.signal(), Some(11), "{text}");
    assert!(!text.contains("overflowed"), "{text}");
}

//! Child processes, as Windows has them. The children are this program, started again to run the test
//! `child`, which by itself does nothing.
#![cfg(all(windows, not(loom)))]

use std::io::{Read, Write};
use std::process::Stdio;
use tress::future::poll_once;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::process::Command;
use tress::runtime::{Builder, Runtime};

const CHILD: &str = "TRESS_TEST_PROCESS_CHILD";

fn on_each_runtime<F: Future<Output = ()>>(f: impl Fn() -> F) {
    for runtime in runtimes() {
        runtime.block_on(f());
    }
}

fn runtimes() -> [Runtime; 2] {
    [Builder::new_current_thread(), Builder::new_multi_thread()]
        .map(|mut builder| builder.enable_all().build().unwrap())
}

/// This program, to do one of the things below.
fn this(part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, part)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

#[test]
fn child() {
    let Ok(part) = std::env::var(CHILD) else {
        return;
    };
    let (mut stdin, mut stdout) = (std::io::stdin(), std::io::stdout());
    match part.as_str() {
        "three" => std::process::exit(3),
        "wait" => {
            stdout.write_all(b"<here>").unwrap();
            stdout.flush().unwrap();
            let mut byte = [0];
            while stdin.read(&mut byte).unwrap() != 0 {}
        }
        "echo" => {
            let mut text = Vec::new();
            stdin.read_to_end(&mut text).unwrap();
            stdout.write_all(b"<").unwrap();
            stdout.write_all(&text).unwrap();
            stdout.write_all(b">").unwrap();
            stdout.flush().unwrap();
            std::io::stderr().write_all(b"done").unwrap();
        }
        other => panic!("{other}"),
    }
    std::process::exit(0);
}

/// What is between the marks; the rest is the test harness's.
fn between(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| *byte == b'<').unwrap() + 1;
    let end = bytes.iter().rposition(|byte| *byte == b'>').unwrap();
    &bytes[start..end]
}

#[test]
fn the_end_is_heard_of_and_remembered() {
    on_each_runtime(|| async {
        let mut child = this("three").spawn().unwrap();
        assert!(child.id().is_some() && child.raw_handle().is_some());
        assert_eq!(child.wait().await.unwrap().code(), Some(3));
        assert_eq!(child.wait().await.unwrap().code(), Some(3));
        assert!(child.id().is_none() && child.raw_handle().is_none());
        assert_eq!(this("three").status().await.unwrap().code(), Some(3));
    });
}

#[test]
fn pipes_carry_and_end() {
    on_each_runtime(|| async {
        let text: Vec<u8> = (0..300_000_u32).map(|n| b'a' + (n % 26) as u8).collect();
        let mut child = this("echo")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let write = async {
            stdin.write_all(&text).await.unwrap();
            stdin.flush().await.unwrap();
            drop(stdin);
        };
        let ((), output) = tress::join!(write, child.wait_with_output());
        let output = output.unwrap();
        assert!(output.status.success());
        assert!(between(&output.stdout) == text);
        assert_eq!(output.stderr, b"done");
    });
}

/// A wait, and a read, that are dropped lose nothing.
#[test]
fn dropped_waits_lose_nothing() {
    on_each_runtime(|| async {
        let mut child = this("wait")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // `wait` would close it.
        let stdin = child.stdin.take().unwrap();
        assert!(poll_once(child.wait()).await.is_none());
        let mut stdout = child.stdout.take().unwrap();
        let mut text = Vec::new();
        let mut some = [0; 512];
        while !text.ends_with(b"<here>") {
            if let Some(n) = poll_once(stdout.read(&mut some)).await {
                text.extend_from_slice(&some[..n.unwrap()]);
                continue;
            }
            let n = stdout.read(&mut some).await.unwrap();
            assert_ne!(n, 0);
            text.extend_from_slice(&some[..n]);
        }
        assert!(child.try_wait().unwrap().is_none());
        drop(stdin);
        assert!(child.wait().await.unwrap().success());
    });
}

#[test]
fn a_killed_child_ends() {
    on_each_runtime(|| async {
        let mut child = this("wait").stdin(Stdio::piped()).spawn().unwrap();
        let _stdin = child.stdin.take();
        child.kill().await.unwrap();
        assert!(!child.wait().await.unwrap().success());
        child.start_kill().unwrap();
    });
}

/// The end of its output tells that it is gone.
#[test]
fn a_child_is_killed_with_its_handle() {
    on_each_runtime(|| async {
        let mut child = this("wait")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let _stdin = child.stdin.take();
        let mut stdout = child.stdout.take().unwrap();
        drop(child);
        let mut text = Vec::new();
        stdout.read_to_end(&mut text).await.unwrap();
    });
}

/// Another runtime than the one that waited first.
#[test]
fn a_child_can_be_taken_elsewhere() {
    let [one, two] = runtimes();
    let mut child = one.block_on(async {
        let mut child = this("wait").stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        assert!(poll_once(child.wait()).await.is_none());
        drop(stdin);
        child
    });
    drop(one);
    assert!(two.block_on(child.wait()).unwrap().success());
}

#[test]
fn one_childs_output_is_anothers_input() {
    on_each_runtime(|| async {
        let mut first = this("three").stdout(Stdio::piped()).spawn().unwrap();
        let output: Stdio = first.stdout.take().unwrap().try_into().unwrap();
        let second = this("echo")
            .stdin(output)
            .stdout(Stdio::piped())
            .output()
            .await
            .unwrap();
        assert!(second.status.success());
        first.wait().await.unwrap();
    });
}

#[test]
fn there_is_no_such_program() {
    on_each_runtime(|| async {
        let error = Command::new("tress-has-no-such-program")
            .spawn()
            .unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    });
}

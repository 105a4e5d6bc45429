//! A test in a process of its own: for those that change the limits of their process, or hang when they
//! fail.

use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Tells the child which case it is; a test that is a child's body does nothing without it.
const CASE: &str = "TRESS_TEST_CASE";

/// How long a child may take, on a loaded machine and under a sanitizer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The case that this process is to run, if it is a child.
pub fn case() -> Option<String> {
    std::env::var(CASE).ok()
}

/// Runs `test` (its full path, such as `workers::victim`) alone in a process of its own, where [`case`]
/// returns `case`.
///
/// # Panics
/// If the child does not end in time.
pub fn run(test: &str, case: &str) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CASE, case)
        .env("ASAN_OPTIONS", asan_options())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Read while it runs: a full pipe would hold it.
    let stdout = drain(child.stdout.take().unwrap());
    let stderr = drain(child.stderr.take().unwrap());
    let deadline = Instant::now() + PATIENCE;
    let (status, hangs) = loop {
        match child.try_wait().unwrap() {
            Some(status) => break (status, false),
            None if Instant::now() > deadline => {
                child.kill().unwrap();
                break (child.wait().unwrap(), true);
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let output = Output {
        status,
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
    };
    assert!(!hangs, "{test} ({case}) hangs\n{}", text(&output));
    output
}

/// What AddressSanitizer is told in a child whose address space may be limited: to need little memory of its own.
fn asan_options() -> String {
    let given = std::env::var("ASAN_OPTIONS").unwrap_or_default();
    format!("{given}:detect_stack_use_after_return=0:quarantine_size_mb=1")
}

/// Reads all, on a thread of its own.
fn drain(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// Runs `test` as [`run`] does, and expects it to pass.
pub fn passes(test: &str, case: &str) {
    let output = run(test, case);
    assert!(
        output.status.success(),
        "{test} ({case}): {}\n{}",
        output.status,
        text(&output)
    );
}

/// All that a child has written.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A child may write more than fits into a pipe, to both.
#[test]
fn a_child_writes_much() {
    let output = run("child::writing", "much");
    assert!(output.status.success());
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines(&output.stdout) >= LINES && lines(&output.stderr) >= LINES);
}

const LINES: usize = 20_000;

#[test]
fn writing() {
    if case().is_none() {
        return;
    }
    for line in 0..LINES {
        println!("line {line} of the output");
        eprintln!("line {line} of the errors");
    }
}

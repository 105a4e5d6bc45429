//! A test in a process of its own: for those that change the limits of their process, or hang when they
//! fail.

use std::process::{Command, Output, Stdio};
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
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!("{test} ({case}) hangs\n{}", text(&output));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
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

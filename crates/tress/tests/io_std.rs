//! Standard input, output and error, in a process of their own: this program, started again to run one
//! of the tests marked `child`, which by themselves do nothing.

mod io_support;

use io_support::{Random, block_on, task};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tress::io::{AsyncReadExt, AsyncWriteExt, copy, stderr, stdin, stdout};
use tress::runtime::{Builder, Runtime, SpawnBlockingError};

/// What the child writes is between these: the rest is the test harness's.
const START: &[u8] = b"<<<start>>>";
const END: &[u8] = b"<<<end>>>";

fn is_child() -> bool {
    std::env::var_os("TRESS_IO_STD_CHILD").is_some()
}

fn start_child(test: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env("TRESS_IO_STD_CHILD", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn between_marks(output: &[u8]) -> &[u8] {
    let find = |mark: &[u8]| output.windows(mark.len()).position(|part| part == mark);
    let start = find(START).expect("it has not begun") + START.len();
    &output[start..find(END).expect("it has not come to its end")]
}

/// Feeds a child and returns what it wrote to its output and its error.
fn run_child(test: &str, input: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let mut child = start_child(test);
    let mut feed = child.stdin.take().unwrap();
    let feeding = thread::spawn(move || feed.write_all(&input));
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (
        between_marks(&output.stdout).to_vec(),
        between_marks(&output.stderr).to_vec(),
    )
}

fn random_bytes(len: usize) -> Vec<u8> {
    let mut random = Random::new(7);
    (0..len).map(|_| random.below(256) as u8).collect()
}

#[test]
fn child_that_echoes() {
    if !is_child() {
        return;
    }
    Runtime::new().unwrap().block_on(async {
        let (mut out, mut err) = (stdout(), stderr());
        out.write_all(START).await.unwrap();
        err.write_all(START).await.unwrap();
        let copied = copy(&mut stdin(), &mut out).await.unwrap();
        err.write_u64(copied).await.unwrap();
        out.write_all(END).await.unwrap();
        err.write_all(END).await.unwrap();
        out.flush().await.unwrap();
        err.shutdown().await.unwrap();
    });
}

#[test]
fn bytes_go_through() {
    if is_child() {
        return;
    }
    for len in [0, 1, 100, 300_000] {
        let input = random_bytes(len);
        let (output, error) = run_child("child_that_echoes", input.clone());
        assert_eq!(output, input);
        assert_eq!(error, (len as u64).to_be_bytes());
    }
}

#[test]
fn child_that_writes_much_at_once() {
    if !is_child() {
        return;
    }
    Runtime::new().unwrap().block_on(async {
        let much = random_bytes(3 * 1024 * 1024);
        let (mut out, mut err) = (stdout(), stderr());
        out.write_all(START).await.unwrap();
        // At most so much is taken over at once.
        assert_eq!(out.write(&much).await.unwrap(), 2 * 1024 * 1024);
        out.write_all(&much[2 * 1024 * 1024..]).await.unwrap();
        out.write_all(END).await.unwrap();
        out.flush().await.unwrap();
        err.write_all(&[START, END].concat()).await.unwrap();
        err.flush().await.unwrap();
    });
}

#[test]
fn much_is_written_in_order() {
    if is_child() {
        return;
    }
    let (output, _) = run_child("child_that_writes_much_at_once", Vec::new());
    assert!(output == random_bytes(3 * 1024 * 1024));
}

/// A read that is dropped has not lost what it will have read.
#[test]
fn child_that_gives_up_a_read() {
    if !is_child() {
        return;
    }
    Runtime::new().unwrap().block_on(async {
        let mut input = stdin();
        let mut out = stdout();
        let mut err = stderr();
        // Nothing is there before the parent has seen this.
        task(input.read(&mut [0; 64])).pending();
        err.write_all(START).await.unwrap();
        err.flush().await.unwrap();
        let mut text = String::new();
        input.read_to_string(&mut text).await.unwrap();
        for bytes in [START, text.as_bytes(), END] {
            out.write_all(bytes).await.unwrap();
        }
        out.flush().await.unwrap();
    });
}

#[test]
fn a_read_that_is_given_up_loses_nothing() {
    if is_child() {
        return;
    }
    let mut child = start_child("child_that_gives_up_a_read");
    let mut seen = Vec::new();
    let mut error = child.stderr.take().unwrap();
    while !seen.ends_with(START) {
        let mut byte = [0];
        assert_eq!(error.read(&mut byte).unwrap(), 1, "it has ended");
        seen.push(byte[0]);
    }
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"hello world").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(between_marks(&output.stdout), b"hello world");
}

/// What was handed to the pool is written, even if the runtime shuts down before a thread is free.
#[test]
fn child_that_shuts_down() {
    if !is_child() {
        return;
    }
    let rt = Builder::new_multi_thread()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let (started, has_started) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    rt.spawn_blocking(move || {
        started.send(()).unwrap();
        let _ = released.recv();
    });
    has_started.recv().unwrap();
    rt.block_on(async {
        let mark = [START, END].concat();
        assert_eq!(stdout().write(&mark).await.unwrap(), mark.len());
        assert_eq!(stderr().write(&mark).await.unwrap(), mark.len());
    });
    // It waits for its threads, and they for this, which waits until the shutdown has begun.
    let handle = rt.handle().clone();
    let waiting = thread::spawn(move || drop(rt));
    while handle.try_spawn_blocking(|| {}).is_ok() {
        thread::yield_now();
    }
    drop(release);
    waiting.join().unwrap();
    std::io::stdout().flush().unwrap();
}

#[test]
fn what_was_taken_over_is_written() {
    if is_child() {
        return;
    }
    run_child("child_that_shuts_down", Vec::new());
}

#[test]
fn a_runtime_that_has_shut_down_takes_nothing_over() {
    let rt = Runtime::new().unwrap();
    let handle = rt.handle().clone();
    rt.shutdown_timeout(Duration::from_secs(10));
    let _entered = handle.enter();
    let mut out = stdout();
    let error = block_on(out.write_all(b"lost")).unwrap_err();
    let cause = error.into_inner().unwrap().downcast::<SpawnBlockingError>();
    assert!(matches!(*cause.unwrap(), SpawnBlockingError::ShutDown));
    // Nothing was written that would have to be flushed.
    block_on(out.flush()).unwrap();
    assert!(block_on(stdin().read(&mut [0; 4])).is_err());
    assert_eq!(block_on(stdin().read(&mut [])).unwrap(), 0);
}

#[test]
#[should_panic(expected = "runtime")]
fn outside_of_a_runtime_it_says_what_is_missing() {
    let _ = block_on(stdout().write_all(b"nobody to write it"));
}

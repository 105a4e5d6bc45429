//! What environment variables switch on. Each is tried in a process of its own: this one, started again
//! with the name of the test and the variable.

#![cfg(all(unix, not(loom), not(miri)))]

mod perfetto_support;

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tress::runtime::{Builder, Runtime};
use tress::task;
use tress::trace::Section;

/// Set in the second process.
const INSIDE: &str = "TRESS_TEST_INSIDE";

fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// This test again, with variables.
fn again(test: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .envs(variables.iter().copied());
    command
}

fn run(test: &str, variables: &[(&str, &str)]) -> Output {
    again(test, variables).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_trace_is_written_when_a_runtime_ends() {
    if is_inside() {
        for name in ["first", "second"] {
            let rt = Runtime::new().unwrap();
            assert!(rt.handle().trace().is_on());
            rt.block_on(async move {
                let task = task::Builder::new().name(name).spawn(task::yield_now());
                task.unwrap().await.unwrap();
            });
        }
        return;
    }
    let directory = std::env::temp_dir().join(format!("tress-trace-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("trace.json");
    let path = file.to_str().unwrap();
    let output = run(
        "a_trace_is_written_when_a_runtime_ends",
        &[("TRESS_TRACE", path)],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    for (file, name) in [("trace.json", "first"), ("trace-2.json", "second")] {
        let text = std::fs::read(directory.join(file)).unwrap();
        let json: Value = serde_json::from_slice(&text).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        let polled = |e: &Value| e["cat"] == "poll" && e["name"] == name;
        assert!(events.iter().any(polled), "{name} in {file}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// The extension says in which format.
#[test]
fn a_trace_for_perfetto_is_written_by_its_extension() {
    if is_inside() {
        let rt = Runtime::new().unwrap();
        rt.block_on(async move {
            let task = task::Builder::new().name("seen").spawn(task::yield_now());
            task.unwrap().await.unwrap();
        });
        return;
    }
    let directory = std::env::temp_dir().join(format!("tress-perfetto-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for name in ["trace.pftrace", "trace.perfetto-trace"] {
        let file = directory.join(name);
        let output = run(
            "a_trace_for_perfetto_is_written_by_its_extension",
            &[("TRESS_TRACE", file.to_str().unwrap())],
        );
        assert!(output.status.success(), "{}", stderr(&output));
        let trace = perfetto_support::Trace::parse(&std::fs::read(&file).unwrap());
        trace.check();
        assert!(trace.slices().iter().any(|s| s.begun.name == "seen"));
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_trace_that_cannot_be_written_is_told_of() {
    if is_inside() {
        return drop(Runtime::new().unwrap());
    }
    let variable = ("TRESS_TRACE", "/nowhere/at/all/trace.json");
    let output = run("a_trace_that_cannot_be_written_is_told_of", &[variable]);
    assert!(output.status.success(), "and nothing else happens");
    assert!(
        stderr(&output).contains("/nowhere/at/all/trace.json"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn slow_polls_are_told_of_on_stderr() {
    if is_inside() {
        let rt = Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        rt.block_on(async {
            let slow = async { std::thread::sleep(Duration::from_millis(100)) };
            task::Builder::new()
                .name("sleeps")
                .spawn(slow)
                .unwrap()
                .await
                .unwrap();
        });
        return;
    }
    for value in ["10", "10,backtrace"] {
        let output = run(
            "slow_polls_are_told_of_on_stderr",
            &[("TRESS_SLOW_POLL_MS", value)],
        );
        assert!(output.status.success());
        let text = stderr(&output);
        assert!(text.contains("slow poll: task"), "{text}");
        assert!(text.contains("\"sleeps\" has kept worker 0"), "{text}");
        let backtrace = cfg!(all(target_os = "linux", target_env = "gnu")) && value != "10";
        assert_eq!(text.contains("   0: "), backtrace, "{text}");
    }
}

#[test]
fn a_signal_dumps_every_runtime_of_a_wedged_process() {
    /// Its panic ends the dump of its runtime, and no other.
    struct Broken;
    impl Section for Broken {
        fn name(&self) -> &str {
            "broken"
        }
        fn dump(&self, _: &mut dyn Write) -> io::Result<()> {
            panic!("it is broken");
        }
    }
    /// Whose signal it was before.
    extern "C" fn earlier(_: libc::c_int) {
        // SAFETY: bytes that are there, to a descriptor that nobody closes.
        unsafe { libc::write(1, b"earlier\n".as_ptr().cast(), 8) };
    }
    if is_inside() {
        // SAFETY: the handler only writes.
        unsafe { libc::signal(libc::SIGUSR1, earlier as *const () as usize) };
        let mut runtimes = Vec::new();
        for name in ["a", "b"] {
            let mut builder = Builder::new_multi_thread();
            let rt = builder.worker_threads(1).name(name).build().unwrap();
            let stuck = async {
                println!("stuck");
                while is_inside() {
                    std::thread::park();
                }
            };
            let task_name = format!("stuck in {name}");
            let task = task::Builder::new().name(&task_name);
            task.spawn_on(stuck, rt.handle()).unwrap();
            let section = (name == "a").then(|| rt.handle().add_section(Arc::new(Broken)));
            runtimes.push((rt, section));
        }
        // Until the process is killed.
        while runtimes.len() == 2 {
            std::thread::park();
        }
        return;
    }
    let test = "a_signal_dumps_every_runtime_of_a_wedged_process";
    let mut child = again(test, &[("TRESS_DUMP", "SIGUSR1")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut output = output.lines().map(Result::unwrap);
    let stuck = output.by_ref().filter(|line| line.contains("stuck"));
    assert_eq!(stuck.take(2).count(), 2);
    let mut lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    for _ in 0..2 {
        // SAFETY: a child of ours that has not been waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGUSR1) }, 0);
        assert!(output.any(|line| line == "earlier"));
        for line in [
            "\"stuck in a\": running",
            "a section has failed",
            "\"stuck in b\": running",
        ] {
            assert!(lines.any(|other| other.contains(line)), "{line}");
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_flight_recorder_is_switched_on() {
    if is_inside() {
        assert!(Runtime::new().unwrap().handle().trace().recorder().is_on());
        // The builder wins.
        let rt = Builder::new_current_thread().flight_recorder(false).build();
        assert!(!rt.unwrap().handle().trace().recorder().is_on());
        return;
    }
    let variable = ("TRESS_RECORDER", "1");
    let output = run("the_flight_recorder_is_switched_on", &[variable]);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// The runtime is wedged, and its recorder's thread is not.
#[test]
fn a_signal_writes_the_record_of_a_wedged_process() {
    if is_inside() {
        let mut builder = Builder::new_multi_thread();
        let rt = builder.worker_threads(1).build().unwrap();
        let calm = task::Builder::new().name("calm");
        let calm = calm.spawn_on(task::yield_now(), rt.handle()).unwrap();
        rt.block_on(calm).unwrap();
        rt.spawn(async {
            println!("stuck");
            while is_inside() {
                std::thread::park();
            }
        });
        // Until the process is killed.
        while is_inside() {
            std::thread::park();
        }
        return;
    }
    let directory = std::env::temp_dir().join(format!("tress-record-{}", std::process::id()));
    let value = format!("SIGUSR2:{}", directory.display());
    let test = "a_signal_writes_the_record_of_a_wedged_process";
    let mut child = again(test, &[("TRESS_RECORD", &value)])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut output = output.lines().map(Result::unwrap);
    assert!(output.any(|line| line.contains("stuck")));
    // SAFETY: a child of ours that has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGUSR2) }, 0);
    let written = loop {
        let files = std::fs::read_dir(&directory).into_iter().flatten();
        let mut paths = files.map(|file| file.unwrap().path());
        let whole = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "pftrace");
        if let Some(path) = paths.find(whole) {
            break path;
        }
        std::thread::yield_now();
    };
    assert!(written.to_str().unwrap().ends_with("-signal.pftrace"));
    let trace = perfetto_support::Trace::parse(&std::fs::read(written).unwrap());
    trace.check();
    assert!(trace.slices().iter().any(|s| s.begun.name == "calm"));
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn mistakes_are_named() {
    if is_inside() {
        let error = Runtime::new().unwrap_err();
        return eprintln!("error: {error}");
    }
    for (name, value) in [
        ("TRESS_SLOW_POLL_MS", "soon"),
        ("TRESS_SLOW_POLL_MS", "0"),
        ("TRESS_SLOW_POLL_MS", "10,please"),
        ("TRESS_DUMP", "SIGNAL"),
        ("TRESS_DUMP", "0"),
        ("TRESS_DUMP", "9"),
        ("TRESS_RECORDER", "perhaps"),
        ("TRESS_RECORD", "SIGUSR2"),
        ("TRESS_RECORD", "SIGUSR2:"),
        ("TRESS_RECORD", "SIGNAL:here"),
    ] {
        let text = stderr(&run("mistakes_are_named", &[(name, value)]));
        assert!(text.contains(name) && text.contains(value), "{text}");
    }
}

#[test]
fn io_options_out_of_range_are_errors_of_the_builder() {
    let (here, name) = (
        "io_options_out_of_range_are_errors_of_the_builder",
        "TRESS_IO",
    );
    let build = |change: fn(&mut Builder) -> &mut Builder| {
        let mut builder = Builder::new_current_thread();
        change(builder.enable_io()).build().map(drop)
    };
    if is_inside() {
        let error = build(|builder| builder).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains(name), "{error}");
        // Without I/O nobody asks.
        Builder::new_current_thread().build().unwrap();
        return;
    }
    for change in [
        (|builder| builder.io_ring_entries(0)) as fn(&mut Builder) -> &mut Builder,
        |builder| builder.io_ring_entries(u32::MAX),
        |builder| builder.io_events_per_turn(0),
        |builder| builder.io_events_per_turn(usize::MAX),
    ] {
        assert_eq!(
            build(change).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }
    let output = run(here, &[(name, "the other one")]);
    assert!(output.status.success(), "{}", stderr(&output));
}

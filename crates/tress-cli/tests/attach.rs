//! Each fault of the demonstration is found by `tress doctor` and shown by `tress top`, from outside of the program.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long something may take, on a machine that does a lot besides.
const SOON: Duration = Duration::from_secs(60);

fn tress(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tress"));
    command.args(arguments);
    command
}

/// A demonstration with a fault, until it is dropped.
struct Demo {
    child: Child,
    console: String,
}

impl Demo {
    fn with(fault: &str) -> Demo {
        let options = [
            "demo",
            "--serve",
            "--connections",
            "4",
            "--console-port",
            "0",
        ];
        let mut child = tress(&options)
            .args(["--fault", fault])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let console = lines
            .find_map(|line| {
                let line = line.unwrap();
                let (_, address) = line.split_once("Its console is at http://")?;
                Some(address.split(';').next()?.to_owned())
            })
            .expect("it says where its console is");
        // What it shows besides is not of interest, but must not fill the pipe.
        thread::spawn(move || lines.for_each(drop));
        Demo { child, console }
    }

    /// Asks the doctor until it finds something of that kind.
    fn doctor_finds(&self, kind: &str, part: &str) {
        let begun = Instant::now();
        loop {
            let output = tress(&["doctor", &self.console, "--json", "--seconds", "1"])
                .output()
                .unwrap();
            let findings: serde_json::Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|error| panic!("{error}: {}", text(&output)));
            let mut findings = findings.as_array().unwrap().iter();
            let found = findings.find(|finding| finding["kind"] == kind);
            if let Some(found) = found {
                let sentence = found["text"].as_str().unwrap();
                assert!(sentence.contains(part), "{sentence}");
                assert_eq!(output.status.code(), Some(1));
                return;
            }
            assert!(begun.elapsed() < SOON, "no {kind}: {}", text(&output));
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
fn a_deadlock_is_found_and_shown() {
    let demo = Demo::with("deadlock");
    demo.doctor_finds("deadlock", "held by `audit`");
    // As text, for people.
    let output = tress(&["doctor", &demo.console, "--seconds", "1"])
        .output()
        .unwrap();
    assert!(
        text(&output).contains("CRITICAL: Deadlock: "),
        "{}",
        text(&output)
    );
    assert!(screen(&demo.console, "Deadlock: ").contains("Spawn sites"));
}

#[test]
fn a_slow_poll_is_found() {
    Demo::with("slow-poll").doctor_finds("slow_poll", "`report`");
}

#[test]
fn a_leak_is_found() {
    Demo::with("leak").doctor_finds("leak", "pile up");
}

#[test]
fn a_convoy_is_found() {
    Demo::with("convoy").doctor_finds("convoy", "queue for the Mutex");
}

#[test]
fn starvation_is_found() {
    Demo::with("starve").doctor_finds("starvation", "eady tasks wait");
}

/// Runs `tress top` in a terminal until it shows some words, and returns what it has shown.
fn screen(console: &str, words: &str) -> String {
    let program = env!("CARGO_BIN_EXE_tress");
    // `script` gives it a terminal; its size is that of none, so it is set.
    let line = format!("stty rows 40 cols 300; exec '{program}' top {console}");
    let mut child = Command::new("script")
        .args(["-qfec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = output.read(&mut buffer) {
            if tell.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut shown = Vec::new();
    let mut keys = child.stdin.take().unwrap();
    loop {
        let more = told.recv_timeout(SOON);
        shown.extend(more.unwrap_or_else(|_| panic!("it shows no {words:?}: {}", plain(&shown))));
        if plain(&shown).contains(words) {
            break;
        }
    }
    keys.write_all(b"q").unwrap();
    assert!(child.wait().unwrap().success());
    plain(&shown)
}

/// Takes out what moves the cursor and sets colours.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\x1b' {
            // `ESC [ … letter`, or `ESC letter`.
            if rest.next() == Some('[') {
                rest.by_ref().find(char::is_ascii_alphabetic);
            }
        } else {
            plain.push(c);
        }
    }
    plain
}

#[test]
fn a_program_that_cannot_be_reached_is_said_with_what_to_do() {
    // A port that nobody listens at.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let output = tress(&["doctor", &address]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output).contains("TRESS_CONSOLE="),
        "{}",
        text(&output)
    );
    let output = tress(&["top", &address]).output().unwrap();
    assert!(
        text(&output).contains("needs a terminal"),
        "{}",
        text(&output)
    );
    let output = tress(&["trace", &address, "-o", "never-written.pftrace"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(!std::path::Path::new("never-written.pftrace").exists());
}

#[test]
fn a_trace_is_saved() {
    let demo = Demo::with("deadlock");
    let file = std::env::temp_dir().join(format!("tress-attach-{}.pftrace", std::process::id()));
    let output = tress(&["trace", &demo.console, "--seconds", "5", "-o"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    // The field `packet` of a trace, of variable length.
    assert_eq!(std::fs::read(&file).unwrap().first(), Some(&0x0a));
    std::fs::remove_file(&file).unwrap();
}

//! `TRESS_CONSOLE` with the feature `console`: a program that does not know of it.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// The program: the test of this name, in a process of its own. It runs until its standard input ends.
#[test]
#[ignore = "is started by the other tests"]
fn program() {
    for name in ["first", "second"] {
        let built = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .name(name)
            .enable_all()
            .build();
        let rt = match built {
            Ok(rt) => rt,
            Err(error) => {
                eprintln!("build: {error}");
                return;
            }
        };
        rt.spawn(std::future::pending::<()>());
        // The runtimes live as long as the program.
        std::mem::forget(rt);
    }
    eprintln!("ready");
    let mut rest = String::new();
    std::io::stdin().read_to_string(&mut rest).unwrap();
}

fn start(variable: &str) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "program", "--ignored", "--nocapture"])
        .env("TRESS_CONSOLE", variable)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    (child, said)
}

fn line(said: &mut impl BufRead) -> String {
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_program_serves_the_console_without_a_line_of_code() {
    let (child, mut said) = start("127.0.0.1:0");
    let first = line(&mut said);
    let address = first.strip_prefix("tress: the console is at http://");
    let address = address
        .and_then(|rest| rest.strip_suffix('/'))
        .expect(&first);
    // It is started once.
    assert_eq!(line(&mut said), "ready");
    assert!(get(address, "/").contains("<title>tress console</title>"));
    let snapshot = get(address, "/api/snapshot");
    for word in [
        "\"sight\":true",
        "\"name\":\"first\"",
        "\"name\":\"second\"",
    ] {
        assert!(snapshot.contains(word), "{word} in {snapshot}");
    }
    // A process that cannot have the port runs all the same.
    let (other, mut its) = start(address);
    let refused = line(&mut its);
    assert!(
        refused.starts_with("tress: the console cannot listen on"),
        "{refused}"
    );
    assert!(refused.contains(address), "{refused}");
    assert_eq!(line(&mut its), "ready");
    end(other);
    end(child);
}

#[test]
fn a_program_that_is_not_asked_has_no_console() {
    let (child, mut said) = start("");
    assert_eq!(line(&mut said), "ready");
    end(child);
}

#[test]
fn a_variable_that_makes_no_sense_is_an_error_of_build() {
    let (child, mut said) = start("localhost");
    let error = line(&mut said);
    assert!(
        error.starts_with("build: ") && error.contains("TRESS_CONSOLE"),
        "{error}"
    );
    end(child);
}

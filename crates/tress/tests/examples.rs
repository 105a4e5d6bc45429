//! The examples do what they say, each as a process of its own.
#![cfg(all(not(loom), target_os = "linux"))]

use std::future::Future;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;
use tress::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tress::net::TcpStream;
use tress::process::{Child, ChildStdout, Command};
use tress::time::{Duration, timeout};

/// Where cargo has put an example: next to this test. If it has not, because only this test was asked for, it
/// is asked to.
fn example(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().unwrap().parent().unwrap();
    let path = profile.join("examples").join(name);
    if !path.exists() {
        BUILT.get_or_init(|| {
            let mut cargo = std::process::Command::new(env!("CARGO"));
            cargo.args(["build", "-p", "tress", "--examples"]);
            cargo.env("CARGO_TARGET_DIR", profile.parent().unwrap());
            assert!(cargo.status().unwrap().success());
        });
    }
    path
}

fn command(name: &str) -> Command {
    let mut command = Command::new(example(name));
    command.kill_on_drop(true).stdout(Stdio::piped());
    command
}

/// Waits, but not for ever.
async fn soon<F: Future>(future: F) -> F::Output {
    let bounded = timeout(Duration::from_secs(60), future).await;
    bounded.expect("it takes too long")
}

struct Server {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
    address: String,
}

impl Server {
    async fn start(name: &str) -> Server {
        let mut child = command(name).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = soon(output.next_line()).await.unwrap().unwrap();
        let address = line.strip_prefix("listening on ").expect(&line).to_owned();
        Server {
            child,
            output,
            address,
        }
    }

    async fn connect(&self) -> TcpStream {
        soon(TcpStream::connect(&self.address)).await.unwrap()
    }

    async fn get(&self, path: &str) -> String {
        let mut stream = self.connect().await;
        let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        soon(stream.read_to_string(&mut response)).await.unwrap();
        response
    }
}

#[tress::test]
async fn echo() {
    let mut server = Server::start("echo").await;
    for text in ["one", "two and three"] {
        let mut stream = server.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut back = String::new();
        soon(stream.read_to_string(&mut back)).await.unwrap();
        assert_eq!(back, text);
    }
    server.child.kill().await.unwrap();
}

#[tress::test]
async fn http() {
    let mut server = Server::start("http").await;
    let response = server.get("/").await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(
        response.ends_with("\r\n\r\nhello from tress\n"),
        "{response}"
    );
    let response = server.get("/nothing").await;
    assert!(response.starts_with("HTTP/1.1 404 "), "{response}");
    server.child.kill().await.unwrap();
}

#[tress::test]
async fn axum() {
    let mut server = Server::start("axum").await;
    let response = server.get("/hello/you").await;
    assert!(
        response.ends_with("hello you, you are visitor 1\n"),
        "{response}"
    );
    let response = server.get("/slow").await;
    assert!(response.ends_with("slept\n"), "{response}");
    let response = server.get("/nothing").await;
    assert!(response.starts_with("HTTP/1.1 404 "), "{response}");
    server.child.kill().await.unwrap();
}

#[tress::test]
async fn copy() {
    let directory = std::env::temp_dir();
    let from = directory.join(format!("tress-example-from-{}", std::process::id()));
    let to = directory.join(format!("tress-example-to-{}", std::process::id()));
    // Nothing, less than a buffer, several.
    for length in [0, 1000, 1_000_000_u32] {
        let bytes: Vec<u8> = (0..length).map(|i| (i / 5) as u8).collect();
        std::fs::write(&from, &bytes).unwrap();
        let mut command = command("copy");
        let output = soon(command.arg(&from).arg(&to).output()).await.unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text, format!("copied {length} bytes\n"));
        assert!(std::fs::read(&to).unwrap() == bytes);
        if length > 0 {
            let bar = String::from_utf8(output.stderr).unwrap();
            assert!(bar.contains("########] 100 %"), "{bar}");
        }
    }
    std::fs::remove_file(from).unwrap();
    std::fs::remove_file(to).unwrap();
    let output = soon(command("copy").output()).await.unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[tress::test]
async fn pipeline() {
    let mut command = command("pipeline");
    command.args(["to", "be", "or", "not", "to", "be"]);
    let output = soon(command.output()).await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let counts: Vec<_> = text.lines().map(str::trim).collect();
    assert_eq!(counts, ["2 be", "1 not", "1 or", "2 to"]);
}

#[tress::test]
async fn graceful() {
    let mut server = Server::start("graceful").await;
    let mut stream = server.connect().await;
    stream.write_all(b"hello\n").await.unwrap();
    let mut answer = [0; 2];
    soon(stream.read_exact(&mut answer)).await.unwrap();
    assert_eq!(&answer, b"5\n");
    let pid = server.child.id().unwrap() as libc::pid_t;
    // SAFETY: the child is ours and was not waited for.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0);
    // The connection that it has is told, and the program ends.
    let mut last = String::new();
    soon(stream.read_to_string(&mut last)).await.unwrap();
    assert_eq!(last, "the server ends\n");
    let mut said = Vec::new();
    while let Some(line) = soon(server.output.next_line()).await.unwrap() {
        said.push(line);
    }
    assert_eq!(said, ["ending", "all done"]);
    assert!(soon(server.child.wait()).await.unwrap().success());
}

//! An example as a process of its own.
#![allow(
    dead_code,
    reason = "two crates test their examples with it, each with a part"
)]

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
            cargo.args(["build", "-p", env!("CARGO_PKG_NAME"), "--examples"]);
            cargo.env("CARGO_TARGET_DIR", profile.parent().unwrap());
            assert!(cargo.status().unwrap().success());
        });
    }
    path
}

pub fn command(name: &str) -> Command {
    let mut command = Command::new(example(name));
    command.kill_on_drop(true).stdout(Stdio::piped());
    command
}

/// Waits, but not for ever.
pub async fn soon<F: Future>(future: F) -> F::Output {
    let bounded = timeout(Duration::from_secs(60), future).await;
    bounded.expect("it takes too long")
}

pub struct Server {
    pub child: Child,
    pub output: Lines<BufReader<ChildStdout>>,
    address: String,
}

impl Server {
    pub async fn start(name: &str) -> Server {
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

    pub async fn connect(&self) -> TcpStream {
        soon(TcpStream::connect(&self.address)).await.unwrap()
    }

    pub async fn get(&self, path: &str) -> String {
        let mut stream = self.connect().await;
        let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        soon(stream.read_to_string(&mut response)).await.unwrap();
        response
    }
}

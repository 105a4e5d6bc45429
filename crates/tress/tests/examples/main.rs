//! The examples do what they say, each as a process of its own.
#![cfg(all(not(loom), target_os = "linux"))]

mod program;

use program::{Server, command, soon};
use tress::io::{AsyncReadExt, AsyncWriteExt};

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

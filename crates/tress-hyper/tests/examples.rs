//! The examples do what they say, each as a process of its own.
#![cfg(target_os = "linux")]

#[path = "../../tress/tests/examples/program.rs"]
mod program;

use program::Server;

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

//! Clients that mean no good.

mod support;

use std::io::{ErrorKind, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;
use support::{Client, builder, get, start, until};
use tress_console::Console;

fn status_of(address: SocketAddr, request: &str) -> u16 {
    let mut client = Client::new(address);
    client.send(request);
    client.answer().unwrap().status
}

#[test]
fn an_address_that_others_can_reach_needs_a_token() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = Console::builder().address(address).start().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{address}");
        assert!(error.to_string().contains(address), "{error}");
        assert!(error.to_string().contains("token"), "{error}");
    }
    let console = Console::builder()
        .address("0.0.0.0:0")
        .token("secret")
        .start()
        .unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], console.local_addr().port()));
    // It has no name that could be checked.
    let request = "GET /metrics?token=secret HTTP/1.1\r\nHost: db.example\r\n\r\n";
    assert_eq!(status_of(address, request), 200);
    assert_eq!(
        status_of(address, "GET /metrics HTTP/1.1\r\nHost: db.example\r\n\r\n"),
        401
    );
}

#[test]
fn tokens_that_no_client_could_send_are_refused() {
    for token in ["", "two words", "caf\u{e9}", "line\n"] {
        let error = builder().token(token).start().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{token:?}");
    }
}

#[test]
fn without_the_token_there_is_nothing_but_401() {
    let console = builder().token("s3cret+/=").start().unwrap();
    let address = console.local_addr();
    let mut answers = Vec::new();
    let paths = [
        "/",
        "/api/snapshot",
        "/api/events",
        "/api/trace",
        "/metrics",
        "/nothing",
        "/?token=wrong",
    ];
    for path in paths {
        for method in ["GET", "POST"] {
            for fields in [
                "",
                "Authorization: Bearer wrong\r\n",
                "Authorization: Basic s3cret+/=\r\n",
            ] {
                let mut client = Client::new(address);
                client.send(&format!(
                    "{method} {path} HTTP/1.1\r\nHost: evil.example\r\n{fields}\r\n"
                ));
                let answer = client.answer().unwrap();
                assert_eq!(answer.status, 401, "{method} {path} {fields}");
                answers.push((answer.head, answer.body));
            }
        }
    }
    // They do not even tell which paths there are.
    answers.dedup();
    assert_eq!(answers.len(), 1);
    for request in [
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer s3cret+/=\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nauthorization: bearer s3cret+/=\r\n\r\n",
        "GET /metrics?token=s3cret%2B%2F%3D HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        assert_eq!(status_of(address, request), 200, "{request}");
    }
    assert!(!format!("{console:?}").contains("s3cret"));
}

#[test]
fn a_foreign_page_cannot_use_its_own_name() {
    let console = start();
    let ask = |host: &str| {
        status_of(
            console.local_addr(),
            &format!("GET /api/snapshot HTTP/1.1\r\n{host}\r\n"),
        )
    };
    assert_eq!(ask("Host: localhost:6670\r\n"), 200);
    assert_eq!(ask(&format!("Host: {}\r\n", console.local_addr())), 200);
    assert_eq!(ask("Host: evil.example\r\n"), 421);
    assert_eq!(ask("Host: localhost.evil.example\r\n"), 421);
    assert_eq!(ask(""), 400);
    assert_eq!(ask("Host: localhost\r\nHost: evil.example\r\n"), 400);
}

#[test]
fn paths_lead_nowhere_but_to_the_table() {
    let console = start();
    for path in [
        "/../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/api/../etc/passwd",
        "/api/task/../../etc/passwd",
        "/console.css",
        "/index.html",
        "/api",
        "/api/",
        "/API/snapshot",
        "/api/snapshot/",
    ] {
        assert_eq!(get(&console, path).status, 404, "{path}");
    }
}

#[test]
fn heads_that_are_too_large_are_refused() {
    let console = start();
    let address = console.local_addr();
    let long = "a".repeat(9 * 1024);
    assert_eq!(
        status_of(
            address,
            &format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        ),
        414
    );
    let fields = format!("X-Filler: {}\r\n", "b".repeat(1000)).repeat(20);
    assert_eq!(
        status_of(
            address,
            &format!("GET / HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n")
        ),
        431
    );
    let fields = "X: y\r\n".repeat(100);
    assert_eq!(
        status_of(
            address,
            &format!("GET / HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n")
        ),
        431
    );
    // One that never ends.
    let mut client = Client::new(address);
    let endless = "GET / HTTP/1.1\r\nHost: localhost\r\nX: ";
    client.send(endless);
    while client.0.get_mut().write_all(&[b'a'; 4096]).is_ok() {}
    until(|| (console.connections() == 0).then_some(()));
    assert_eq!(get(&console, "/metrics").status, 200);
}

#[test]
fn a_head_that_takes_too_long_is_given_up() {
    let console = builder()
        .head_timeout(Duration::from_millis(50))
        .start()
        .unwrap();
    let mut slow = Client::new(console.local_addr());
    slow.send("GET / HTTP/1.1\r\n");
    assert_eq!(slow.answer().unwrap().status, 408);
    assert_eq!(slow.until_closed(), b"");
    // One that sends nothing has no request to be answered.
    let mut silent = Client::new(console.local_addr());
    assert_eq!(silent.until_closed(), b"");
    // One that sends a byte now and then gains nothing: the time is that of the whole head.
    let mut drip = Client::new(console.local_addr());
    drip.send("GET / HTTP/1.1\r\n");
    let stream = drip.0.get_ref().try_clone().unwrap();
    let dripping = std::thread::spawn(move || while (&stream).write_all(b"X: y\r\n").is_ok() {});
    drip.until_closed();
    drop(drip);
    dripping.join().unwrap();
}

#[test]
fn connections_above_the_limit_are_told_so_at_once() {
    let console = builder().max_connections(2).start().unwrap();
    let mut kept: Vec<_> = (0..2).map(|_| Client::new(console.local_addr())).collect();
    for client in &mut kept {
        assert_eq!(client.get("/metrics").status, 200);
    }
    for _ in 0..5 {
        let mut refused = Client::new(console.local_addr());
        assert_eq!(refused.answer().unwrap().status, 503);
        assert_eq!(refused.until_closed(), b"");
    }
    assert_eq!(kept[0].get("/metrics").status, 200);
    drop(kept);
    until(|| (console.connections() == 0).then_some(()));
    assert_eq!(get(&console, "/metrics").status, 200);
    assert_eq!(
        builder().max_connections(0).start().unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn garbage_is_refused_and_forgotten() {
    let console = start();
    // A generator of its own: what fails must fail again.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let tls: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    let mut garbage = vec![
        tls.to_vec(),
        vec![0; 5000],
        b"\r\n\r\n\r\n".repeat(3000),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
    ];
    garbage.extend((0..200).map(|n| (0..n * 37 % 3000).map(|_| byte()).collect()));
    for bytes in garbage {
        let mut client = Client::new(console.local_addr());
        // It may be refused before all is sent.
        let _ = client.0.get_mut().write_all(&bytes);
        let _ = client.0.get_mut().shutdown(Shutdown::Write);
        let answer = client.until_closed();
        let status = String::from_utf8_lossy(&answer);
        let refused = answer.is_empty() || status.starts_with("HTTP/1.1 4");
        assert!(refused, "{status}");
    }
    until(|| (console.connections() == 0).then_some(()));
    assert_eq!(get(&console, "/metrics").status, 200);
}

//! What is asked, and what is answered.

mod support;

use std::time::Duration;
use support::{Client, builder, get, start};
use tress::runtime::Runtime;

#[test]
fn a_connection_serves_one_request_after_the_other() {
    let console = start();
    let mut client = Client::new(console.local_addr());
    for _ in 0..3 {
        assert_eq!(client.get("/api/snapshot").json()["version"], 1);
    }
    assert_eq!(console.connections(), 1);
    // Two at once.
    client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\nGET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(client.answer().unwrap().status, 200);
    assert_eq!(client.answer().unwrap().status, 404);
}

#[test]
fn a_connection_ends_if_the_client_wants_that() {
    let console = start();
    for request in [
        "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n",
    ] {
        let mut client = Client::new(console.local_addr());
        client.send(request);
        let answer = client.answer().unwrap();
        assert_eq!(answer.status, 200);
        assert_eq!(answer.field("connection"), Some("close"));
        assert_eq!(client.until_closed(), b"");
    }
}

#[test]
fn a_head_may_come_byte_by_byte() {
    let console = start();
    let mut client = Client::new(console.local_addr());
    for byte in "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".chars() {
        client.send(&byte.to_string());
    }
    assert_eq!(client.answer().unwrap().status, 200);
}

#[test]
fn head_gives_the_same_without_a_body() {
    let console = start();
    for path in ["/", "/api/snapshot", "/api/dump", "/nothing"] {
        let mut client = Client::new(console.local_addr());
        client.send(&format!(
            "HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        ));
        let answer = client.answer_to("HEAD").unwrap();
        assert_ne!(answer.field("content-length"), None, "{path}");
        assert_eq!(client.until_closed(), b"", "{path}");
    }
    let mut client = Client::new(console.local_addr());
    client.send("HEAD /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(client.answer_to("HEAD").unwrap().status, 200);
    assert_eq!(client.until_closed(), b"");
}

#[test]
fn there_is_no_method_but_get_and_head() {
    let console = start();
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "get"] {
        let mut client = Client::new(console.local_addr());
        client.send(&format!(
            "{method} /api/snapshot HTTP/1.1\r\nHost: localhost\r\n\r\n"
        ));
        let answer = client.answer().unwrap();
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.field("allow"), Some("get, head"));
    }
}

#[test]
fn the_page_is_one_answer_and_asks_nobody_else() {
    let console = start();
    let (page, again) = (get(&console, "/"), get(&console, "/"));
    assert_eq!(page.field("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.field("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'nonce-"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_ne!(Some(policy), again.field("content-security-policy"));
    let text = page.text();
    for word in [
        "src=\"",
        "@import",
        "url(http",
        "NONCE",
        "/* STYLE */",
        "/* SCRIPT */",
    ] {
        assert!(!text.contains(word), "{word}");
    }
    assert_eq!(text.matches("</script>").count(), 1);
    let nonce = policy
        .split("'nonce-")
        .nth(1)
        .unwrap()
        .split('\'')
        .next()
        .unwrap();
    assert_eq!(text.matches(&format!("nonce=\"{nonce}\"")).count(), 2);
}

#[test]
fn each_answer_has_the_fields_that_protect_it() {
    let console = start();
    for path in [
        "/",
        "/api/snapshot",
        "/api/tasks",
        "/metrics",
        "/api/dump",
        "/api/trace",
        "/nothing",
    ] {
        let answer = get(&console, path);
        assert_eq!(
            answer.field("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert_eq!(answer.field("cache-control"), Some("no-store"), "{path}");
        assert_eq!(
            answer.field("referrer-policy"),
            Some("no-referrer"),
            "{path}"
        );
        assert!(!answer.head.contains("access-control"), "{path}");
    }
}

#[test]
fn tasks_are_filtered_and_come_in_pages() {
    let rt = Runtime::new().unwrap();
    let console = start();
    let id = rt.handle().id();
    for n in 0..25 {
        let name = format!("pager-{}", n % 2);
        let future = std::future::pending::<()>();
        let builder = tress::task::Builder::new();
        let _entered = rt.enter();
        drop(builder.name(&name).spawn(future).unwrap());
    }
    let list = |query: &str| get(&console, &format!("/api/tasks?runtime={id}&{query}")).json();
    let all = list("q=PAGER");
    assert_eq!(all["total"], 25);
    assert_eq!(list("q=pager-1")["total"], 12);
    assert_eq!(list("q=pager-1+protocol.rs")["total"], 12);
    assert_eq!(list("q=pager-1+elsewhere")["total"], 0);
    let page = list("q=pager&offset=20&limit=10");
    assert_eq!(
        (
            page["total"].as_u64(),
            page["tasks"].as_array().unwrap().len()
        ),
        (Some(25), 5)
    );
    assert_eq!(page["tasks"][0]["id"], all["tasks"][20]["id"]);
    assert_eq!(
        list("q=pager&offset=18446744073709551615")["tasks"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
    let site = all["tasks"][0]["site"].as_str().unwrap();
    assert_eq!(list(&format!("site={site}"))["total"], 25);
    assert_eq!(list("site=nowhere:1:1")["total"], 0);
    assert_eq!(list("state=running&q=pager")["total"], 0);
    for nonsense in ["offset=-1", "limit=x", "offset=18446744073709551616"] {
        let path = format!("/api/tasks?{nonsense}");
        assert_eq!(get(&console, &path).status, 400, "{nonsense}");
    }
    assert_eq!(get(&console, "/api/tasks?runtime=x").status, 400);

    let task = all["tasks"][0]["id"].as_u64().unwrap();
    let one = get(&console, &format!("/api/task/{task}")).json();
    assert_eq!(one["id"], task);
    assert_eq!(one["chain"][0]["task"], task);
    assert!(one["held"].is_array());
    for other in ["18446744073709551615", "x", "", "-1", "1/.."] {
        assert_eq!(
            get(&console, &format!("/api/task/{other}")).status,
            404,
            "{other}"
        );
    }
}

#[test]
fn dumps_metrics_and_traces_are_of_all_runtimes() {
    let [first, second] = ["first-of-two", "second-of-two"].map(|name| {
        let mut builder = tress::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).name(name).build().unwrap()
    });
    let console = start();
    for rt in [&first, &second] {
        rt.block_on(rt.spawn(tress::task::yield_now())).unwrap();
    }
    for path in ["/api/dump", "/metrics", "/api/snapshot"] {
        let answer = get(&console, path);
        assert_eq!(answer.status, 200);
        for name in ["first-of-two", "second-of-two"] {
            assert!(answer.text().contains(name), "{path} {name}");
        }
        assert!(!answer.text().contains("\"tress-console\""), "{path}");
    }
    let metrics = get(&console, "/metrics");
    assert_eq!(
        metrics.field("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let types = metrics
        .text()
        .lines()
        .filter(|line| line.starts_with("# TYPE tress_worker_tasks_polled_total"));
    assert_eq!(types.count(), 1);
    let trace = get(&console, "/api/trace?seconds=30");
    assert_eq!(trace.status, 200);
    assert_eq!(
        trace.field("content-type"),
        Some("application/octet-stream")
    );
    assert!(
        trace
            .field("content-disposition")
            .unwrap()
            .starts_with("attachment")
    );
    assert!(!trace.body.is_empty());
    let id = second.handle().id();
    for path in [
        format!("?runtime={id}"),
        "?seconds=18446744073709551615".into(),
        "?seconds=0".into(),
    ] {
        assert_eq!(
            get(&console, &format!("/api/trace{path}")).status,
            200,
            "{path}"
        );
    }
    for nonsense in ["seconds=x", "seconds=-1", "runtime=x"] {
        let path = format!("/api/trace?{nonsense}");
        assert_eq!(get(&console, &path).status, 400, "{nonsense}");
    }
    assert_eq!(
        get(&console, "/api/trace?runtime=18446744073709551615").status,
        404
    );
}

#[test]
fn an_idle_connection_is_closed() {
    let console = builder()
        .idle_timeout(Duration::from_millis(20))
        .start()
        .unwrap();
    let mut client = Client::new(console.local_addr());
    assert_eq!(client.get("/metrics").status, 200);
    assert_eq!(client.until_closed(), b"");
}

#[test]
fn limits_of_time_may_be_huge() {
    let console = builder()
        .idle_timeout(Duration::MAX)
        .head_timeout(Duration::MAX)
        .max_connections(usize::MAX)
        .start()
        .unwrap();
    let mut client = Client::new(console.local_addr());
    assert_eq!(client.get("/metrics").status, 200);
    assert_eq!(client.get("/metrics").status, 200);
    assert_eq!(console.connections(), 1);
}

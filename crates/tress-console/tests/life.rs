//! Consoles and runtimes that begin and end in any order.

mod support;

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use support::{Client, get, start, until};
use tress::runtime::{Builder, Runtime};
use tress::trace::Section;
use tress_console::Console;

fn named(name: &str) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).name(name).build().unwrap()
}

/// Whether a runtime of that name is shown.
fn is_shown(console: &Console, name: &str) -> bool {
    let snapshot = get(console, "/api/snapshot").json();
    let runtimes = snapshot["runtimes"].as_array().unwrap();
    runtimes.iter().any(|runtime| runtime["name"] == name)
}

#[test]
fn a_runtime_that_has_shut_down_does_not_keep_others_from_being_seen() {
    let ended = named("ended");
    // Keeps what is left of it.
    let handle = ended.handle().clone();
    drop(ended);
    let after = named("after");
    let console = start();
    assert!(is_shown(&console, "after"));
    assert!(after.handle().sight().is_on());
    for path in ["/api/dump", "/api/tasks", "/metrics"] {
        assert_eq!(get(&console, path).status, 200, "{path}");
    }
    let path = format!("/api/trace?runtime={}", handle.id());
    assert_eq!(get(&console, &path).status, 200);
}

#[test]
fn runtimes_come_and_go_while_the_console_runs() {
    let console = start();
    let early = named("early");
    assert!(is_shown(&console, "early"));
    let mut client = Client::new(console.local_addr());
    client.send("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.head().unwrap();
    let late = named("late");
    until(|| is_shown(&console, "late").then_some(()));
    // It is looked at without a word of the program.
    until(|| late.handle().sight().is_on().then_some(()));
    drop(early);
    until(|| (!is_shown(&console, "early")).then_some(()));
    drop(late);
    until(|| (!is_shown(&console, "late")).then_some(()));
    // The stream of events goes on.
    until(|| {
        let (name, data) = client.event();
        (name == "snapshot" && !data.contains("\"late\"")).then_some(())
    });
}

#[test]
fn what_the_console_has_switched_on_is_off_when_it_ends() {
    let (off, on) = (named("off"), {
        let mut builder = Builder::new_multi_thread();
        builder
            .worker_threads(1)
            .sight(true)
            .flight_recorder(true)
            .build()
            .unwrap()
    });
    let console = start();
    for rt in [&off, &on] {
        assert!(rt.handle().sight().is_on() && rt.handle().trace().recorder().is_on());
    }
    drop(console);
    // Another test's console may look at it, too: it was not this one that keeps it on.
    until(|| {
        let quiet = !off.handle().sight().is_on() && !off.handle().trace().recorder().is_on();
        quiet.then_some(())
    });
    assert!(on.handle().sight().is_on() && on.handle().trace().recorder().is_on());
}

#[test]
fn what_the_program_switches_off_stays_off() {
    let rt = named("private");
    let console = start();
    rt.handle().sight().stop();
    let mut client = Client::new(console.local_addr());
    client.send("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.head().unwrap();
    // Two snapshots are a second apart, in which the console has looked around several times.
    for _ in 0..2 {
        while client.event().0 != "snapshot" {}
    }
    assert!(!rt.handle().sight().is_on());
}

#[test]
fn a_console_that_is_dropped_closes_everything() {
    let console = start();
    let address = console.local_addr();
    let mut clients: Vec<_> = (0..20).map(|_| Client::new(address)).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        match n % 3 {
            0 => client.send("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            1 => assert_eq!(client.get("/metrics").status, 200),
            _ => client.send("GET /half"),
        }
    }
    drop(console);
    for mut client in clients {
        client.until_closed();
    }
    assert_eq!(
        TcpStream::connect(address).unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
    // The port is free.
    let again = Console::builder()
        .address(address.to_string())
        .start()
        .unwrap();
    assert_eq!(get(&again, "/metrics").status, 200);
}

#[test]
fn a_console_may_be_started_and_dropped_inside_a_task() {
    let rt = named("inside");
    rt.block_on(async {
        let console = start();
        assert_eq!(get(&console, "/metrics").status, 200);
    });
}

#[test]
fn a_port_in_use_is_an_error_that_names_it() {
    let first = start();
    let address = first.local_addr().to_string();
    let error = Console::builder().address(&address).start().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    assert!(error.to_string().contains(&address), "{error}");
    let next = Console::builder()
        .address(&address)
        .next_free_port(true)
        .start()
        .unwrap();
    assert!(next.local_addr().port() > first.local_addr().port());
    assert_eq!(get(&next, "/metrics").status, 200);
    for nonsense in ["", "localhost", "127.0.0.1", "127.0.0.1:x"] {
        let error = Console::builder().address(nonsense).start().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{nonsense}");
    }
}

#[test]
fn a_program_that_is_stuck_is_shown() {
    let rt = named("stuck");
    let console = start();
    let (free, wait) = std::sync::mpsc::channel::<()>();
    let (begin, begun) = std::sync::mpsc::channel();
    let task = rt.spawn(async move {
        begin.send(()).unwrap();
        // Blocks the only worker.
        wait.recv().unwrap_err();
    });
    begun.recv().unwrap();
    let list = get(
        &console,
        &format!("/api/tasks?state=running&q={}", task.id()),
    )
    .json();
    assert_eq!(list["total"], 1);
    drop(free);
    rt.block_on(task).unwrap();
}

struct Careless;

impl Section for Careless {
    fn name(&self) -> &str {
        "careless"
    }

    fn dump(&self, _: &mut dyn Write) -> io::Result<()> {
        panic!("a section that panics")
    }
}

#[test]
fn a_section_that_panics_does_not_end_the_console() {
    let rt = named("careless");
    let _section = rt.handle().add_section(Arc::new(Careless));
    let console = start();
    for path in ["/api/snapshot", "/api/dump", "/metrics"] {
        // Answered, without that section.
        assert_eq!(get(&console, path).status, 200, "{path}");
    }
    let mut client = Client::new(console.local_addr());
    assert_eq!(client.get("/").status, 200);
    client
        .0
        .get_mut()
        .shutdown(std::net::Shutdown::Write)
        .unwrap();
    assert_eq!(client.0.read(&mut [0]).unwrap(), 0);
}

//! Recordings of simulations, and the pictures that are made of them.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod perfetto;
mod protobuf;
mod runner;

use std::fmt;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::sleep;
use tress_sim::{Builder, Error, Fault, Faults, Recording, Sim};

/// A simulation of an echo server and a client that asks it a few times, which is recorded.
fn echo(builder: &mut Builder) -> Sim<'static> {
    let mut sim = builder.build();
    sim.record();
    sim.host("server", || async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        loop {
            let (mut stream, _) = listener.accept().await?;
            tokio::spawn(async move {
                let mut buffer = [0; 100];
                let length = stream.read(&mut buffer).await?;
                stream.write_all(&buffer[..length]).await
            });
        }
    });
    sim.client("client", async {
        for number in 0..3 {
            let mut stream = TcpStream::connect("server:80").await?;
            stream.write_all(format!("<{number}>").as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
        }
        Ok(())
    });
    sim
}

/// The page of a recording.
fn html(recording: &Recording) -> String {
    let mut page = Vec::new();
    recording.write_html(&mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// The data of a page, which its script draws.
fn data(page: &str) -> &str {
    let start = page.find("id=\"data\">").expect("there are data") + "id=\"data\">".len();
    let end = page[start..].find("</script>").expect("they end");
    &page[start..start + end]
}

/// The number of times that a text has another one in it.
fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn packets_and_hosts_are_recorded() {
    let mut sim = echo(Builder::new().rng_seed(1));
    sim.run().unwrap();
    let page = html(&sim.recording().titled("three <questions>"));
    let data = data(&page);
    assert!(page.contains("<title>three &lt;questions&gt;</title>"));
    assert!(data.contains("\"hosts\":[\"server\",\"client\"]"), "{data}");
    // A question and its answer.
    assert_eq!(count(data, "\"\\u003c2\\u003e\""), 2, "{data}");
    assert_eq!(count(data, "\"SYN\""), 3);
    assert_eq!(count(data, "\"starts\""), 2);
    assert!(data.contains("\"verdict\":\"\""));
}

#[test]
fn one_seed_gives_the_same_pictures() {
    let run = |seed| {
        let faults = Faults::swarm().every(Duration::from_millis(20));
        let mut sim = echo(Builder::new().rng_seed(seed).faults(faults));
        // What a failure says has numbers of runtimes in it, which the process counts.
        sim.run().ok()?;
        let recording = sim.recording();
        let mut trace = Vec::new();
        recording.write_perfetto(&mut trace).unwrap();
        Some((html(&recording), trace))
    };
    let mut passing = (0..100).filter(|seed| run(*seed).is_some());
    let (one, other) = (passing.next().unwrap(), passing.next().unwrap());
    assert!(run(one) == run(one));
    assert!(run(one) != run(other));
}

#[test]
fn recording_changes_nothing() {
    let run = |is_recorded: bool| {
        let faults = Faults::swarm().every(Duration::from_millis(20));
        let mut sim = Builder::new().rng_seed(9).faults(faults).build();
        if is_recorded {
            sim.record();
        }
        sim.client("client", async {
            let socket = UdpSocket::bind("0.0.0.0:1").await?;
            for _ in 0..50 {
                socket.send_to(b"x", "server:1").await?;
                sleep(Duration::from_millis(10)).await;
            }
            Ok(())
        });
        sim.client("server", async {
            let socket = UdpSocket::bind("0.0.0.0:1").await?;
            let wait = tokio::time::timeout(Duration::from_secs(2), async {
                loop {
                    socket.recv(&mut [0]).await?;
                }
            });
            wait.await.unwrap_or(Ok(()))
        });
        let result = sim.run().map_err(|error| error.to_string());
        (
            result,
            sim.elapsed(),
            sim.events(),
            sim.fault_log().to_vec(),
        )
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn what_the_network_does_is_shown() {
    let mut sim = echo(Builder::new().rng_seed(1).duplication(1.0));
    sim.partition("client", "server");
    for _ in 0..10 {
        sim.step().unwrap();
    }
    sim.repair("client", "server");
    sim.hold("client", "server");
    while sim.links(|links| links.sent().is_empty()) {
        sim.step().unwrap();
    }
    sim.release("client", "server");
    sim.crash("server");
    sim.bounce("server");
    sim.pause("server");
    sim.resume("server");
    // The server may not listen yet when it is asked again.
    let _ = sim.run();
    let page = html(&sim.recording());
    let data = data(&page);
    for words in [
        "partition between client and server",
        "repair between client and server",
        "hold between client and server",
        "release between client and server",
        "lost by a partition",
        "loses power",
        "is paused",
        "goes on",
    ] {
        assert!(data.contains(words), "there is no {words:?} in {data}");
    }
}

#[test]
fn faults_are_shown_and_end_when_all_do() {
    let faults = Faults::of([Fault::Delay]).every(Duration::from_millis(50));
    let mut sim = echo(Builder::new().rng_seed(1).faults(faults));
    while sim.fault_log().is_empty() {
        sim.step().unwrap();
    }
    sim.heal();
    sim.run().unwrap();
    let page = html(&sim.recording());
    let data = data(&page);
    assert!(data.contains(&sim.fault_log()[0].what), "{data}");
    assert!(data.contains("all faults end"), "{data}");
}

#[test]
fn packets_that_have_not_arrived_are_shown() {
    let mut sim = Builder::new().build();
    sim.client("client", async {
        let socket = UdpSocket::bind("0.0.0.0:1").await?;
        socket.send_to(b"slow", "server:1").await?;
        socket.send_to(b"nowhere", "1.2.3.4:1").await?;
        Ok(())
    });
    sim.host("server", std::future::pending);
    // Hosts that are there already are part of it.
    sim.record();
    sim.run().unwrap();
    let recording = sim.recording();
    let page = html(&recording);
    assert!(data(&page).contains("\"on its way\",0"), "{page}");
    assert!(data(&page).contains("no host has that address"));
    assert!(data(&page).contains("\"hosts\":[\"client\",\"server\"]"));
    assert_eq!(recording.left_out(), 0);
}

#[test]
fn failures_are_shown_with_their_host() {
    let mut sim = Builder::new().build();
    sim.record();
    sim.host("other", std::future::pending);
    sim.client("client", async {
        sleep(Duration::from_secs(3)).await;
        Err("no </script> luck".into())
    });
    sim.run().unwrap_err();
    let page = html(&sim.recording());
    assert!(data(&page).contains("[\"failure\",300"), "{}", data(&page));
    assert!(data(&page).contains(",1,\"failed: no \\u003c/script\\u003e luck\"]"));
}

#[test]
fn a_run_that_takes_too_long_is_a_failure_of_none() {
    let mut sim = Builder::new()
        .simulation_duration(Duration::from_secs(1))
        .build();
    sim.record();
    sim.client("client", async {
        sleep(Duration::from_secs(3)).await;
        Ok(())
    });
    sim.run().unwrap_err();
    let page = html(&sim.recording());
    assert!(
        data(&page).contains(",-1,\"failed: Ran for duration"),
        "{page}"
    );
}

/// An error whose text cannot be had.
#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no text")
    }
}

impl std::error::Error for Unspeakable {}

#[test]
fn an_error_that_panics_when_it_is_printed_is_still_that_error() {
    let mut sim = Builder::new().build();
    sim.record();
    sim.client("client", async { Err(Box::new(Unspeakable) as Error) });
    let error = sim.run().unwrap_err();
    assert!(error.is::<Unspeakable>());
    assert!(html(&sim.recording()).contains("an error that cannot be shown"));
}

#[test]
#[should_panic(expected = "`Sim::record` was called before")]
fn what_was_not_recorded_cannot_be_had() {
    let _ = Builder::new().build().recording();
}

#[test]
fn a_page_loads_nothing_from_elsewhere() {
    let page = html(&echo(&mut Builder::new()).recording());
    let markup = page.replace(data(&page), "");
    for word in ["http://", "https://", "src=", "@import", "url("] {
        // The name of a format is no address that is loaded.
        let found = count(&markup, word)
            - count(&markup, "http://www.w3.org/2000/svg") * usize::from(word == "http://");
        assert_eq!(found, 0, "{word}");
    }
}

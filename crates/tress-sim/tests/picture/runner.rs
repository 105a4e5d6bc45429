//! Pictures that the runner makes. Tests that are to fail are ignored, and run by others.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Output};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::sleep;
use tress_sim::{Builder, Fault, Faults, Result, Sim};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = env::temp_dir().join(format!("tress-sim-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn files(&self) -> Vec<String> {
        let Ok(files) = fs::read_dir(&self.0) else {
            return Vec::new();
        };
        let mut names: Vec<_> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a test of this file in a process of its own. Returns what it has printed.
fn run(name: &str, environment: &[(&str, &str)]) -> (Output, String) {
    let mut command = Command::new(env::current_exe().unwrap());
    let name = format!("runner::{name}");
    command.args(["--exact", &name, "--include-ignored", "--nocapture"]);
    for (name, _) in env::vars() {
        if name.starts_with("TRESS_SIM_") || name.starts_with("MADSIM_TEST_") {
            command.env_remove(name);
        }
    }
    command
        .env("TRESS_SIM_CORPUS", "off")
        .env_remove("RUST_BACKTRACE");
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output, String::from_utf8(text).unwrap())
}

/// A host that gets numbers, and what it does with the fifth.
fn counts<'a>(at_five: impl Fn(u64) -> Result + Clone + 'a) -> Sim<'a> {
    let faults = Faults::of([Fault::Loss, Fault::Pause]).every(Duration::from_millis(100));
    let mut sim = Builder::new()
        .faults(faults)
        .simulation_duration(Duration::from_secs(1000))
        .build();
    let seed = sim.seed();
    sim.client("receiver", async move {
        let socket = UdpSocket::bind("0.0.0.0:1").await?;
        let mut number = [0];
        loop {
            socket.recv(&mut number).await?;
            println!("got {}", number[0]);
            if number[0] >= 5 {
                return at_five(seed);
            }
        }
    });
    sim.host("sender", || async {
        let socket = UdpSocket::bind("0.0.0.0:1").await?;
        for number in 0u8.. {
            // In pieces: there is no buffer.
            eprintln!("sends {} of {}", number, 255);
            socket.send_to(&[number], "receiver:1").await?;
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    });
    sim
}

#[tress_sim::test(seeds = 20)]
#[ignore = "run by others"]
fn fails_with_seed_3() -> Result {
    counts(|seed| match seed {
        3 => Err("</script> three".into()),
        _ => Ok(()),
    })
    .run()
}

#[tress_sim::test(seeds = 1)]
#[ignore = "run by others"]
fn panics() -> Result {
    counts(|_| panic!("a panic")).run()
}

#[tress_sim::test(seeds = 1)]
#[ignore = "run by others"]
fn aborts() -> Result {
    counts(|_| process::abort()).run()
}

#[tress_sim::test(seeds = 1)]
#[ignore = "run by others"]
fn never_ends() -> Result {
    counts(|_| {
        loop {
            std::hint::spin_loop();
        }
    })
    .run()
}

#[tress_sim::test(seeds = 1)]
#[ignore = "run by others"]
fn fails_in_its_second_simulation() {
    counts(|_| Ok(())).run().unwrap();
    let mut sim = Builder::new().build();
    sim.client("second", async { Ok(()) });
    sim.run().unwrap();
    panic!("after both");
}

#[tress_sim::test(seeds = 2)]
#[ignore = "run by others"]
#[should_panic(expected = "meant")]
fn is_to_panic() {
    counts(|_| panic!("meant")).run().unwrap();
}

/// More than a recording keeps. `ci/pictures` looks whether a browser copes with it.
#[tress_sim::test(seeds = 1)]
#[ignore = "fails: run by ci/pictures"]
fn fails_after_many_packets() -> Result {
    const HOSTS: usize = 6;
    let mut sim = Builder::new()
        .faults(Faults::swarm().every(Duration::from_secs(1)))
        .simulation_duration(Duration::from_secs(1000))
        .build();
    for host in 0..HOSTS {
        sim.client(format!("host-{host}"), async move {
            let socket = UdpSocket::bind("0.0.0.0:1").await?;
            for number in 0..10_000 {
                let to = (host + 1 + number % (HOSTS - 1)) % HOSTS;
                let text = format!("number {number}");
                socket
                    .send_to(text.as_bytes(), format!("host-{to}:1"))
                    .await?;
                if number % 100 == 0 {
                    println!("{number} were sent");
                }
                sleep(Duration::from_millis(1)).await;
            }
            Err("all were sent".into())
        });
    }
    sim.run()
}

#[test]
fn a_failing_seed_has_pictures() {
    let folder = Folder::new("pictures");
    let pictures = Path::new(folder.path()).join("below");
    let (output, text) = run(
        "fails_with_seed_3",
        &[("TRESS_SIM_PICTURES", pictures.to_str().unwrap())],
    );
    assert!(!output.status.success(), "{text}");
    let folder = Folder(pictures);
    let names = ["html", "pftrace"].map(|end| format!("picture-runner-fails_with_seed_3-3.{end}"));
    assert_eq!(folder.files(), names);
    for name in &names {
        let path = folder.0.join(name);
        assert!(text.contains(path.to_str().unwrap()), "{text}");
    }
    let page = folder.text(&names[0]);
    for words in [
        "picture::runner::fails_with_seed_3, seed 3",
        "\"hosts\":[\"receiver\",\"sender\"]",
        "\"got 5\"",
        "\"sends 4 of 255\"",
        // The failure of the host is that of the whole.
        "\"verdict\":\"\"",
        "0,\"failed: \\u003c/script\\u003e three\"]",
    ] {
        assert!(page.contains(words), "there is no {words:?} in {page}");
    }
    assert!(folder.read(&names[1]).len() > 1000);
}

#[test]
fn what_passes_or_is_not_wanted_has_none() {
    let folder = Folder::new("none");
    let (output, text) = run(
        "fails_with_seed_3",
        &[
            ("TRESS_SIM_PICTURES", folder.path()),
            ("TRESS_SIM_NUM", "3"),
        ],
    );
    assert!(output.status.success(), "{text}");
    let (output, text) = run("is_to_panic", &[("TRESS_SIM_PICTURES", folder.path())]);
    assert!(output.status.success(), "{text}");
    assert!(folder.files().is_empty());
    let (output, text) = run("fails_with_seed_3", &[("TRESS_SIM_PICTURES", "0")]);
    assert!(!output.status.success());
    assert!(!text.contains("What happened"), "{text}");
}

#[test]
fn pictures_that_cannot_be_written_do_not_hide_the_failure() {
    let (output, text) = run("panics", &[("TRESS_SIM_PICTURES", "/dev/null/no")]);
    assert!(!output.status.success());
    for words in ["cannot be written", "a panic", "Run it again"] {
        assert!(text.contains(words), "there is no {words:?} in {text}");
    }
}

#[test]
fn a_process_that_ends_at_once_leaves_a_recording() {
    for (name, how) in [
        ("aborts", "ended its process"),
        ("never_ends", "took more than its time"),
        ("panics", "panicked: a panic"),
    ] {
        let folder = Folder::new(name);
        let (output, text) = run(
            name,
            &[
                ("TRESS_SIM_PICTURES", folder.path()),
                ("TRESS_SIM_TIME_LIMIT", "2"),
            ],
        );
        assert!(!output.status.success(), "{text}");
        let page = folder.text(&format!("picture-runner-{name}-0.html"));
        for words in [how, "\"got 5\"", "\"UDP\""] {
            assert!(page.contains(words), "there is no {words:?} in {page}");
        }
    }
}

#[test]
fn the_last_simulation_of_a_run_is_shown() {
    let folder = Folder::new("second");
    let (_, text) = run(
        "fails_in_its_second_simulation",
        &[("TRESS_SIM_PICTURES", folder.path())],
    );
    let page = folder.text("picture-runner-fails_in_its_second_simulation-0.html");
    assert!(page.contains("\"hosts\":[\"second\"]"), "{text}");
    assert!(page.contains("panicked: after both"));
}

#[test]
fn one_seed_can_be_shown_also_if_it_passes() {
    let folder = Folder::new("one");
    fs::create_dir_all(&folder.0).unwrap();
    let file = |name: &str| folder.0.join(name).to_str().unwrap().to_string();
    let (html, perfetto) = (file("a.html"), file("a.pftrace"));
    let environment = [
        ("TRESS_SIM_SEED", "2"),
        ("TRESS_SIM_HTML", &html),
        ("TRESS_SIM_PERFETTO", &perfetto),
    ];
    let (output, text) = run("fails_with_seed_3", &environment);
    assert!(output.status.success(), "{text}");
    assert!(text.contains(&html) && text.contains(&perfetto), "{text}");
    assert!(folder.text("a.html").contains("\"got 5\""));
    assert_eq!(folder.files(), ["a.html", "a.pftrace"]);
    // A run that fails is where it was asked for as well.
    let environment = [("TRESS_SIM_SEED", "3"), ("TRESS_SIM_HTML", &html)];
    let (output, text) = run("fails_with_seed_3", &environment);
    assert!(!output.status.success(), "{text}");
    assert!(folder.text("a.html").contains("three"));
}

#[test]
fn a_run_that_is_recorded_takes_the_same_steps() {
    let folder = Folder::new("same");
    fs::create_dir_all(&folder.0).unwrap();
    let steps = |pictures: &str, name: &str| {
        let trace = folder.0.join(name);
        let environment = [
            ("TRESS_SIM_SEED", "3"),
            ("TRESS_SIM_PICTURES", pictures),
            ("TRESS_SIM_TRACE", trace.to_str().unwrap()),
        ];
        run("fails_with_seed_3", &environment);
        // What is done past the C library is noted, but is no step.
        let text = folder.text(name);
        let steps = text.lines().filter(|line| !line.starts_with(" past: "));
        steps.map(str::to_owned).collect::<Vec<_>>()
    };
    let (with, without) = (steps(folder.path(), "with"), steps("0", "without"));
    assert!(with.len() > 50);
    assert!(with == without);
    assert_eq!(folder.files().len(), 4);
}

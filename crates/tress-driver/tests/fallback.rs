//! What becomes of a driver when the ring, or more, is taken away. Each case runs in a process of its own,
//! this program again, with only `child` to run.
#![cfg(target_os = "linux")]

mod harness;

use harness::block_on;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use tress_driver::{Choice, Config, Driver, ENVIRONMENT, Interest, Pool};

/// Says to the child how many descriptors it may open on top of those it has.
const DESCRIPTORS: &str = "TRESS_TEST_DESCRIPTORS";
const NOBODY: u32 = 65_534;

/// Makes a driver as a program would, and uses it. Runs by itself too.
#[test]
fn child() {
    if let Ok(more) = std::env::var(DESCRIPTORS) {
        let first_free = std::fs::File::open("/dev/null").unwrap();
        let limit =
            std::os::fd::AsRawFd::as_raw_fd(&first_free) as u64 + more.parse::<u64>().unwrap();
        drop(first_free);
        let limit = libc::rlimit {
            rlim_cur: limit,
            rlim_max: limit,
        };
        // SAFETY: the limit is readable.
        assert_eq!(0, unsafe {
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit)
        });
    }
    match Driver::new(&Config::new()) {
        Err(error) => println!("\nrefused {:?}: {error}", error.kind()),
        Ok(driver) => {
            println!(
                "\nmade {}: {:?}",
                driver.backend(),
                driver.fallback_reason()
            );
            if std::env::var_os(DESCRIPTORS).is_none() {
                exercise(&Arc::new(driver));
            }
        }
    }
}

fn exercise(driver: &Arc<Driver>) {
    let (mut near, mut far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    let io = driver.register(&mut near, Interest::READABLE).unwrap();
    far.write_all(b"works").unwrap();
    let mut buffer = [0; 16];
    let read = block_on(
        driver,
        io.async_io(Interest::READABLE, || (&near).read(&mut buffer)),
    );
    assert_eq!(&buffer[..read.unwrap()], b"works");
    println!("\nexercised");
}

/// Runs `child` after `prepare` was done to its process; returns what it printed.
fn run(prepare: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture"])
        .env_remove(ENVIRONMENT);
    prepare(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn set(command: &mut Command, variable: &str, value: &str) {
    command.env(variable, value);
}

fn has_ring() -> bool {
    Driver::new(Config::new().backend(Choice::Uring)).is_ok()
}

/// Denies one system call, as containers do.
fn deny(command: &mut Command, call: libc::c_long) {
    let install = harness::denial(call, libc::EPERM);
    // SAFETY: makes system calls only.
    unsafe { command.pre_exec(install) };
}

#[test]
fn a_filter_that_denies_the_set_up_means_readiness() {
    let text = run(|command| deny(command, libc::SYS_io_uring_setup));
    assert!(text.contains("made readiness: Some("), "{text}");
    assert!(text.contains("exercised"), "{text}");
}

#[test]
fn a_filter_that_denies_the_use_means_readiness() {
    let text = run(|command| deny(command, libc::SYS_io_uring_enter));
    assert!(text.contains("made readiness: Some("), "{text}");
    assert!(text.contains("exercised"), "{text}");
}

#[test]
fn insisting_on_a_ring_that_is_denied_is_an_error_that_says_so() {
    let text = run(|command| {
        deny(command, libc::SYS_io_uring_setup);
        command.env(ENVIRONMENT, "uring");
    });
    assert!(text.contains("refused PermissionDenied"), "{text}");
    assert!(text.contains("the ring"), "{text}");
}

/// Root is exempt from the limit, so the child is somebody else.
#[test]
fn no_lockable_memory_means_readiness() {
    let limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("run as root to become somebody else");
    }
    let text = run(|command| {
        // SAFETY: as above.
        if unsafe { libc::geteuid() } == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        // SAFETY: makes a system call only; the limit is readable.
        unsafe {
            command.pre_exec(move || {
                match libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
    });
    // Debian's 5.10 was seen to make a ring in spite of the limit, 6.18 to keep to it.
    let in_spite = harness::kernel() < (6, 18) && text.contains("made uring: None");
    assert!(text.contains("made readiness: Some(") || in_spite, "{text}");
    assert!(text.contains("exercised"), "{text}");
}

#[test]
fn a_ring_needs_a_descriptor_more_than_readiness() {
    // How many the selector and its bell need.
    let needed = (1..16)
        .find(|more| run(|command| set(command, DESCRIPTORS, &more.to_string())).contains("made"))
        .expect("sixteen descriptors are enough");
    let text = run(|command| set(command, DESCRIPTORS, &(needed - 1).to_string()));
    assert!(text.contains("refused"), "{text}");
    assert!(text.contains("cannot make"), "{text}");
    let text = run(|command| set(command, DESCRIPTORS, &needed.to_string()));
    assert!(text.contains("made readiness: Some("), "{text}");
    if has_ring() {
        let text = run(|command| set(command, DESCRIPTORS, &(needed + 1).to_string()));
        assert!(text.contains("made uring: None"), "{text}");
    }
}

#[test]
fn the_environment_chooses() {
    let with = |value: &str| run(|command| set(command, ENVIRONMENT, value));
    assert!(with("readiness").contains("made readiness: None"));
    if has_ring() {
        assert!(with("uring").contains("made uring: None"));
        assert!(with("auto").contains("made uring: None"));
        assert!(run(|_| {}).contains("made uring: None"));
    }
    let text = with("epoll");
    assert!(text.contains("refused InvalidInput"), "{text}");
    assert!(text.contains("uring, readiness or auto"), "{text}");
}

#[test]
fn what_is_chosen_in_the_program_holds() {
    let driver = Driver::new(Config::new().backend(Choice::Readiness)).unwrap();
    assert_eq!(driver.backend().to_string(), "readiness");
    assert!(driver.fallback_reason().is_none());
}

/// More than any machine can address.
#[test]
fn a_pool_that_there_is_no_memory_for_is_an_error() {
    let driver = Arc::new(Driver::new(&Config::new()).unwrap());
    let error = Pool::new(&driver, 1 << 15, u32::MAX as usize).unwrap_err();
    let kinds = [
        std::io::ErrorKind::OutOfMemory,
        std::io::ErrorKind::Unsupported,
    ];
    assert!(kinds.contains(&error.kind()), "{error}");
}

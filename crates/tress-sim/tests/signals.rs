//! Signals: each host's program has its own.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::RefCell;
use std::future::pending;
use std::io::{self, Read, Write};
use std::os::unix::thread::JoinHandleExt;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};
use tress_sim::{Builder, Fault, Faults, Result, Sim, elapsed, sim_elapsed};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// What has happened in a run.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    /// Notes something, with the time at which it was.
    fn note(&self, what: impl ToString) {
        let at = sim_elapsed().unwrap_or_default();
        self.0
            .borrow_mut()
            .push(format!("{at:?} {}", what.to_string()));
    }

    /// What was noted, without the times.
    fn words(&self) -> Vec<String> {
        let all = self.0.borrow();
        let words = all.iter().map(|line| line.split_once(' ').unwrap().1);
        words.map(str::to_string).collect()
    }
}

/// Held by a test that runs: waiting for a lock that simulations of one process share takes virtual time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs something twice, and returns what it notes, which is the same both times.
fn twice(run: impl Fn(Log, &mut Sim<'_>)) -> Vec<String> {
    let _alone = alone();
    let once = || {
        let log = Log::default();
        let mut sim = Builder::new().simulation_duration(100 * SECOND).build();
        run(log.clone(), &mut sim);
        let events = sim.events();
        drop(sim);
        (log.0.take(), events, log)
    };
    let (first, second) = (once(), once());
    assert_eq!((&first.0, first.1), (&second.0, second.1));
    *first.2.0.borrow_mut() = first.0;
    first.2.words()
}

fn run_for(sim: &mut Sim<'_>, time: Duration) {
    let until = sim.elapsed() + time;
    while sim.elapsed() < until {
        sim.step().unwrap();
    }
}

#[test]
fn ctrl_c_reaches_the_host_that_it_is_meant_for() {
    let log = twice(|log, sim| {
        for name in ["a", "b"] {
            let log = log.clone();
            sim.client(name, async move {
                tokio::signal::ctrl_c().await?;
                log.note(format!("{name} after {} s", elapsed().as_secs()));
                // The next one is another one.
                tokio::signal::ctrl_c().await?;
                log.note(format!("{name} after {} s", elapsed().as_secs()));
                Ok(())
            });
        }
        for name in ["a", "b", "b", "a"] {
            run_for(sim, SECOND);
            sim.signal(name, libc::SIGINT);
        }
        sim.run().unwrap();
    });
    assert_eq!(
        log,
        ["a after 1 s", "b after 2 s", "b after 3 s", "a after 4 s"]
    );
}

#[test]
fn each_listener_of_a_program_is_told_on_any_runtime() {
    let log = twice(|log, sim| {
        let main = {
            let log = log.clone();
            move || {
                let runtime = tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(3)
                    .enable_all()
                    .build()
                    .unwrap();
                let heard = runtime.block_on(async {
                    let mut heard = 0;
                    let mut listeners = tokio::task::JoinSet::new();
                    for _ in 0..5 {
                        let mut listener = signal(SignalKind::user_defined1()).unwrap();
                        listeners.spawn(async move { listener.recv().await });
                    }
                    while listeners.join_next().await.is_some() {
                        heard += 1;
                    }
                    heard
                });
                log.note(format!("{heard} heard it"));
            }
        };
        sim.client_main("multi", main);
        run_for(sim, SECOND);
        sim.signal("multi", libc::SIGUSR1);
        sim.run().unwrap();
    });
    assert_eq!(log, ["5 heard it"]);
}

#[test]
fn sigterm_without_a_handler_ends_the_program_and_keeps_its_files() {
    let log = twice(|log, sim| {
        sim.host("server", || async {
            std::fs::write("/kept", "not synced")?;
            let listener = TcpListener::bind("0.0.0.0:80").await?;
            let (_stream, _) = listener.accept().await?;
            pending().await
        });
        let told = log.clone();
        sim.client("client", async move {
            sleep(100 * MS).await;
            let mut stream = TcpStream::connect("server:80").await?;
            let ended = timeout(10 * SECOND, stream.read_u8()).await?;
            told.note(format!("the connection is closed: {}", ended.is_err()));
            let refused = TcpStream::connect("server:80").await.unwrap_err();
            told.note(refused.kind());
            Ok(())
        });
        run_for(sim, SECOND);
        assert_eq!(sim.ended_by("server"), None);
        sim.terminate("server");
        assert!(!sim.is_host_running("server"));
        assert_eq!(sim.ended_by("server"), Some(libc::SIGTERM));
        sim.run().unwrap();
        assert_eq!(sim.disk("server").read("/kept").unwrap(), b"not synced");
        // A second one has nobody to go to.
        sim.terminate("server");
    });
    assert_eq!(
        log,
        ["the connection is closed: true", "connection refused"]
    );
}

/// Answers each connection half a second later. After SIGTERM it accepts no more, and answers those that it has.
async fn graceful(log: Log) -> Result {
    let mut terminate = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    let mut requests = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (mut stream, _) = accepted?;
                requests.spawn(async move {
                    sleep(500 * MS).await;
                    stream.write_all(b"done").await
                });
            }
            _ = terminate.recv() => break,
        }
    }
    drop(listener);
    log.note("asked to end");
    while let Some(answered) = requests.join_next().await {
        answered??;
    }
    log.note("ends");
    Ok(())
}

async fn ask() -> io::Result<String> {
    let mut stream = TcpStream::connect("server:80").await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

#[test]
fn a_request_in_flight_is_answered_before_a_graceful_end() {
    let log = twice(|log, sim| {
        let of_server = log.clone();
        sim.host("server", move || graceful(of_server.clone()));
        let told = log.clone();
        sim.client("client", async move {
            sleep(SECOND).await;
            let (first, second) = tokio::join!(ask(), async {
                sleep(400 * MS).await;
                ask().await
            });
            told.note(first?);
            told.note(second.unwrap_err().kind());
            sleep(2 * SECOND).await;
            told.note(ask().await?);
            sleep(2 * SECOND).await;
            Ok(())
        });
        run_for(sim, SECOND + 300 * MS);
        sim.terminate("server");
        run_for(sim, SECOND);
        assert!(!sim.is_host_running("server"));
        assert_eq!(sim.ended_by("server"), None, "it has ended by itself");
        sim.restart("server");
        run_for(sim, 2 * SECOND + 500 * MS);
        // The program that runs now is told, and not the one that has ended.
        sim.terminate("server");
        sim.run().unwrap();
        assert!(!sim.is_host_running("server"));
    });
    let end = ["asked to end", "ends"];
    assert_eq!(log[0], end[0]);
    assert_eq!(log.iter().filter(|line| *line == "done").count(), 2);
    assert_eq!(log.iter().filter(|line| *line == "ends").count(), 2);
    assert!(log.contains(&"connection refused".to_string()), "{log:?}");
}

#[test]
fn a_signal_reaches_a_program_after_a_crash_and_not_a_host_that_is_off() {
    let log = twice(|log, sim| {
        let told = log.clone();
        sim.host("server", move || {
            let told = told.clone();
            async move {
                let mut terminate = signal(SignalKind::terminate())?;
                told.note("starts");
                terminate.recv().await;
                told.note("is told");
                pending().await
            }
        });
        run_for(sim, SECOND);
        sim.crash("server");
        sim.terminate("server");
        assert_eq!(sim.ended_by("server"), None);
        run_for(sim, SECOND);
        for _ in 0..3 {
            sim.bounce("server");
            run_for(sim, SECOND);
            sim.terminate("server");
            run_for(sim, SECOND);
        }
    });
    let three = ["starts", "is told"].repeat(3);
    assert_eq!(log[0], "starts");
    assert_eq!(log[1..], three);
}

#[test]
fn a_paused_host_gets_a_signal_when_it_goes_on() {
    let log = twice(|log, sim| {
        let told = log.clone();
        sim.client("handles", async move {
            let mut terminate = signal(SignalKind::terminate())?;
            terminate.recv().await;
            told.note(format!("after {} s", elapsed().as_secs()));
            Ok(())
        });
        sim.host("does not", pending);
        run_for(sim, SECOND);
        sim.pause(["handles", "does not"]);
        sim.terminate(["handles", "does not"]);
        run_for(sim, 2 * SECOND);
        assert!(sim.is_host_running("does not"));
        sim.resume(["handles", "does not"]);
        assert_eq!(sim.ended_by("does not"), Some(libc::SIGTERM));
        sim.run().unwrap();
    });
    assert_eq!(log, ["after 3 s"]);
}

/// Has a function handle a signal, with these flags.
fn handle(signal: i32, flags: i32, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: zeros are a valid action, and the handlers of these tests only count.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

fn set_of_none() -> libc::sigset_t {
    // SAFETY: only writes to a local set.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        set
    }
}

fn set_of(signal: i32) -> libc::sigset_t {
    let mut set = set_of_none();
    // SAFETY: only writes to a local set.
    unsafe { libc::sigaddset(&mut set, signal) };
    set
}

#[test]
fn calls_that_wait_are_interrupted_as_on_linux() {
    static HANDLED: AtomicU32 = AtomicU32::new(0);
    extern "C" fn count(_: libc::c_int) {
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
    let log = twice(|log, sim| {
        let main = {
            let log = log.clone();
            move || -> Result {
                handle(libc::SIGUSR2, 0, count);
                let mut left = libc::timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                };
                let time = libc::timespec {
                    tv_sec: 10,
                    tv_nsec: 0,
                };
                // SAFETY: the arguments are local values.
                let slept = unsafe { libc::nanosleep(&time, &mut left) };
                let error = io::Error::last_os_error();
                assert_eq!((slept, error.raw_os_error()), (-1, Some(libc::EINTR)));
                log.note(format!("sleep: {} s are left", left.tv_sec));
                // The standard library sleeps for the rest.
                std::thread::sleep(2 * SECOND);
                log.note("slept to the end");
                let (mut reader, mut writer) = io::pipe()?;
                let error = reader.read(&mut [0]).unwrap_err();
                log.note(format!("read: {:?}", error.kind()));
                let mut poll = libc::pollfd {
                    fd: -1,
                    events: 0,
                    revents: 0,
                };
                // SAFETY: as above.
                let polled = unsafe { libc::poll(&mut poll, 1, -1) };
                log.note(format!(
                    "poll: {polled}, {:?}",
                    io::Error::last_os_error().kind()
                ));
                // This handler lets the call go on.
                handle(libc::SIGUSR2, libc::SA_RESTART, count);
                let other = std::thread::spawn(move || {
                    std::thread::sleep(3 * SECOND);
                    writer.write_all(b"x")
                });
                reader.read_exact(&mut [0])?;
                log.note("read to the end");
                other.join().unwrap()?;
                // Locks and channels wait to the end in any case.
                let (send, receive) = mpsc::channel();
                let other = std::thread::spawn(move || {
                    std::thread::sleep(3 * SECOND);
                    send.send(())
                });
                receive.recv()?;
                log.note("received");
                other.join().unwrap()?;
                Ok(())
            }
        };
        sim.client_main("main", main);
        HANDLED.store(0, Ordering::Relaxed);
        // One signal or two for each wait.
        for _ in 0..8 {
            run_for(sim, SECOND + 500 * MS);
            sim.signal("main", libc::SIGUSR2);
        }
        sim.run().unwrap();
        log.note(format!("{} handled", HANDLED.load(Ordering::Relaxed)));
    });
    assert_eq!(
        log,
        [
            "sleep: 8 s are left",
            "slept to the end",
            "read: Interrupted",
            "poll: -1, Interrupted",
            "read to the end",
            "received",
            "8 handled"
        ]
    );
}

#[test]
fn signals_that_are_blocked_wait() {
    static HANDLED: AtomicU32 = AtomicU32::new(0);
    extern "C" fn count(_: libc::c_int) {
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
    let log = twice(|log, sim| {
        let main = {
            let log = log.clone();
            move || -> Result {
                HANDLED.store(0, Ordering::Relaxed);
                handle(libc::SIGHUP, 0, count);
                let set = set_of(libc::SIGHUP);
                let handled = || HANDLED.load(Ordering::Relaxed);
                // SAFETY: the arguments are local values.
                unsafe {
                    libc::raise(libc::SIGHUP);
                    log.note(format!("{} by raise", handled()));
                    libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
                    libc::raise(libc::SIGHUP);
                    libc::kill(libc::getpid(), libc::SIGHUP);
                    log.note(format!("{} while it is blocked", handled()));
                    libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
                    log.note(format!("{} afterwards", handled()));
                    libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
                    let mut taken = 0;
                    libc::sigwait(&set, &mut taken);
                    log.note(format!("{taken} is taken, {} handled", handled()));
                    // Only while a call waits.
                    let empty = set_of_none();
                    libc::raise(libc::SIGHUP);
                    let polled = libc::ppoll(std::ptr::null_mut(), 0, std::ptr::null(), &empty);
                    log.note(format!("ppoll: {polled}, {} handled", handled()));
                    let suspended = libc::sigsuspend(&empty);
                    let error = io::Error::last_os_error();
                    log.note(format!(
                        "{suspended}, {:?}, {} handled",
                        error.kind(),
                        handled()
                    ));
                    libc::raise(libc::SIGHUP);
                    log.note(format!("{} handled, it is blocked again", handled()));
                }
                Ok(())
            }
        };
        sim.client_main("main", main);
        for _ in 0..2 {
            run_for(sim, SECOND);
            sim.signal("main", libc::SIGHUP);
        }
        sim.run().unwrap();
    });
    assert_eq!(
        log,
        [
            "1 by raise",
            "1 while it is blocked",
            "3 afterwards",
            "1 is taken, 3 handled",
            "ppoll: -1, 4 handled",
            "-1, Interrupted, 5 handled",
            "5 handled, it is blocked again"
        ]
    );
}

#[test]
fn a_signal_to_a_thread_is_handled_there() {
    thread_local! {
        static HERE: AtomicU32 = const { AtomicU32::new(0) };
    }
    extern "C" fn note(_: libc::c_int) {
        HERE.with(|here| here.fetch_add(1, Ordering::Relaxed));
    }
    let log = twice(|log, sim| {
        let main = {
            let log = log.clone();
            move || -> Result {
                // SAFETY: the handler only counts.
                unsafe { libc::signal(libc::SIGUSR1, note as *const () as usize) };
                let (send, receive) = mpsc::channel::<()>();
                let other = std::thread::spawn(move || {
                    let ended = receive.recv().is_err();
                    (ended, HERE.with(|here| here.load(Ordering::Relaxed)))
                });
                std::thread::sleep(SECOND);
                // SAFETY: the thread has not been joined.
                unsafe { libc::pthread_kill(other.as_pthread_t(), libc::SIGUSR1) };
                std::thread::sleep(SECOND);
                drop(send);
                log.note(format!("{:?}", other.join().unwrap()));
                log.note(HERE.with(|here| here.load(Ordering::Relaxed)));
                Ok(())
            }
        };
        sim.client_main("main", main);
        sim.run().unwrap();
    });
    assert_eq!(log, ["(true, 1)", "0"]);
}

#[test]
fn a_signal_that_is_ignored_has_no_effect_and_one_cannot_be() {
    let log = twice(|log, sim| {
        let main = {
            let log = log.clone();
            move || -> Result {
                // SAFETY: numbers.
                unsafe {
                    libc::signal(libc::SIGTERM, libc::SIG_IGN);
                    let refused = libc::signal(libc::SIGKILL, libc::SIG_IGN);
                    log.note(refused == libc::SIG_ERR);
                }
                std::thread::sleep(10 * SECOND);
                log.note("goes on");
                std::thread::sleep(10 * SECOND);
                log.note("never comes here");
                Ok(())
            }
        };
        sim.host_main("main", main);
        run_for(sim, SECOND);
        sim.terminate("main");
        // Most programs know nothing of these.
        sim.signal("main", libc::SIGCHLD);
        sim.signal("main", libc::SIGWINCH);
        run_for(sim, 10 * SECOND);
        assert!(sim.is_host_running("main"));
        sim.signal("main", libc::SIGKILL);
        assert_eq!(sim.ended_by("main"), Some(libc::SIGKILL));
        run_for(sim, 10 * SECOND);
    });
    assert_eq!(log, ["true", "goes on"]);
}

#[test]
fn a_program_that_ends_itself_by_a_signal_fails() {
    let _alone = alone();
    let mut sim = Builder::new().build();
    sim.client_main("main", || {
        // SAFETY: numbers.
        let killed = unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
        assert_eq!(killed, -1, "it has ended");
    });
    let error = sim.run().unwrap_err().to_string();
    assert_eq!(error, "the program was ended by SIGTERM");
}

#[test]
fn the_process_keeps_its_own_handlers() {
    let _alone = alone();
    let real = || {
        // SAFETY: zeros are a valid action, and nothing is changed.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGURG, std::ptr::null(), &mut action);
            action.sa_sigaction
        }
    };
    static HANDLED: AtomicU32 = AtomicU32::new(0);
    extern "C" fn count(_: libc::c_int) {
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
    let before = real();
    let mut sim = Builder::new().build();
    sim.client_main("main", || handle(libc::SIGURG, 0, count));
    sim.run().unwrap();
    assert_eq!(real(), before);
    // A handler of the process is called for its own signals.
    // SAFETY: the handler only counts.
    unsafe {
        libc::signal(libc::SIGURG, count as *const () as usize);
        libc::raise(libc::SIGURG);
        libc::signal(libc::SIGURG, before);
    }
    assert_eq!(HANDLED.load(Ordering::Relaxed), 1);
}

#[test]
fn numbers_that_are_no_signals_are_refused() {
    let _alone = alone();
    let mut sim = Builder::new().build();
    sim.client_main("main", || {
        // SAFETY: numbers.
        unsafe {
            let me = libc::getpid();
            assert_eq!(libc::kill(me, 0), 0);
            assert_eq!(libc::kill(me, 65), -1);
            assert_eq!(
                io::Error::last_os_error().raw_os_error(),
                Some(libc::EINVAL)
            );
            assert_eq!(libc::kill(99_999, 0), -1);
            assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::ESRCH));
            assert_eq!(libc::kill(i32::MIN, 0), -1);
        }
    });
    sim.run().unwrap();
}

#[test]
fn a_program_that_starts_again_has_all_its_descriptors() {
    let _alone = alone();
    let mut sim = Builder::new().build();
    sim.host("server", || async {
        let mut terminate = signal(SignalKind::terminate())?;
        terminate.recv().await;
        Ok(())
    });
    sim.set_descriptor_limit("server", 20);
    for _ in 0..20 {
        run_for(&mut sim, 10 * MS);
        sim.terminate("server");
        run_for(&mut sim, 10 * MS);
        assert!(!sim.is_host_running("server"));
        assert_eq!(sim.ended_by("server"), None);
        sim.restart("server");
    }
}

#[test]
fn a_fault_asks_programs_to_end_and_starts_them_again() {
    let _alone = alone();
    let log = |seed| {
        let log = Log::default();
        let faults = Faults::of([Fault::Terminate]).every(SECOND).lasting(SECOND);
        let mut sim = Builder::new()
            .rng_seed(seed)
            .simulation_duration(100 * SECOND)
            .faults(faults)
            .build();
        let told = log.clone();
        sim.host("obeys", move || {
            let told = told.clone();
            async move {
                let mut terminate = signal(SignalKind::terminate())?;
                told.note("starts");
                terminate.recv().await;
                told.note("ends");
                Ok(())
            }
        });
        let told = log.clone();
        sim.host("does not", move || {
            let told = told.clone();
            async move {
                let _terminate = signal(SignalKind::terminate())?;
                told.note("starts");
                pending().await
            }
        });
        sim.client("client", async {
            sleep(60 * SECOND).await;
            Ok(())
        });
        sim.run().unwrap();
        assert!(sim.fault_log().len() > 20, "{}", sim.fault_log().len());
        log
    };
    let (first, second) = (log(1), log(1));
    assert_eq!(first.0, second.0);
    let count = |what| first.words().iter().filter(|line| *line == what).count();
    let (starts, ends) = (count("starts"), count("ends"));
    assert!(ends > 5 && starts > ends + 5, "{starts} {ends}");
}

/// A handler that waits itself does not change how the wait ends that it has interrupted.
#[test]
fn a_handler_may_wait() {
    extern "C" fn sleeps(_: libc::c_int) {
        std::thread::sleep(SECOND);
    }
    let log = twice(|log, sim| {
        let main = {
            let log = log.clone();
            move || -> Result {
                handle(libc::SIGUSR1, libc::SA_RESTART, sleeps);
                let other = std::thread::spawn(|| {
                    std::thread::sleep(5 * SECOND);
                    7
                });
                // The sleep of the handler ends because its time is over, and this because the thread has ended.
                log.note(other.join().unwrap());
                log.note(format!("{} s", elapsed().as_secs()));
                Ok(())
            }
        };
        sim.client_main("main", main);
        run_for(sim, SECOND);
        sim.signal("main", libc::SIGUSR1);
        sim.run().unwrap();
    });
    assert_eq!(log, ["7", "5 s"]);
}

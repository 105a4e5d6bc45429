//! Child processes: programs that a test has, started by `Command`.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{self, Stdio};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tress_sim::{Args, Builder, Fault, Faults, Result, Sim, in_simulation, sim_elapsed};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// What has happened in a run.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    fn note(&self, what: impl ToString) {
        self.0.borrow_mut().push(what.to_string());
    }
}

/// Copies standard input to standard output.
fn cat(args: &Args) -> io::Result<()> {
    io::copy(&mut args.stdin()?, &mut args.stdout()?)?;
    Ok(())
}

/// Adds a few programs.
fn add_programs(sim: &mut Sim<'_>) {
    sim.program("true", |_| 0);
    sim.program("exit", |args| args.get(1).unwrap().parse().unwrap());
    sim.program("sleep", |args| {
        std::thread::sleep(Duration::from_secs(args.get(1).unwrap().parse().unwrap()));
        0
    });
    sim.program("echo", |args| {
        let text = args.get(1).unwrap_or_default();
        i32::from(writeln!(args.stdout().unwrap(), "{text}").is_err())
    });
    sim.program("cat", |args| i32::from(cat(&args).is_err()));
}

/// Held by a test that runs: waiting for a lock that simulations of one process share, such as that of the standard output, takes
/// virtual time.
fn by_itself() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs something twice with these programs, and returns what it notes, which is the same both times.
fn twice(run: impl Fn(Log, &mut Sim<'_>)) -> Vec<String> {
    let _alone = by_itself();
    let once = || {
        let log = Log::default();
        let mut sim = Builder::new().simulation_duration(1000 * SECOND).build();
        add_programs(&mut sim);
        run(log.clone(), &mut sim);
        (log.0.take(), sim.events(), sim.elapsed())
    };
    let (first, second) = (once(), once());
    assert_eq!(first, second);
    first.0
}

/// As `twice`, of one host with that program.
fn alone<F: Future<Output = Result> + 'static>(main: impl Fn(Log) -> F) -> Vec<String> {
    twice(|log, sim| {
        sim.client("host", main(log));
        sim.run().unwrap();
    })
}

#[test]
fn status_and_output_of_a_program() {
    let log = alone(|log| async move {
        for status in [0, 1, 42, 255, 256 + 7] {
            let ended = Command::new("exit")
                .arg(status.to_string())
                .status()
                .await?;
            log.note(format!("{:?} {:?}", ended.code(), ended.signal()));
        }
        let output = Command::new("/usr/bin/echo").arg("a b").output().await?;
        log.note(format!("{:?}", String::from_utf8(output.stdout)?));
        let output = process::Command::new("echo").arg("c").output()?;
        log.note(format!("{:?}", String::from_utf8(output.stdout)?));
        Ok(())
    });
    let expected = [
        "Some(0) None",
        "Some(1) None",
        "Some(42) None",
        "Some(255) None",
        "Some(7) None",
        "\"a b\\n\"",
        "\"c\\n\"",
    ];
    assert_eq!(log, expected);
}

#[test]
fn a_program_has_arguments_environment_directory_and_numbers_of_its_own() {
    let log = twice(|log, sim| {
        let told = log.clone();
        let main = move |args: Args| {
            assert!(in_simulation());
            let given: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
            told.note(given.join(" "));
            told.note(format!("{:?} {}", args.var("ONLY"), args.vars().count()));
            let here = std::env::current_dir().unwrap();
            told.note(here.display());
            fs::write("file", "of the child").unwrap();
            std::env::set_current_dir("/").unwrap();
            // SAFETY: returns a number.
            let parent = unsafe { libc::getppid() };
            told.note(format!(
                "child of {parent}, not {}",
                process::id() == parent as u32
            ));
            0
        };
        sim.program("shows", main);
        let log = log.clone();
        sim.client("host", async move {
            fs::create_dir_all("/jobs/of/child")?;
            fs::create_dir("/own")?;
            std::env::set_current_dir("/own")?;
            // The standard library forks for a name without a path if `PATH` may have changed.
            let mut command = Command::new("/bin/shows");
            command
                .args(["one", "two words"])
                .env_clear()
                .env("ONLY", "this");
            let mut child = command.current_dir("/jobs/of/child").spawn()?;
            let number = child.id().unwrap();
            assert!(child.wait().await?.success());
            assert_ne!(number, process::id());
            log.note(format!("parent {}", process::id()));
            log.note(fs::read_to_string("/jobs/of/child/file")?);
            log.note(std::env::current_dir()?.display());
            Ok(())
        });
        sim.run().unwrap();
    });
    assert_eq!(
        log[..3],
        [
            "/bin/shows one two words",
            "Some(\"this\") 1",
            "/jobs/of/child"
        ]
    );
    let parent = log[4].strip_prefix("parent ").unwrap();
    assert_eq!(log[3], format!("child of {parent}, not false"));
    assert_eq!(log[5..], ["of the child", "/own"]);
}

#[test]
fn pipes_to_and_from_a_program() {
    let log = alone(|log| async move {
        let mut command = Command::new("cat");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in ["first", "second"] {
            input.write_all(format!("{line}\n").as_bytes()).await?;
            log.note(lines.next_line().await?.unwrap());
        }
        assert!(child.try_wait()?.is_none(), "it waits for more");
        drop(input);
        log.note(format!("{:?}", lines.next_line().await?));
        log.note(child.wait().await?);
        Ok(())
    });
    assert_eq!(log, ["first", "second", "None", "exit status: 0"]);
}

#[test]
fn a_mebibyte_goes_through_pipes_without_a_deadlock() {
    let log = alone(|log| async move {
        let bytes: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8).collect();
        let mut command = Command::new("cat");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().unwrap();
        let sent = bytes.clone();
        let writes = tokio::spawn(async move { input.write_all(&sent).await });
        let output = child.wait_with_output().await?;
        writes.await??;
        log.note(output.stdout == bytes);
        // The same in blocking style, with threads.
        let same = tokio::task::spawn_blocking(move || -> io::Result<bool> {
            let mut command = process::Command::new("cat");
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn()?;
            let mut input = child.stdin.take().unwrap();
            let sent = bytes.clone();
            let writes = std::thread::spawn(move || input.write_all(&sent));
            let output = child.wait_with_output()?;
            writes.join().unwrap()?;
            Ok(output.stdout == bytes)
        });
        log.note(same.await??);
        Ok(())
    });
    assert_eq!(log, ["true", "true"]);
}

/// It prints the beginning of a line, which the harness of other tests would print.
#[test]
fn a_program_without_input_finds_its_end_and_errors_go_their_own_way() {
    const CHILD: &str = "TRESS_TEST_BEGINNING_OF_LINE";
    if std::env::var_os(CHILD).is_none() {
        let name = "a_program_without_input_finds_its_end_and_errors_go_their_own_way";
        let mut command = process::Command::new(std::env::current_exe().unwrap());
        let status = command.args(["--exact", name]).env(CHILD, "1").status();
        assert!(status.unwrap().success());
        return;
    }
    let log = twice(|log, sim| {
        sim.program("counts", |_| {
            let mut text = String::new();
            let read = io::stdin().read_to_string(&mut text).unwrap();
            print!("{read} bytes, no end of line");
            eprintln!("told");
            3
        });
        let log = log.clone();
        sim.client("host", async move {
            let output = Command::new("counts").stdin(Stdio::null()).output().await?;
            log.note(String::from_utf8(output.stdout)?);
            log.note(String::from_utf8(output.stderr)?);
            log.note(output.status);
            let file = fs::File::create("/output")?;
            let mut command = Command::new("counts");
            command
                .stdin(Stdio::null())
                .stdout(file)
                .stderr(Stdio::null());
            command.status().await?;
            log.note(fs::read_to_string("/output")?);
            Ok(())
        });
        sim.run().unwrap();
    });
    let printed = "0 bytes, no end of line";
    assert_eq!(log, [printed, "told\n", "exit status: 3", printed]);
}

#[test]
fn a_program_that_panics_ends_with_the_status_of_a_panic() {
    let log = twice(|log, sim| {
        sim.program("panics", |_| panic!("of the child"));
        let log = log.clone();
        sim.client("host", async move {
            let output = Command::new("panics").output().await?;
            log.note(format!("{:?}", output.status.code()));
            let text = String::from_utf8(output.stderr)?;
            log.note(text.contains("of the child"));
            Ok(())
        });
        sim.run().unwrap();
    });
    assert_eq!(log, ["Some(101)", "true"]);
}

#[test]
fn a_program_that_was_not_added_is_not_found() {
    let log = alone(|log| async move {
        let error = Command::new("git").arg("status").spawn().unwrap_err();
        log.note(error.kind());
        let error = process::Command::new("/bin/sh").output().unwrap_err();
        log.note(error.kind());
        Ok(())
    });
    assert_eq!(log, ["entity not found", "entity not found"]);
}

/// The sentence that says what to do goes to standard error, which the test reads in a process of its own.
#[test]
fn a_sentence_says_which_program_was_not_added() {
    const CHILD: &str = "TRESS_TEST_UNKNOWN_PROGRAM";
    if std::env::var_os(CHILD).is_some() {
        let mut sim = Builder::new().build();
        sim.client_main("laptop", || {
            let error = process::Command::new("/usr/bin/git").spawn().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            // SAFETY: it does nothing.
            let error = unsafe { process::Command::new("true").pre_exec(|| Ok(())).spawn() };
            let error = error.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOSYS));
            // SAFETY: a C string.
            assert_eq!(unsafe { libc::system(c"true".as_ptr()) }, -1);
            let error = process::Command::new("true").exec();
            assert_eq!(error.raw_os_error(), Some(libc::ENOSYS));
        });
        return sim.run().unwrap();
    }
    let name = "a_sentence_says_which_program_was_not_added";
    let mut command = process::Command::new(std::env::current_exe().unwrap());
    let output = command
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("the host laptop has asked for the program \"/usr/bin/git\""));
    assert!(text.contains("`Sim::program(\"git\", …)`"), "{text}");
    assert!(text.contains("`fork` is not simulated"), "{text}");
}

#[test]
fn a_child_is_killed() {
    let log = alone(|log| async move {
        let mut child = Command::new("sleep").arg("1000").spawn()?;
        sleep(SECOND).await;
        assert!(child.try_wait()?.is_none());
        child.start_kill()?;
        log.note(format!("{:?}", child.wait().await?.signal()));
        // By its number, and by another signal.
        let mut child = Command::new("sleep")
            .arg("1000")
            .stdout(Stdio::piped())
            .spawn()?;
        let number = child.id().unwrap() as i32;
        // SAFETY: numbers.
        assert_eq!(unsafe { libc::kill(number, libc::SIGTERM) }, 0);
        let mut output = child.stdout.take().unwrap();
        assert_eq!(
            output.read(&mut [0]).await?,
            0,
            "its descriptors are closed"
        );
        log.note(format!("{:?}", child.wait().await?.signal()));
        // SAFETY: as above.
        assert_eq!(unsafe { libc::kill(number, 0) }, -1, "it is gone");
        // When it is dropped.
        let child = Command::new("sleep")
            .arg("1000")
            .kill_on_drop(true)
            .spawn()?;
        drop(child);
        log.note(format!("after {} s", sim_elapsed().unwrap().as_secs()));
        Ok(())
    });
    assert_eq!(log, ["Some(9)", "Some(15)", "after 1 s"]);
}

#[test]
fn a_child_handles_its_signals_and_its_parent_does_not() {
    let log = twice(|log, sim| {
        let told = log.clone();
        sim.program("service", move |_| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut terminate = signal(SignalKind::terminate()).unwrap();
                println!("ready");
                terminate.recv().await;
                told.note("the child is told");
            });
            7
        });
        let log = log.clone();
        sim.client("host", async move {
            let mut terminate = signal(SignalKind::terminate())?;
            let mut child = Command::new("service").stdout(Stdio::piped()).spawn()?;
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            assert_eq!(lines.next_line().await?.unwrap(), "ready");
            // SAFETY: numbers.
            unsafe { libc::kill(child.id().unwrap() as i32, libc::SIGTERM) };
            log.note(format!("{:?}", child.wait().await?.code()));
            let heard = timeout(SECOND, terminate.recv()).await;
            log.note(format!("the parent is told: {}", heard.is_ok()));
            Ok(())
        });
        sim.run().unwrap();
    });
    assert_eq!(
        log,
        ["the child is told", "Some(7)", "the parent is told: false"]
    );
}

#[test]
fn the_end_of_a_child_is_signalled_to_its_parent() {
    let log = alone(|log| async move {
        let mut children = signal(SignalKind::child())?;
        let mut child = process::Command::new("sleep").arg("5").spawn()?;
        children.recv().await;
        log.note(format!("after {} s", sim_elapsed().unwrap().as_secs()));
        log.note(child.try_wait()?.unwrap());
        // A wait that blocks, beside it.
        let waited =
            tokio::task::spawn_blocking(|| process::Command::new("sleep").arg("5").spawn()?.wait());
        log.note(waited.await??);
        log.note(format!("after {} s", sim_elapsed().unwrap().as_secs()));
        Ok(())
    });
    assert_eq!(
        log,
        [
            "after 5 s",
            "exit status: 0",
            "exit status: 0",
            "after 10 s"
        ]
    );
}

#[test]
fn a_child_outlives_its_parent() {
    let log = twice(|log, sim| {
        sim.program("late", |_| {
            std::thread::sleep(5 * SECOND);
            // SAFETY: returns a number.
            let parent = unsafe { libc::getppid() };
            fs::write("/late", format!("child of {parent}")).unwrap();
            0
        });
        sim.program("starts", |_| {
            let child = process::Command::new("late").spawn();
            i32::from(child.is_err())
        });
        sim.host("middle", || async {
            // Its child ends at once, and leaves a child of its own.
            assert!(Command::new("starts").status().await?.success());
            std::future::pending().await
        });
        sim.host("program", || async {
            process::Command::new("late").spawn()?;
            Ok(())
        });
        sim.client("client", async {
            sleep(10 * SECOND).await;
            Ok(())
        });
        sim.run().unwrap();
        for host in ["middle", "program"] {
            let text = sim.disk(host).read("/late").unwrap();
            log.note(String::from_utf8(text).unwrap());
        }
    });
    assert_eq!(log, ["child of 1", "child of 1"]);
}

#[test]
fn children_end_with_the_power_of_their_host() {
    let log = twice(|log, sim| {
        let (started, ended) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let (starts, ends) = (started.clone(), ended.clone());
        sim.program("long", move |_| {
            starts.set(starts.get() + 1);
            std::thread::sleep(10 * SECOND);
            ends.set(ends.get() + 1);
            0
        });
        sim.host("host", || async {
            let mut command = Command::new("long");
            let mut child = command.stdout(Stdio::piped()).spawn()?;
            child.wait().await?;
            Ok(())
        });
        sim.client("client", async {
            sleep(30 * SECOND).await;
            Ok(())
        });
        let run_for = |sim: &mut Sim<'_>, time: Duration| {
            let until = sim.elapsed() + time;
            while sim.elapsed() < until {
                sim.step().unwrap();
            }
        };
        run_for(sim, SECOND);
        sim.bounce("host");
        run_for(sim, SECOND);
        sim.kill("host");
        run_for(sim, SECOND);
        sim.restart("host");
        run_for(sim, SECOND);
        sim.terminate("host");
        run_for(sim, 12 * SECOND);
        log.note(format!("{} started, {} ended", started.get(), ended.get()));
        sim.restart("host");
        sim.run().unwrap();
        log.note(format!("{} started, {} ended", started.get(), ended.get()));
    });
    assert_eq!(log, ["3 started, 0 ended", "4 started, 1 ended"]);
}

fn real_threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

/// In a process of its own: other tests have threads, too.
#[test]
fn a_thousand_children_leave_nothing_behind() {
    const CHILD: &str = "TRESS_TEST_THOUSAND_CHILDREN";
    if std::env::var_os(CHILD).is_none() {
        let name = "a_thousand_children_leave_nothing_behind";
        let mut command = process::Command::new(std::env::current_exe().unwrap());
        let status = command.args(["--exact", name]).env(CHILD, "1").status();
        assert!(status.unwrap().success());
        return;
    }
    let log = twice(|log, sim| {
        sim.client("host", async move {
            let mut command = Command::new("echo");
            command.arg("hello");
            for _ in 0..1000 {
                let output = command.output().await?;
                assert_eq!(output.stdout, b"hello\n");
            }
            // Also those that nobody waits for.
            for _ in 0..100 {
                drop(Command::new("true").spawn()?);
            }
            sleep(SECOND).await;
            Ok(())
        });
        // Descriptors that stay open would be too many.
        sim.set_descriptor_limit("host", 40);
        let before = real_threads();
        sim.run().unwrap();
        let more = real_threads().saturating_sub(before);
        log.note(format!("few more threads: {}", more < 10));
    });
    assert_eq!(log, ["few more threads: true"]);
}

#[test]
fn programs_of_several_hosts_run_side_by_side() {
    let log = twice(|log, sim| {
        for name in ["a", "b"] {
            let log = log.clone();
            sim.client(name, async move {
                for _ in 0..3 {
                    let output = Command::new("echo").arg(name).output().await?;
                    log.note(String::from_utf8(output.stdout)?.trim());
                    sleep(MS).await;
                }
                let mut children = Vec::new();
                for seconds in 1..4 {
                    children.push(Command::new("sleep").arg(seconds.to_string()).spawn()?);
                }
                for child in &mut children {
                    child.wait().await?;
                }
                Ok(())
            });
        }
        sim.run().unwrap();
        log.note(format!("{} s", sim.elapsed().as_secs()));
    });
    assert_eq!(log.iter().filter(|line| *line == "a").count(), 3);
    assert_eq!(log.iter().filter(|line| *line == "b").count(), 3);
    assert_eq!(log[6], "3 s");
}

#[test]
fn a_program_may_start_programs_and_exit() {
    let log = twice(|log, sim| {
        sim.program("outer", |_| {
            let output = process::Command::new("echo").arg("inner").output().unwrap();
            io::stdout().write_all(&output.stdout).unwrap();
            // SAFETY: ends this program, and not the process.
            unsafe { libc::exit(5) }
        });
        let log = log.clone();
        sim.client("host", async move {
            let output = Command::new("outer").output().await?;
            log.note(String::from_utf8(output.stdout)?.trim());
            log.note(format!("{:?}", output.status.code()));
            Ok(())
        });
        sim.run().unwrap();
    });
    assert_eq!(log, ["inner", "Some(5)"]);
}

#[test]
fn waiting_for_a_child_that_is_not_there_is_an_error() {
    let _alone = by_itself();
    let mut sim = Builder::new().build();
    sim.client_main("host", || {
        let mut status = 0;
        // SAFETY: it writes to a local value.
        let waited = unsafe { libc::waitpid(-1, &mut status, 0) };
        let error = io::Error::last_os_error();
        assert_eq!((waited, error.raw_os_error()), (-1, Some(libc::ECHILD)));
    });
    sim.run().unwrap();
}

#[test]
fn a_descriptor_of_a_child_tells_its_end() {
    let _alone = by_itself();
    let mut sim = Builder::new().build();
    add_programs(&mut sim);
    sim.client_main("host", || -> io::Result<()> {
        let mut child = process::Command::new("sleep").arg("2").spawn()?;
        // SAFETY: numbers; what is returned is checked.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) } as i32;
        assert!(fd >= 0, "{}", io::Error::last_os_error());
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: the arguments are local values.
        let info = unsafe {
            assert_eq!(libc::poll(&mut poll, 1, 1000), 0, "it runs");
            assert_eq!(libc::poll(&mut poll, 1, -1), 1);
            assert_eq!(sim_elapsed().unwrap().as_secs(), 2);
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WNOWAIT;
            assert_eq!(
                libc::waitid(libc::P_PIDFD, fd as u32, &mut info, options),
                0
            );
            info
        };
        // SAFETY: the call has filled it.
        let (number, status) = unsafe { (info.si_pid(), info.si_status()) };
        assert_eq!((number as u32, status), (child.id(), 0));
        assert_eq!(info.si_code, libc::CLD_EXITED);
        assert!(child.wait()?.success(), "it was only looked at");
        // SAFETY: numbers. What was waited for is gone.
        unsafe {
            let sent = libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGTERM, 0, 0);
            assert_eq!(sent, -1);
            assert_eq!(libc::close(fd), 0);
        }
        Ok(())
    });
    sim.run().unwrap();
}

/// The standard library lets one thread of a process exit, so that this needs a process of its own.
#[test]
fn programs_that_exit_end_one_after_the_other() {
    const CHILD: &str = "TRESS_TEST_EXITS";
    if std::env::var_os(CHILD).is_none() {
        let name = "programs_that_exit_end_one_after_the_other";
        let mut command = process::Command::new(std::env::current_exe().unwrap());
        let status = command.args(["--exact", name]).env(CHILD, "1").status();
        assert!(status.unwrap().success());
        return;
    }
    let mut sim = Builder::new().build();
    sim.program("exits", |args| {
        process::exit(args.get(1).unwrap().parse().unwrap())
    });
    sim.client("host", async {
        let first = Command::new("exits").arg("3").status().await?;
        assert_eq!(first.code(), Some(3));
        let later = Command::new("exits").arg("4").status().await?;
        assert_eq!(later.code(), Some(255), "it is not known");
        Ok(())
    });
    sim.run().unwrap();
}

/// Has a child answer each request. After SIGTERM it answers those that it has, and ends.
async fn serve() -> Result {
    let mut terminate = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    let mut requests = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (mut stream, _) = accepted?;
                requests.spawn(async move {
                    let number = stream.read_u32().await?;
                    let mut command = Command::new("double");
                    let output = command.arg(number.to_string()).kill_on_drop(true).output().await?;
                    stream.write_all(&output.stdout).await
                });
            }
            _ = terminate.recv() => break,
        }
    }
    // A connection may have broken.
    while requests.join_next().await.is_some() {}
    Ok(())
}

#[tress_sim::test(seeds = 20)]
fn a_service_with_children_stands_faults() -> Result {
    let mut sim = Builder::new()
        .simulation_duration(1000 * SECOND)
        .faults(Faults::swarm().with(Fault::Terminate).within(30 * SECOND))
        .build();
    sim.program("double", |args| {
        let number: u32 = args.get(1).unwrap().parse().unwrap();
        std::thread::sleep(300 * MS);
        i32::from(write!(args.stdout().unwrap(), "{}", 2 * number).is_err())
    });
    sim.host("server", serve);
    sim.client("client", async {
        let mut answered = 0;
        while answered < 20 {
            let answer = timeout(5 * SECOND, async {
                let mut stream = TcpStream::connect("server:80").await?;
                stream.write_u32(answered).await?;
                let mut text = String::new();
                stream.read_to_string(&mut text).await?;
                io::Result::Ok(text)
            });
            match answer.await {
                // The end of a connection to a host that was killed.
                Ok(Ok(text)) if text.is_empty() => sleep(SECOND).await,
                Ok(Ok(text)) => {
                    assert_eq!(text, (2 * answered).to_string());
                    answered += 1;
                }
                _ => sleep(SECOND).await,
            }
        }
        Ok(())
    });
    sim.run()
}

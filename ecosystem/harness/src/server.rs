//! Servers of Debian packages, each a process with a port and a folder of its own.

use crate::BOUND;
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `mosquitto`, a broker of MQTT.
    Mosquitto,
    /// `nats-server`.
    Nats,
    /// `postgres`, with the user and the database `postgres` and no password.
    Postgres,
    /// `redis-server`.
    Redis,
}

/// A server that runs on loopback until it is killed or dropped.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    folder: PathBuf,
    child: Option<Child>,
    /// Its port on 127.0.0.1, the same for its whole life.
    pub port: u16,
}

impl Server {
    /// Starts a server and waits until it can be used.
    ///
    /// # Panics
    /// Panics if it cannot be started: `ci/ecosystem` runs the tests of those servers only that are installed.
    pub fn start(kind: Kind) -> Server {
        let folder = own_folder(kind);
        if kind == Kind::Postgres {
            copy_cluster(&folder);
        }
        let mut server = Server {
            kind,
            folder,
            child: None,
            port: free_port(),
        };
        server.restart();
        server
    }

    /// Starts the server again, on the same port, after [`kill`](Server::kill).
    ///
    /// # Panics
    /// Panics if it cannot be used after `BOUND`.
    pub fn restart(&mut self) {
        assert!(self.child.is_none(), "the server runs");
        let start = Instant::now();
        loop {
            let mut child = self
                .command()
                .spawn()
                .unwrap_or_else(|e| panic!("{:?}: {e}", self.kind));
            let ended = loop {
                if self.answers() {
                    break None;
                }
                // It may end at once, since its old connections still hold the port.
                if let Some(status) = child.try_wait().expect("a child") {
                    break Some(status);
                }
                assert!(
                    start.elapsed() < BOUND,
                    "{:?} does not answer: {}",
                    self.kind,
                    self.log()
                );
                thread::sleep(Duration::from_millis(5));
            };
            let Some(status) = ended else {
                self.child = Some(child);
                return;
            };
            assert!(
                start.elapsed() < BOUND,
                "{:?} ends, {status}: {}",
                self.kind,
                self.log()
            );
        }
    }

    /// Ends the server at once, without a word to its clients, and waits for its end.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        // SAFETY: the process is a child that has not been waited for, so the number is still its own.
        unsafe { libc::kill(child.id() as libc::pid_t, self.kind.signal()) };
        child.wait().expect("a child");
    }

    /// Stops the server in its tracks: its connections stay open, and nothing is answered.
    pub fn pause(&self) {
        self.signal(libc::SIGSTOP);
    }

    /// Lets a server go on after [`pause`](Server::pause).
    pub fn resume(&self) {
        self.signal(libc::SIGCONT);
    }

    fn signal(&self, signal: libc::c_int) {
        let child = self.child.as_ref().expect("a running server");
        // SAFETY: the process is a child that has not been waited for, so the number is still its own.
        let result = unsafe { libc::kill(child.id() as libc::pid_t, signal) };
        assert_eq!(result, 0, "{}", io::Error::last_os_error());
    }

    fn command(&self) -> Command {
        let port = self.port.to_string();
        let folder = self.folder.display().to_string();
        let mut command = match self.kind {
            Kind::Mosquitto => {
                let file = self.folder.join("mosquitto.conf");
                // Without limits: it loses messages that are beyond them.
                let text = format!(
                    "listener {port} 127.0.0.1\nallow_anonymous true\nmax_inflight_messages 0\nmax_queued_messages 0\n"
                );
                fs::write(&file, text).expect("a configuration");
                let mut command = Command::new(program("mosquitto"));
                command.arg("-c").arg(file);
                command
            }
            Kind::Nats => {
                let mut command = Command::new(program("nats-server"));
                command.args(["-a", "127.0.0.1", "-p", &port]);
                command
            }
            Kind::Postgres => {
                let mut command = Command::new(program("postgres"));
                command.args([
                    "-D",
                    &folder,
                    "-p",
                    &port,
                    "-k",
                    "",
                    "-h",
                    "127.0.0.1",
                    "-F",
                ]);
                command.args(["-c", "max_connections=100"]);
                as_postgres(&mut command);
                command
            }
            Kind::Redis => {
                let mut command = Command::new(program("redis-server"));
                command.args(["--bind", "127.0.0.1", "--port", &port, "--dir", &folder]);
                command.args(["--save", "", "--appendonly", "no"]);
                command
            }
        };
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("log"));
        let log = log.expect("a log");
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log);
        die_with_parent(&mut command, self.kind.signal());
        command
    }

    fn answers(&self) -> bool {
        match self.kind {
            Kind::Postgres => {
                let mut command = Command::new(program("pg_isready"));
                command.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
                command.status().expect("pg_isready").success()
            }
            _ => TcpStream::connect(("127.0.0.1", self.port)).is_ok(),
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_else(|e| e.to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if !thread::panicking() {
            fs::remove_dir_all(&self.folder).expect("the server's folder");
        }
    }
}

impl Kind {
    /// What ends the server at once. The children of a killed `postgres` would live on for a while and keep its
    /// memory; this signal makes all of them quit as after a crash.
    fn signal(self) -> libc::c_int {
        match self {
            Kind::Postgres => libc::SIGQUIT,
            _ => libc::SIGKILL,
        }
    }
}

/// Has the kernel send a signal to the child when the thread that spawns it ends.
pub(crate) fn die_with_parent(command: &mut Command, signal: libc::c_int) -> &mut Command {
    // SAFETY: `prctl` is a system call, which is allowed between fork and exec.
    unsafe {
        command.pre_exec(move || match libc::prctl(libc::PR_SET_PDEATHSIG, signal) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        })
    }
}

/// Returns the folder below which all servers have theirs.
fn base() -> PathBuf {
    std::env::var_os("ECO_DIR").map_or_else(
        || std::env::temp_dir().join("tress-ecosystem"),
        PathBuf::from,
    )
}

fn own_folder(kind: Kind) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = base().join(format!("{kind:?}-{}-{count}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Finds a program of a Debian package; PostgreSQL's are not in the path.
fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut places: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    places.extend(["/usr/bin", "/usr/sbin"].map(PathBuf::from));
    let found = places
        .iter()
        .map(|place| place.join(name))
        .find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is not installed"))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("its number").port()
}

/// Makes `folder` a database cluster, a copy of one that is made once.
fn copy_cluster(folder: &Path) {
    let template = base().join("postgres-template");
    if !template.join("PG_VERSION").exists() {
        fs::create_dir_all(&template).expect("a folder");
        own(&template);
        let mut command = Command::new(program("initdb"));
        command
            .args(["-N", "-A", "trust", "-U", "postgres", "-D"])
            .arg(&template);
        as_postgres(&mut command);
        let made = command.output().expect("initdb");
        assert!(
            made.status.success(),
            "initdb: {}",
            String::from_utf8_lossy(&made.stderr)
        );
    }
    let copied = Command::new("cp")
        .arg("-a")
        .arg(template.join("."))
        .arg(folder)
        .status();
    assert!(
        copied.expect("cp").success(),
        "the cluster cannot be copied"
    );
    own(folder);
}

/// `postgres` refuses to run as root.
fn as_postgres(command: &mut Command) {
    if let Some((user, group)) = postgres_user() {
        command.uid(user).gid(group).current_dir("/");
    }
}

fn own(folder: &Path) {
    if let Some((user, group)) = postgres_user() {
        chown(folder, Some(user), Some(group)).expect("a folder for postgres");
    }
}

/// Returns the numbers of the user `postgres`, if this process is root's.
fn postgres_user() -> Option<(u32, u32)> {
    // SAFETY: it has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return None;
    }
    // SAFETY: the name is a C string; what is returned is read before anybody can call it again, since the
    // tests of a program run one after the other.
    let user = unsafe { libc::getpwnam(c"postgres".as_ptr()).as_ref() }.expect("the user postgres");
    Some((user.pw_uid, user.pw_gid))
}

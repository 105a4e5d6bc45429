//! Programs that a host can start as children.

use crate::sim::Sim;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::rc::Rc;

/// What a program does, which returns its status.
pub(crate) type Main = dyn Fn(Args) -> i32;

/// What a program is started with: its arguments and its environment.
///
/// A process of the real system has one list of arguments and one environment, which all of a simulation shares. So a child
/// finds its own here, and not in [`std::env`].
///
/// # Examples
/// ```
/// use std::process::Command;
/// use tress_sim::Builder;
///
/// let mut sim = Builder::new().build();
/// sim.program("greet", |args| {
///     println!("hello {} from {}", args.get(1).unwrap(), args.var("FROM").unwrap());
///     0
/// });
/// sim.client_main("host", || {
///     let output = Command::new("greet").arg("you").env("FROM", "me").output();
///     assert_eq!(output.unwrap().stdout, b"hello you from me\n");
/// });
/// sim.run()?;
/// # Ok::<(), tress_sim::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Args {
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
}

impl Args {
    pub(crate) fn new(arguments: Vec<OsString>, variables: Vec<(OsString, OsString)>) -> Args {
        Args {
            arguments,
            variables,
        }
    }

    /// Returns the arguments. The first is the name that the program was started by.
    pub fn iter(&self) -> impl Iterator<Item = &OsStr> {
        self.arguments.iter().map(OsString::as_os_str)
    }

    /// Returns an argument, if there are as many, and it is valid Unicode.
    pub fn get(&self, at: usize) -> Option<&str> {
        self.arguments.get(at)?.to_str()
    }

    /// Returns the environment.
    pub fn vars(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let variables = self.variables.iter();
        variables.map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Returns a variable of the environment, if it is there, and valid Unicode.
    pub fn var(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(other, _)| other == name);
        found?.1.to_str()
    }

    /// Returns the standard input of the calling program, without a buffer.
    ///
    /// [`std::io::stdin`] has one buffer and one lock for all programs of a process: of two that use it at once, one may read what
    /// is meant for the other.
    ///
    /// # Errors
    /// The host has too many descriptors open, or the program has closed its standard input.
    pub fn stdin(&self) -> io::Result<File> {
        stream(libc::STDIN_FILENO)
    }

    /// Returns the standard output of the calling program, without a buffer.
    ///
    /// [`print!`] has one buffer and one lock for all programs of a process. A program that prints more than a pipe holds keeps
    /// others from printing until it is read.
    ///
    /// # Errors
    /// The host has too many descriptors open, or the program has closed its standard output.
    ///
    /// # Examples
    /// ```
    /// use std::io::{self, Write};
    /// use std::process::{Command, Stdio};
    /// use tress_sim::Builder;
    ///
    /// let mut sim = Builder::new().build();
    /// sim.program("cat", |args| {
    ///     let (mut input, mut output) = (args.stdin().unwrap(), args.stdout().unwrap());
    ///     io::copy(&mut input, &mut output).unwrap();
    ///     0
    /// });
    /// sim.client_main("host", || -> io::Result<()> {
    ///     let mut command = Command::new("cat");
    ///     let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    ///     child.stdin.take().unwrap().write_all(b"meow")?;
    ///     assert_eq!(child.wait_with_output()?.stdout, b"meow");
    ///     Ok(())
    /// });
    /// sim.run()?;
    /// # Ok::<(), tress_sim::Error>(())
    /// ```
    pub fn stdout(&self) -> io::Result<File> {
        stream(libc::STDOUT_FILENO)
    }

    /// Returns the standard error of the calling program, without a buffer.
    ///
    /// # Errors
    /// The host has too many descriptors open, or the program has closed its standard error.
    pub fn stderr(&self) -> io::Result<File> {
        stream(libc::STDERR_FILENO)
    }
}

/// Returns a standard stream of the calling program.
fn stream(fd: RawFd) -> io::Result<File> {
    // SAFETY: it may be closed, or become something else, during the call: then that is an error, or what is returned.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    borrowed.try_clone_to_owned().map(File::from)
}

impl<'a> Sim<'a> {
    /// Adds a program that hosts can start as a child process, by `std::process::Command` or `tokio::process::Command`.
    ///
    /// A command starts it by this name, or by a path that ends with it. It runs on a thread of its own on the host of the command,
    /// with a process number, signals, a working directory and standard streams of its own, and ends when `main` returns its
    /// status, or when it is killed. It may block, start threads and make runtimes. Hosts can start nothing else: other
    /// commands fail as those whose program is not found, and a line on standard error tells which.
    ///
    /// Children share the memory of the process with everything else in the simulation, such as statics. Those of the standard
    /// library's [`print!`] and [`stdin`](std::io::stdin) hold the rest of a line: programs that run at once use
    /// [`Args::stdout`] and [`Args::stdin`].
    ///
    /// Children end with the power of their host, and when its program is killed, exits by `std::process::exit`, or is
    /// ended by a signal. They outlive a program that returns.
    ///
    /// # Examples
    /// ```
    /// use tokio::process::Command;
    /// use tress_sim::Builder;
    ///
    /// let mut sim = Builder::new().build();
    /// sim.program("false", |_| 1);
    /// sim.client("host", async {
    ///     assert_eq!(Command::new("/bin/false").status().await?.code(), Some(1));
    ///     Ok(())
    /// });
    /// sim.run()?;
    /// # Ok::<(), tress_sim::Error>(())
    /// ```
    pub fn program(&mut self, name: &str, main: impl Fn(Args) -> i32 + 'a) {
        let main: Rc<dyn Fn(Args) -> i32 + 'a> = Rc::new(main);
        // SAFETY: a child of a host returns, or never goes on, before its simulation ends, and what the function borrows lives
        // longer than that.
        let main: Rc<Main> = unsafe { std::mem::transmute(main) };
        self.kernel_mut().programs.add(name, main);
    }
}

use super::{Child, orphans};
use crate::runtime::driver::IoHandle;
use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Output, Stdio};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

/// A builder for a child process.
///
/// The methods mirror those of [`std::process::Command`]; [`spawn`](Command::spawn),
/// [`status`](Command::status) and [`output`](Command::output) start the program. A command can be
/// started any number of times.
///
/// # Examples
///
/// ```
/// use tress::process::Command;
///
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// let status = Command::new("sh")
///     .args(["-c", "test \"$GREETING\" = hello"])
///     .env("GREETING", "hello")
///     .status()
///     .await?;
/// assert!(status.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Command {
    std: std::process::Command,
    kill_on_drop: bool,
}

impl Command {
    /// Creates a command that runs `program`.
    ///
    /// `program` is a path, or a name to be searched for in `PATH`. By default the child gets no arguments
    /// and inherits the environment, the working directory and the standard streams of this process.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// assert!(Command::new("true").status().await?.success());
    /// let error = Command::new("no such program").spawn().unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new<S: AsRef<OsStr>>(program: S) -> Command {
        Command::from(std::process::Command::new(program))
    }

    /// Returns a reference to the underlying command of the standard library.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::process::Command;
    ///
    /// let command = Command::new("ls");
    /// assert_eq!(command.as_std().get_program(), "ls");
    /// ```
    pub fn as_std(&self) -> &std::process::Command {
        &self.std
    }

    /// Returns a mutable reference to the underlying command of the standard library.
    ///
    /// Use it to set options that this type does not offer.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::process::Command;
    ///
    /// let mut command = Command::new("ls");
    /// command.as_std_mut().arg("-l");
    /// assert_eq!(command.as_std().get_args().count(), 1);
    /// ```
    pub fn as_std_mut(&mut self) -> &mut std::process::Command {
        &mut self.std
    }

    /// Converts the command into one of the standard library.
    ///
    /// [`kill_on_drop`](Command::kill_on_drop) is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::process::Command;
    ///
    /// let mut std = Command::new("true").into_std();
    /// assert!(std.status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn into_std(self) -> std::process::Command {
        self.std
    }

    /// Adds an argument.
    ///
    /// It is passed to the program as it is: no shell splits or expands it.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// let output = Command::new("echo").arg("one argument, with spaces").output().await?;
    /// assert_eq!(output.stdout, b"one argument, with spaces\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn arg<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Command {
        self.std.arg(arg);
        self
    }

    /// Adds several arguments.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// let output = Command::new("echo").args(["a", "b"]).output().await?;
    /// assert_eq!(output.stdout, b"a b\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn args<I, S>(&mut self, args: I) -> &mut Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.std.args(args);
        self
    }

    /// Sets an environment variable of the child.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// let mut command = Command::new("sh");
    /// let output = command.args(["-c", "echo $WHO"]).env("WHO", "me").output().await?;
    /// assert_eq!(output.stdout, b"me\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn env<K, V>(&mut self, key: K, val: V) -> &mut Command
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.env(key, val);
        self
    }

    /// Sets several environment variables of the child.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// let mut command = Command::new("sh");
    /// command.args(["-c", "echo $A$B"]).envs([("A", "1"), ("B", "2")]);
    /// assert_eq!(command.output().await?.stdout, b"12\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn envs<I, K, V>(&mut self, vars: I) -> &mut Command
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.envs(vars);
        self
    }

    /// Removes an environment variable from those of the child.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// let mut command = Command::new("sh");
    /// command.args(["-c", "echo ${HOME-none}"]).env_remove("HOME");
    /// assert_eq!(command.output().await?.stdout, b"none\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, key: K) -> &mut Command {
        self.std.env_remove(key);
        self
    }

    /// Clears the environment of the child.
    ///
    /// Neither the variables of this process nor those set before on this command are passed on.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// let output = Command::new("/usr/bin/env").env_clear().env("ONLY", "this").output().await?;
    /// assert_eq!(output.stdout, b"ONLY=this\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn env_clear(&mut self) -> &mut Command {
        self.std.env_clear();
        self
    }

    /// Sets the working directory of the child.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// let output = Command::new("pwd").current_dir("/").output().await?;
    /// assert_eq!(output.stdout, b"/\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn current_dir<P: AsRef<Path>>(&mut self, dir: P) -> &mut Command {
        self.std.current_dir(dir);
        self
    }

    /// Sets the standard input of the child.
    ///
    /// The default is to inherit that of this process. With [`Stdio::piped`] the pipe is in
    /// [`Child::stdin`](super::Child::stdin).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use std::process::Stdio;
    /// use tress::process::Command;
    ///
    /// // The child finds its input empty.
    /// let output = Command::new("cat").stdin(Stdio::null()).output().await?;
    /// assert!(output.stdout.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn stdin<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdin(cfg);
        self
    }

    /// Sets the standard output of the child.
    ///
    /// The default is to inherit that of this process, and a pipe for [`output`](Command::output). With
    /// [`Stdio::piped`] the pipe is in [`Child::stdout`](super::Child::stdout).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use std::process::Stdio;
    /// use tress::process::Command;
    ///
    /// let mut command = Command::new("echo");
    /// let status = command.arg("to nobody").stdout(Stdio::null()).status().await?;
    /// assert!(status.success());
    /// # Ok(())
    /// # }
    /// ```
    pub fn stdout<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdout(cfg);
        self
    }

    /// Sets the standard error of the child.
    ///
    /// The default is to inherit that of this process, and a pipe for [`output`](Command::output). With
    /// [`Stdio::piped`] the pipe is in [`Child::stderr`](super::Child::stderr).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use std::process::Stdio;
    /// use tress::io::AsyncReadExt;
    /// use tress::process::Command;
    ///
    /// let mut command = Command::new("sh");
    /// let mut child = command.args(["-c", "echo oh >&2"]).stderr(Stdio::piped()).spawn()?;
    /// let mut text = String::new();
    /// child.stderr.take().unwrap().read_to_string(&mut text).await?;
    /// assert_eq!(text, "oh\n");
    /// child.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stderr<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stderr(cfg);
        self
    }

    /// Sets whether the child is killed when it is dropped before it has exited.
    ///
    /// This applies to the [`Child`] and to the futures of [`status`](Command::status) and
    /// [`output`](Command::output). The default is `false`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut command = tress::process::Command::new("sleep");
    /// let child = command.arg("1000").kill_on_drop(true).spawn()?;
    /// drop(child);
    /// # Ok(())
    /// # }
    /// ```
    pub fn kill_on_drop(&mut self, kill_on_drop: bool) -> &mut Command {
        self.kill_on_drop = kill_on_drop;
        self
    }

    /// Returns whether the child is killed when it is dropped before it has exited.
    ///
    /// See [`kill_on_drop`](Command::kill_on_drop).
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::process::Command;
    ///
    /// let mut command = Command::new("sleep");
    /// assert!(!command.get_kill_on_drop());
    /// assert!(command.kill_on_drop(true).get_kill_on_drop());
    /// ```
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// Starts the program and returns a handle to the child process.
    ///
    /// # Errors
    ///
    /// Any error of [`std::process::Command::spawn`]: the program does not exist, the process may not run
    /// it, or too many processes or files exist.
    ///
    /// # Panics
    ///
    /// If called outside of a runtime, or in a runtime that was built without
    /// [`enable_io`](crate::runtime::Builder::enable_io).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = tress::process::Command::new("true").spawn()?;
    /// child.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        self.spawn_with(std::process::Command::spawn)
    }

    /// Starts the program by a function of the caller's, and returns a handle to the child process.
    ///
    /// It does what [`spawn`](Command::spawn) does, except that `with` starts the process. This is for ways to start one
    /// that [`std::process::Command`] has and this type has not, such as attributes on Windows.
    ///
    /// # Errors
    ///
    /// Any error of `with`, and those of [`spawn`](Command::spawn) that come after the start of the process.
    ///
    /// # Panics
    ///
    /// If called outside of a runtime, or in a runtime that was built without
    /// [`enable_io`](crate::runtime::Builder::enable_io). `with` has not been called then.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut attempts = 0;
    /// let mut child = tress::process::Command::new("true").spawn_with(|command| {
    ///     attempts += 1;
    ///     command.spawn()
    /// })?;
    /// assert!(child.wait().await?.success());
    /// assert_eq!(attempts, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_with(
        &mut self,
        with: impl FnOnce(&mut std::process::Command) -> io::Result<std::process::Child>,
    ) -> io::Result<Child> {
        // Panics before there is a child, if at all.
        IoHandle::current("spawning a child process");
        orphans::reap();
        Child::new(with(&mut self.std)?, self.kill_on_drop)
    }

    /// Starts the program, and returns a future that waits until it has exited.
    ///
    /// The program is started by this call, not by the first poll. Pipes to the child are closed.
    ///
    /// # Errors
    ///
    /// The future returns any error of [`spawn`](Command::spawn) and [`Child::wait`](super::Child::wait).
    ///
    /// # Panics
    ///
    /// If called outside of a runtime, or in a runtime that was built without
    /// [`enable_io`](crate::runtime::Builder::enable_io).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the child, which continues to run unless
    /// [`kill_on_drop`](Command::kill_on_drop) is set. Its status is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// let status = Command::new("sh").args(["-c", "exit 3"]).status().await?;
    /// assert_eq!(status.code(), Some(3));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let child = self.spawn();
        async {
            let mut child = child?;
            child.stdin = None;
            child.stdout = None;
            child.stderr = None;
            child.wait().await
        }
    }

    /// Starts the program, and returns a future that waits until it has exited and collects its output.
    ///
    /// The program is started by this call, not by the first poll. Its standard output and standard error
    /// are pipes, whatever was set before; its standard input is inherited unless set.
    ///
    /// # Errors
    ///
    /// The future returns any error of [`spawn`](Command::spawn) and
    /// [`Child::wait_with_output`](super::Child::wait_with_output).
    ///
    /// # Panics
    ///
    /// If called outside of a runtime, or in a runtime that was built without
    /// [`enable_io`](crate::runtime::Builder::enable_io).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the child, which continues to run unless
    /// [`kill_on_drop`](Command::kill_on_drop) is set. Its status and output are lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let output = tress::process::Command::new("sh").args(["-c", "echo no >&2; false"]).output().await?;
    /// assert!(!output.status.success());
    /// assert_eq!(output.stderr, b"no\n");
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn output(&mut self) -> impl Future<Output = io::Result<Output>> + use<> {
        self.std.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.spawn();
        async { child?.wait_with_output().await }
    }
}

impl From<std::process::Command> for Command {
    fn from(std: std::process::Command) -> Command {
        Command {
            std,
            kill_on_drop: false,
        }
    }
}

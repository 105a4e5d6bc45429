use super::reaper::Reaper;
use super::{ChildStderr, ChildStdin, ChildStdout, orphans};
use crate::io::AsyncReadExt;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::process::{ExitStatus, Output};

#[cfg(windows)]
mod windows;

/// A handle to a child process.
///
/// Returned by [`Command::spawn`](super::Command::spawn). Dropping it does not end the child, unless
/// [`kill_on_drop`](super::Command::kill_on_drop) is set; the child is reaped in any case. See the
/// [module documentation](super#dropping-a-child).
///
/// # Examples
///
/// ```
/// use tress::process::Command;
///
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut child = Command::new("sh").args(["-c", "exit 3"]).spawn()?;
/// assert_eq!(child.wait().await?.code(), Some(3));
/// # Ok(())
/// # }
/// ```
pub struct Child {
    state: State,
    kill_on_drop: bool,
    /// The pipe to the standard input of the child, if there is one.
    ///
    /// [`wait`](Child::wait) closes it: take it to write while waiting.
    pub stdin: Option<ChildStdin>,
    /// The pipe from the standard output of the child, if there is one.
    pub stdout: Option<ChildStdout>,
    /// The pipe from the standard error of the child, if there is one.
    pub stderr: Option<ChildStderr>,
}

#[derive(Debug)]
enum State {
    /// `None` only while the `Child` is being dropped.
    Running(Option<Reaper>),
    Ended(ExitStatus),
}

impl Child {
    #[track_caller]
    pub(super) fn new(mut std: std::process::Child, kill_on_drop: bool) -> io::Result<Child> {
        let (stdin, stdout, stderr) = (std.stdin.take(), std.stdout.take(), std.stderr.take());
        // From now on the child is reaped, also if a pipe cannot be registered.
        let mut child = Child {
            state: State::Running(Some(Reaper::new(std))),
            kill_on_drop,
            stdin: None,
            stdout: None,
            stderr: None,
        };
        child.stdin = stdin.map(ChildStdin::from_std).transpose()?;
        child.stdout = stdout.map(ChildStdout::from_std).transpose()?;
        child.stderr = stderr.map(ChildStderr::from_std).transpose()?;
        Ok(child)
    }

    fn reaper(&mut self) -> Option<&mut Reaper> {
        match &mut self.state {
            State::Running(reaper) => reaper.as_mut(),
            State::Ended(_) => None,
        }
    }

    /// Returns the process id of the child, or `None` once it has been waited for.
    ///
    /// After that the system may have given the id to another process.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = tress::process::Command::new("true").spawn()?;
    /// assert!(child.id().is_some());
    /// child.wait().await?;
    /// assert!(child.id().is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn id(&self) -> Option<u32> {
        match &self.state {
            State::Running(reaper) => reaper.as_ref().map(|reaper| reaper.child.id()),
            State::Ended(_) => None,
        }
    }

    /// Kills the child, without waiting for it to exit.
    ///
    /// Sends `SIGKILL` on Unix and calls `TerminateProcess` on Windows. Does nothing if the child has been
    /// waited for. The child still has to be [waited for](Child::wait) or dropped to be reaped.
    ///
    /// # Errors
    ///
    /// Any error of [`std::process::Child::kill`].
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = tress::process::Command::new("sleep").arg("1000").spawn()?;
    /// child.start_kill()?;
    /// assert!(!child.wait().await?.success());
    /// # Ok(())
    /// # }
    /// ```
    pub fn start_kill(&mut self) -> io::Result<()> {
        self.reaper().map_or(Ok(()), |reaper| reaper.child.kill())
    }

    /// Kills the child and waits until it has exited.
    ///
    /// This is [`start_kill`](Child::start_kill) followed by [`wait`](Child::wait).
    ///
    /// # Errors
    ///
    /// Any error of [`start_kill`](Child::start_kill) and [`wait`](Child::wait).
    ///
    /// # Cancel safety
    ///
    /// The first poll kills the child. Dropping the future later only stops waiting.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = tress::process::Command::new("sleep").arg("1000").spawn()?;
    /// child.kill().await?;
    /// assert!(child.id().is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await.map(drop)
    }

    /// Waits until the child has exited, and returns its status.
    ///
    /// The pipe to the standard input of the child is closed first, if it is still in
    /// [`stdin`](Child::stdin): otherwise a child that reads to the end of its input would never exit.
    /// Further calls return the same status.
    ///
    /// Any runtime can wait. Outside of a runtime, the one in which the child was spawned or last waited for
    /// has to run.
    ///
    /// # Errors
    ///
    /// - The child was reaped by other code.
    /// - Too many files are open to be notified of its exit. The child can be waited for again.
    /// - Outside of a runtime: the runtimes that could wait have shut down.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe, except that the first poll closes the standard input of the child.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = tress::process::Command::new("true").spawn()?;
    /// assert!(child.wait().await?.success());
    /// assert!(child.wait().await?.success()); // the same status again
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let status = match &mut self.state {
            State::Ended(status) => return Ok(*status),
            State::Running(None) => unreachable!("taken only by the drop"),
            State::Running(Some(reaper)) => poll_fn(|cx| reaper.poll_wait(cx)).await?,
        };
        self.state = State::Ended(status);
        Ok(status)
    }

    /// Returns the status of the child if it has exited, without waiting.
    ///
    /// Unlike [`wait`](Child::wait) this does not close the standard input of the child.
    ///
    /// # Errors
    ///
    /// Any error of [`std::process::Child::try_wait`].
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = tress::process::Command::new("sleep").arg("1000").spawn()?;
    /// assert!(child.try_wait()?.is_none());
    /// child.kill().await?;
    /// assert!(child.try_wait()?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = match &mut self.state {
            State::Ended(status) => return Ok(Some(*status)),
            State::Running(reaper) => match reaper {
                None => unreachable!("taken only by the drop"),
                Some(reaper) => reaper.child.try_wait()?,
            },
        };
        if let Some(status) = status {
            self.state = State::Ended(status);
        }
        Ok(status)
    }

    /// Waits until the child has exited, and collects what it writes to the pipes in
    /// [`stdout`](Child::stdout) and [`stderr`](Child::stderr).
    ///
    /// The pipe to the standard input of the child is closed first, if it is still in
    /// [`stdin`](Child::stdin). Output that is not a pipe is empty in the result.
    ///
    /// # Errors
    ///
    /// Any error of [`wait`](Child::wait) and of reading the pipes.
    ///
    /// # Cancel safety
    ///
    /// This method is not cancel safe: dropping the future drops the child, and loses what was read.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::process::Stdio;
    ///
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let child = tress::process::Command::new("echo").arg("hi").stdout(Stdio::piped()).spawn()?;
    /// assert_eq!(child.wait_with_output().await?.stdout, b"hi\n");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        let (mut out, mut err) = (self.stdout.take(), self.stderr.take());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let read_out = async {
            match &mut out {
                Some(pipe) => pipe.read_to_end(&mut stdout).await.map(drop),
                None => Ok(()),
            }
        };
        let read_err = async {
            match &mut err {
                Some(pipe) => pipe.read_to_end(&mut stderr).await.map(drop),
                None => Ok(()),
            }
        };
        let (status, (), ()) = crate::try_join!(self.wait(), read_out, read_err)?;
        Ok(Output {
            status,
            stdout,
            stderr,
        })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let State::Running(reaper) = &mut self.state else {
            return;
        };
        if let Some(mut reaper) = reaper.take() {
            if self.kill_on_drop {
                // Fails only if the child has exited.
                let _ = reaper.child.kill();
            }
            orphans::adopt(reaper);
        }
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("id", &self.id())
            .field("kill_on_drop", &self.kill_on_drop)
            .field("stdin", &self.stdin)
            .field("stdout", &self.stdout)
            .field("stderr", &self.stderr)
            .finish_non_exhaustive()
    }
}

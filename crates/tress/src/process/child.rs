use super::reaper::Reaper;
use super::{ChildStderr, ChildStdin, ChildStdout, orphans};
use crate::io::AsyncReadExt;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::process::{ExitStatus, Output};

#[cfg(windows)]
mod windows;

/// A child process; made by [`Command::spawn`](super::Command::spawn).
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
    /// The child's standard input, if it is a pipe. Take it to use it while you wait.
    pub stdin: Option<ChildStdin>,
    /// The child's standard output, if it is a pipe.
    pub stdout: Option<ChildStdout>,
    /// The child's standard error, if it is a pipe.
    pub stderr: Option<ChildStderr>,
}

#[derive(Debug)]
enum State {
    /// Taken only by the drop.
    Running(Option<Reaper>),
    Ended(ExitStatus),
}

impl Child {
    #[track_caller]
    pub(super) fn new(mut std: std::process::Child, kill_on_drop: bool) -> io::Result<Child> {
        let (stdin, stdout, stderr) = (std.stdin.take(), std.stdout.take(), std.stderr.take());
        // From now on it is reaped, whatever happens.
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

    /// The child's process id. `None` once it was waited for: the number may be another's by now.
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

    /// Kills the child (`SIGKILL`, `TerminateProcess`), without waiting. A child that has ended is none to kill.
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
    ///
    /// # Errors
    /// As [`std::process::Child::kill`].
    pub fn start_kill(&mut self) -> io::Result<()> {
        self.reaper().map_or(Ok(()), |reaper| reaper.child.kill())
    }

    /// Kills the child and waits until it is gone.
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
    ///
    /// # Errors
    /// As [`start_kill`](Child::start_kill) and [`wait`](Child::wait).
    ///
    /// # Cancel safety
    /// The child is killed by the first poll; the rest is waiting.
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await.map(drop)
    }

    /// Waits until the child has ended. Its standard input is closed first, if it is still here.
    ///
    /// Any runtime will do. Outside of one, the runtime where the child was spawned or waited for last has to
    /// run.
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = tress::process::Command::new("true").spawn()?;
    /// assert!(child.wait().await?.success());
    /// assert!(child.wait().await?.success()); // it is remembered
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What the system says: somebody else has waited for it, or there are too many open files to hear of its end; then it
    /// can be waited for again. Outside of a runtime, if those that would do have shut down.
    ///
    /// # Cancel safety
    /// Cancel safe, but for the standard input, which is closed by the first poll.
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

    /// How the child has ended, if it has.
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
    ///
    /// # Errors
    /// As [`std::process::Child::try_wait`].
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

    /// Waits until the child has ended, and reads what it writes to the pipes that are still here. Its
    /// standard input is closed first.
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
    ///
    /// # Errors
    /// As [`wait`](Child::wait), and those of the pipes.
    ///
    /// # Cancel safety
    /// The child is dropped, and what was read is lost.
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
                // Fails only for one that has ended.
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

use super::Command;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;

impl Command {
    /// Sets the user id of the child.
    ///
    /// This process needs the right to change to it. See [`CommandExt::uid`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::process::Command;
    ///
    /// // Spawning this needs the privilege to change to that user.
    /// let mut command = Command::new("id");
    /// command.uid(65534).gid(65534);
    /// ```
    pub fn uid(&mut self, id: u32) -> &mut Command {
        self.std.uid(id);
        self
    }

    /// Sets the group id of the child.
    ///
    /// This process needs the right to change to it. See [`CommandExt::gid`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::process::Command;
    ///
    /// let mut command = Command::new("id");
    /// command.gid(65534);
    /// ```
    pub fn gid(&mut self, id: u32) -> &mut Command {
        self.std.gid(id);
        self
    }

    /// Sets the name that the program sees as its own: its zeroth argument.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// let output = Command::new("sh").arg0("another").args(["-c", "echo $0"]).output().await?;
    /// assert_eq!(output.stdout, b"another\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn arg0<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Command {
        self.std.arg0(arg);
        self
    }

    /// Sets the process group of the child.
    ///
    /// 0 creates a new group, whose id is the process id of the child.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// // Ctrl-C in the terminal reaches the group of this process, and not the child.
    /// let status = Command::new("true").process_group(0).status().await?;
    /// assert!(status.success());
    /// # Ok(())
    /// # }
    /// ```
    pub fn process_group(&mut self, pgroup: i32) -> &mut Command {
        self.std.process_group(pgroup);
        self
    }

    /// Schedules `f` to run in the child, after `fork` and before `exec`.
    ///
    /// If `f` returns an error, the child exits and [`spawn`](Command::spawn) returns that error. Several
    /// functions run in the order in which they were added.
    ///
    /// # Safety
    ///
    /// See [`CommandExt::pre_exec`]: `f` runs in a copy of a process that has other threads. It may only do
    /// what a signal handler may do; in particular it must not allocate or take locks.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// let mut command = Command::new("true");
    /// // SAFETY: it does nothing.
    /// unsafe { command.pre_exec(|| Ok(())) };
    /// assert!(command.status().await?.success());
    /// # Ok(())
    /// # }
    /// ```
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Command
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: by the caller's promise.
        unsafe { self.std.pre_exec(f) };
        self
    }
}

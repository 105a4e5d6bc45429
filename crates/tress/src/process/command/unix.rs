use super::Command;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;

impl Command {
    /// The user it runs as.
    ///
    /// ```
    /// use tress::process::Command;
    ///
    /// // Needs the right to become that user.
    /// let mut command = Command::new("id");
    /// command.uid(65534).gid(65534);
    /// ```
    pub fn uid(&mut self, id: u32) -> &mut Command {
        self.std.uid(id);
        self
    }

    /// The group it runs as.
    ///
    /// ```
    /// use tress::process::Command;
    ///
    /// // The group first, or the right to change it is gone: the system sees to the order.
    /// let mut command = Command::new("id");
    /// command.gid(65534);
    /// ```
    pub fn gid(&mut self, id: u32) -> &mut Command {
        self.std.gid(id);
        self
    }

    /// What it is told that its name is.
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

    /// The process group it runs in; 0 for a new one.
    ///
    /// ```
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// use tress::process::Command;
    ///
    /// // Ctrl-C in the terminal reaches the group of the shell, not this child.
    /// let status = Command::new("true").process_group(0).status().await?;
    /// assert!(status.success());
    /// # Ok(())
    /// # }
    /// ```
    pub fn process_group(&mut self, pgroup: i32) -> &mut Command {
        self.std.process_group(pgroup);
        self
    }

    /// Runs `f` in the child before the program begins.
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
    ///
    /// # Safety
    /// As [`CommandExt::pre_exec`]: it runs in a copy of a process with other threads, and may do only what
    /// a signal handler may.
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Command
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: by the caller's promise.
        unsafe { self.std.pre_exec(f) };
        self
    }
}

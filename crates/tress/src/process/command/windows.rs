use super::Command;
use std::ffi::OsStr;
use std::os::windows::process::CommandExt;

impl Command {
    /// Sets the flags that are passed to `CreateProcess`, such as `CREATE_NO_WINDOW` or
    /// `CREATE_NEW_PROCESS_GROUP`.
    ///
    /// See [`CommandExt::creation_flags`].
    ///
    /// # Examples
    ///
    /// ```
    /// const CREATE_NO_WINDOW: u32 = 0x0800_0000;
    ///
    /// let mut command = tress::process::Command::new("hostname");
    /// command.creation_flags(CREATE_NO_WINDOW);
    /// ```
    pub fn creation_flags(&mut self, flags: u32) -> &mut Command {
        self.std.creation_flags(flags);
        self
    }

    /// Appends text to the command line without quoting or escaping it.
    ///
    /// This is for programs that parse their command line by rules of their own, such as `cmd.exe /C`. See
    /// [`CommandExt::raw_arg`].
    ///
    /// # Examples
    ///
    /// ```
    /// let mut command = tress::process::Command::new("cmd.exe");
    /// command.raw_arg("/C echo \"two words\"");
    /// ```
    pub fn raw_arg<S: AsRef<OsStr>>(&mut self, text_to_append_as_is: S) -> &mut Command {
        self.std.raw_arg(text_to_append_as_is);
        self
    }
}

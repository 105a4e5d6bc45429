use super::Command;
use std::ffi::OsStr;
use std::os::windows::process::CommandExt;

impl Command {
    /// The flags that `CreateProcess` is given for it, such as `CREATE_NO_WINDOW` or
    /// `CREATE_NEW_PROCESS_GROUP`, as [`CommandExt::creation_flags`] describes.
    pub fn creation_flags(&mut self, flags: u32) -> &mut Command {
        self.std.creation_flags(flags);
        self
    }

    /// Text for the end of the command line, as it is: without quotes or escapes, for programs that read
    /// theirs by rules of their own, such as `cmd.exe /C`.
    pub fn raw_arg<S: AsRef<OsStr>>(&mut self, text_to_append_as_is: S) -> &mut Command {
        self.std.raw_arg(text_to_append_as_is);
        self
    }
}

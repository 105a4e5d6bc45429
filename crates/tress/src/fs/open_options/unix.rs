//! Options that only Unix has.

use super::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

impl OpenOptions {
    /// Sets the permission bits of a file that is created.
    ///
    /// The process's `umask` is applied to them. The default is `0o666`.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut options = tress::fs::OpenOptions::new();
    /// options.write(true).create_new(true).mode(0o600);
    /// ```
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.std.mode(mode);
        self
    }

    /// Sets additional flags for `open(2)`.
    ///
    /// They replace those of an earlier call. The bits of the access mode are ignored.
    ///
    /// # Examples
    ///
    /// ```
    /// # const O_NOFOLLOW: i32 = 0;
    /// let mut options = tress::fs::OpenOptions::new();
    /// options.read(true).custom_flags(O_NOFOLLOW);
    /// ```
    pub fn custom_flags(&mut self, flags: i32) -> &mut Self {
        self.std.custom_flags(flags);
        self
    }
}

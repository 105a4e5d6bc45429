//! What only Unix has.

use super::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

impl OpenOptions {
    /// The mode of a file that is made, of which the process's mask is taken. Default: `0o666`.
    ///
    /// ```
    /// let mut options = tress::fs::OpenOptions::new();
    /// options.write(true).create_new(true).mode(0o600);
    /// ```
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.std.mode(mode);
        self
    }

    /// More flags of the system's `open`, in place of those given before. The access mode is not taken
    /// from them.
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

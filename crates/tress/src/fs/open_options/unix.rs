//! What only Unix has, and how options are told to the kernel.

use super::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

/// Options as the standard library keeps them, which does not show its own.
#[derive(Clone, Debug)]
pub(super) struct Flags {
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) append: bool,
    pub(super) truncate: bool,
    pub(super) create: bool,
    pub(super) create_new: bool,
    custom: i32,
    pub(super) mode: u32,
}

impl Default for Flags {
    fn default() -> Self {
        Flags {
            read: false,
            write: false,
            append: false,
            truncate: false,
            create: false,
            create_new: false,
            custom: 0,
            mode: 0o666,
        }
    }
}

impl Flags {
    /// The flags of `open`. None if the options contradict each other, which the standard library
    /// explains.
    pub(super) fn to_kernel(&self) -> Option<i32> {
        let access = match (self.read, self.write, self.append) {
            (false, false, false) => return None,
            (true, false, false) => libc::O_RDONLY,
            (false, true, false) => libc::O_WRONLY,
            (true, true, false) => libc::O_RDWR,
            (false, _, true) => libc::O_WRONLY | libc::O_APPEND,
            (true, _, true) => libc::O_RDWR | libc::O_APPEND,
        };
        let makes = self.create || self.create_new;
        let cannot_write = !self.write && !self.append;
        if cannot_write && (makes || self.truncate) {
            return None;
        }
        if self.append && self.truncate && !self.create_new {
            return None;
        }
        let creation = match (self.create_new, self.create, self.truncate) {
            (true, _, _) => libc::O_CREAT | libc::O_EXCL,
            (false, create, truncate) => {
                let create = if create { libc::O_CREAT } else { 0 };
                create | if truncate { libc::O_TRUNC } else { 0 }
            }
        };
        Some(access | creation | (self.custom & !libc::O_ACCMODE))
    }
}

impl OpenOptions {
    /// The mode of a file that is made, of which the process's mask is taken. Default: `0o666`.
    ///
    /// ```
    /// let mut options = tress::fs::OpenOptions::new();
    /// options.write(true).create_new(true).mode(0o600);
    /// ```
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.std.mode(mode);
        if let Some(flags) = &mut self.flags {
            flags.mode = mode;
        }
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
        if let Some(own) = &mut self.flags {
            own.custom = flags;
        }
        self
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Every combination is refused exactly where the standard library refuses it.
    #[test]
    fn the_same_combinations_are_refused() {
        let path = std::env::temp_dir().join(format!("tress-flags-{}", std::process::id()));
        for bits in 0..64_u32 {
            let bit = |n: u32| bits & (1 << n) != 0;
            let mut options = OpenOptions::new();
            options.read(bit(0)).write(bit(1)).append(bit(2));
            options.truncate(bit(3)).create(bit(4)).create_new(bit(5));
            let refused = |result: std::io::Result<std::fs::File>| matches!(result, Err(error) if error.kind() == std::io::ErrorKind::InvalidInput);
            let std = refused(options.std.open(&path));
            let _ = std::fs::remove_file(&path);
            let own = options.flags.as_ref().unwrap().to_kernel();
            assert_eq!(own.is_none(), std, "{options:?}");
        }
    }
}

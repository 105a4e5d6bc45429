use super::{Receiver, Sender};
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How to open a named pipe.
///
/// # Examples
/// ```no_run
/// use tress::net::unix::pipe;
///
/// # fn f() -> std::io::Result<()> {
/// let receiver = pipe::OpenOptions::new().open_receiver("/run/commands")?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    read_write: bool,
    unchecked: bool,
}

impl OpenOptions {
    /// One side only, and only if the file is a pipe.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Opens both sides, of which one is used: a sender then needs no receiver to be there, and a
    /// receiver finds no end when the last sender leaves.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn read_write(&mut self, value: bool) -> &mut Self {
        self.read_write = value;
        self
    }

    /// Does not look whether the file is a pipe.
    pub fn unchecked(&mut self, value: bool) -> &mut Self {
        self.unchecked = value;
        self
    }

    /// Opens the end to read from. There need be no sender yet.
    ///
    /// # Errors
    /// `InvalidInput` if the file is not a pipe; what the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn open_receiver<P: AsRef<Path>>(&self, path: P) -> io::Result<Receiver> {
        let file = self.open(path.as_ref(), fs::OpenOptions::new().read(true))?;
        if self.unchecked {
            Receiver::from_file_unchecked(file)
        } else {
            Receiver::from_file(file)
        }
    }

    /// Opens the end to write to.
    ///
    /// # Errors
    /// `ENXIO` if there is no receiver; `InvalidInput` if the file is not a pipe; what the system
    /// says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn open_sender<P: AsRef<Path>>(&self, path: P) -> io::Result<Sender> {
        let file = self.open(path.as_ref(), fs::OpenOptions::new().write(true))?;
        if self.unchecked {
            Sender::from_file_unchecked(file)
        } else {
            Sender::from_file(file)
        }
    }

    fn open(&self, path: &Path, options: &mut fs::OpenOptions) -> io::Result<fs::File> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.read_write {
            options.read(true).write(true);
        }
        options.custom_flags(libc::O_NONBLOCK).open(path)
    }
}

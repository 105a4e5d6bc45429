use super::{Receiver, Sender};
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Options to open a named pipe (FIFO).
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt};
/// use tress::net::unix::pipe;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// # let path = std::env::temp_dir().join(format!("tress-doc-fifo-{}", std::process::id()));
/// # std::process::Command::new("mkfifo").arg(&path).status()?;
/// // The receiver first: a sender needs one.
/// let mut receiver = pipe::OpenOptions::new().open_receiver(&path)?;
/// let mut sender = pipe::OpenOptions::new().open_sender(&path)?;
/// sender.write_u8(7).await?;
/// assert_eq!(receiver.read_u8().await?, 7);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    read_write: bool,
    unchecked: bool,
}

impl OpenOptions {
    /// Creates options to open one direction, of a file that must be a pipe.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let receiver = pipe::OpenOptions::new().open_receiver("/run/commands")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Sets whether both directions are opened, of which one is used.
    ///
    /// A sender then needs no receiver, and a receiver does not see the end when the last sender leaves.
    /// The default is `false`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// // Works without a receiver.
    /// let sender = pipe::OpenOptions::new().read_write(true).open_sender("/run/commands")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn read_write(&mut self, value: bool) -> &mut Self {
        self.read_write = value;
        self
    }

    /// Sets whether to omit the check that the file is a pipe.
    ///
    /// The default is `false`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let receiver = pipe::OpenOptions::new().unchecked(true).open_receiver("/run/commands")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn unchecked(&mut self, value: bool) -> &mut Self {
        self.unchecked = value;
        self
    }

    /// Opens the end of a named pipe to read from.
    ///
    /// There need be no sender yet: reads wait for one.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the file is not a pipe; any error of `open(2)`; or
    /// that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let receiver = pipe::OpenOptions::new().open_receiver("/run/commands")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn open_receiver<P: AsRef<Path>>(&self, path: P) -> io::Result<Receiver> {
        let file = self.open(path.as_ref(), fs::OpenOptions::new().read(true))?;
        if self.unchecked {
            Receiver::from_file_unchecked(file)
        } else {
            Receiver::from_file(file)
        }
    }

    /// Opens the end of a named pipe to write to.
    ///
    /// There must be a receiver, unless [`read_write`](Self::read_write) is set (Linux and Android).
    ///
    /// # Errors
    /// `ENXIO` if there is no receiver; [`InvalidInput`](io::ErrorKind::InvalidInput) if the file is not a
    /// pipe; any other error of `open(2)`; or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let sender = pipe::OpenOptions::new().open_sender("/run/commands")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
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

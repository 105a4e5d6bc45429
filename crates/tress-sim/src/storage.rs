//! The disk of a host, as a test sees it.

use crate::disk::{self, DiskConfig, View};
use std::io;

/// The disk of a host, to look at, to prepare and to harm.
///
/// Returned by [`Sim::disk`](crate::Sim::disk).
///
/// # Examples
/// ```
/// use tress_sim::Builder;
///
/// let mut sim = Builder::new().build();
/// sim.client("host", async {
///     let name = std::fs::read_to_string("/etc/name")?;
///     std::fs::write("/tmp/greeting", format!("hello {name}"))?;
///     Ok(())
/// });
/// sim.disk("host").write("/etc/name", b"ada")?;
/// sim.run()?;
/// assert_eq!(sim.disk("host").read("/tmp/greeting").as_deref(), Some(&b"hello ada"[..]));
/// // It was not synced.
/// assert_eq!(sim.disk("host").read_durable("/tmp/greeting"), None);
/// # Ok::<(), tress_sim::Error>(())
/// ```
#[derive(Debug)]
pub struct Disk<'a>(&'a mut disk::Disk);

impl<'a> Disk<'a> {
    pub(crate) fn new(disk: &'a mut disk::Disk) -> Disk<'a> {
        Disk(disk)
    }

    /// Returns what a file holds, as programs of the host would read it. `None` if there is no such file.
    pub fn read(&mut self, path: &str) -> Option<Vec<u8>> {
        self.0.read_file(path, View::Memory)
    }

    /// Returns what of a file is certain to survive a loss of power. `None` if there is no such file then.
    pub fn read_durable(&mut self, path: &str) -> Option<Vec<u8>> {
        self.0.read_file(path, View::Durable)
    }

    /// Makes a file with that content, and the directories that it is in. All of it is durable.
    ///
    /// # Errors
    /// A part of the path is not a directory, or its end is one.
    pub fn write(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let written = self.0.write_file(path, bytes);
        written.map_err(io::Error::from_raw_os_error)
    }

    /// Removes everything, as if the disk had been replaced by a new one.
    pub fn wipe(&mut self) {
        self.0.wipe();
    }

    /// Gives access to what the disk is like, and to what goes wrong with it.
    pub fn config(&mut self) -> &mut DiskConfig {
        &mut self.0.config
    }
}

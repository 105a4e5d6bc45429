use super::{Child, State};
use std::os::windows::io::{AsRawHandle, RawHandle};

impl Child {
    /// Returns the handle of the process, or `None` once it has been waited for.
    ///
    /// The handle is owned by this `Child`: do not close it.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let child = tress::process::Command::new("hostname").spawn()?;
    /// assert!(child.raw_handle().is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn raw_handle(&self) -> Option<RawHandle> {
        match &self.state {
            State::Running(reaper) => reaper.as_ref().map(|reaper| reaper.child.as_raw_handle()),
            State::Ended(_) => None,
        }
    }
}

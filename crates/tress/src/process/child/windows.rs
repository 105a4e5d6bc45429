use super::{Child, State};
use std::os::windows::io::{AsRawHandle, RawHandle};

impl Child {
    /// The handle of the process, which stays with this type. `None` once it was waited for.
    pub fn raw_handle(&self) -> Option<RawHandle> {
        match &self.state {
            State::Running(reaper) => reaper.as_ref().map(|reaper| reaper.child.as_raw_handle()),
            State::Ended(_) => None,
        }
    }
}

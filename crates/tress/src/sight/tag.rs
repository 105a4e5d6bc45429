use super::{Site, WaitKind, gives_up, is_on, waits_if};
use std::panic::Location;

/// What is known of a resource: what those that wait for it wait for, and where it was created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tag {
    pub(crate) kind: WaitKind,
    pub(crate) site: Site,
}

impl Tag {
    #[inline(always)]
    #[track_caller]
    pub(crate) const fn new(kind: WaitKind) -> Tag {
        Tag {
            kind,
            site: Location::caller(),
        }
    }

    /// Notes that the running task waits for the resource at that address, and whether it `begins` to wait.
    #[inline(always)]
    pub(crate) fn waits(&self, begins: bool, resource: u64) {
        if is_on() {
            self.note_wait(begins, resource);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_wait(&self, begins: bool, resource: u64) {
        waits_if(begins, self.kind, resource, Some(self.site));
    }

    /// Notes that a wait for the resource at that address, if the poll that is under way has noted one, is given up.
    #[inline(always)]
    pub(crate) fn gives_up(&self, resource: u64) {
        gives_up(self.kind, resource);
    }
}

use super::{Samples, Shared};
use crate::sys::Mutex;
use std::fmt;
use std::io;
use std::sync::{Arc, Weak};

/// A part of a runtime's dump and metrics that another crate provides: one that builds on the runtime and has more to
/// tell than tasks.
///
/// Both functions are called from any thread, even while the process is stuck: they must not wait for a lock that a
/// stuck task may hold. See [`Handle::add_section`](crate::runtime::Handle::add_section) for an example.
pub trait Section: Send + Sync {
    /// Returns the heading.
    fn name(&self) -> &str;

    /// Writes what there is to say, one line for each thing.
    ///
    /// # Errors
    /// Any error of the writer.
    fn dump(&self, out: &mut dyn io::Write) -> io::Result<()>;

    /// Adds numbers to the metrics. Default: none.
    fn metrics(&self, out: &mut Samples) {
        let _ = out;
    }
}

/// The sections of a runtime.
#[derive(Default)]
pub(crate) struct Sections(Mutex<Vec<Arc<dyn Section>>>);

impl Sections {
    /// Returns all of them, or `None` if the lock cannot be had soon.
    pub(crate) fn all(&self) -> Option<Vec<Arc<dyn Section>>> {
        Some(self.0.lock_soon()?.clone())
    }
}

/// Keeps a [`Section`] in its runtime's dump and metrics until it is dropped.
#[must_use = "the section is taken out when the guard is dropped"]
pub struct SectionGuard {
    runtime: Weak<Shared>,
    section: Arc<dyn Section>,
}

impl SectionGuard {
    pub(crate) fn add(shared: &Arc<Shared>, section: Arc<dyn Section>) -> SectionGuard {
        shared.sections.0.lock().push(section.clone());
        SectionGuard {
            runtime: Arc::downgrade(shared),
            section,
        }
    }
}

impl Drop for SectionGuard {
    fn drop(&mut self) {
        let Some(shared) = self.runtime.upgrade() else {
            return;
        };
        let mut sections = shared.sections.0.lock();
        // If several are the same, any of them will do.
        let same = |other: &Arc<dyn Section>| Arc::ptr_eq(other, &self.section);
        let removed = sections
            .iter()
            .position(same)
            .map(|at| sections.swap_remove(at));
        // Its destructor is foreign code: not under the lock.
        drop(sections);
        drop(removed);
    }
}

impl fmt::Debug for SectionGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SectionGuard")
            .field(&self.section.name())
            .finish()
    }
}

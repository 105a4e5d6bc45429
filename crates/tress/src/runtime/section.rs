use super::{Samples, Shared};
use crate::sys::Mutex;
use std::fmt;
use std::io;
use std::sync::{Arc, Weak};

/// A part of a runtime's dump and metrics that another crate provides.
///
/// It is for crates that build on the runtime and have more to report than tasks.
///
/// Its methods are called from any thread, even while the process is stuck: they must not wait for a lock
/// that a stuck task may hold.
///
/// # Examples
/// ```
/// use std::io::{self, Write};
/// use tress::trace::Section;
///
/// struct Build;
///
/// impl Section for Build {
///     fn name(&self) -> &str {
///         "build"
///     }
///
///     fn dump(&self, out: &mut dyn Write) -> io::Result<()> {
///         writeln!(out, "version {}", env!("CARGO_PKG_VERSION"))
///     }
/// }
///
/// let rt = tress::runtime::Runtime::new()?;
/// let _section = rt.handle().add_section(std::sync::Arc::new(Build));
/// let mut dump = Vec::new();
/// rt.handle().debug_dump(&mut dump)?;
/// assert!(String::from_utf8(dump).unwrap().contains("version "));
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Section: Send + Sync {
    /// Returns the heading of the section.
    fn name(&self) -> &str;

    /// Writes the state of the section, one line for each thing.
    ///
    /// # Errors
    /// Any error of the writer.
    fn dump(&self, out: &mut dyn io::Write) -> io::Result<()>;

    /// Adds numbers to the metrics.
    ///
    /// The default implementation adds none.
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

/// A guard that keeps a [`Section`] in the dump and the metrics of its runtime until it is dropped; returned
/// by [`Handle::add_section`](crate::runtime::Handle::add_section).
///
/// # Examples
/// ```
/// use std::io::{self, Write};
/// use std::sync::Arc;
/// use tress::trace::{Section, SectionGuard};
///
/// struct Orders;
///
/// impl Section for Orders {
///     fn name(&self) -> &str {
///         "orders"
///     }
///
///     fn dump(&self, out: &mut dyn Write) -> io::Result<()> {
///         writeln!(out, "none yet")
///     }
/// }
///
/// let rt = tress::runtime::Runtime::new()?;
/// let guard: SectionGuard = rt.handle().add_section(Arc::new(Orders));
/// drop(guard);
/// let mut dump = Vec::new();
/// rt.handle().debug_dump(&mut dump)?;
/// assert!(!String::from_utf8(dump).unwrap().contains("none yet"));
/// # Ok::<(), std::io::Error>(())
/// ```
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

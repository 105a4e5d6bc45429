use super::Name;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;

/// What stands for a task in an event ring: its name if the runtime's table has that, else where it was
/// spawned. It outlives the task.
#[derive(Clone, Copy)]
pub(crate) struct Label(u64);

const NAMED: usize = 1;

impl Label {
    /// The name is its table's, which keeps it.
    pub(crate) fn named(name: &Arc<Name>) -> Label {
        const { assert!(align_of::<Name>() > NAMED) };
        Label((Arc::as_ptr(name).expose_provenance() | NAMED) as u64)
    }

    pub(crate) fn spawned_at(location: &'static Location<'static>) -> Label {
        const { assert!(align_of::<Location<'_>>() > NAMED) };
        Label(ptr::from_ref(location).expose_provenance() as u64)
    }

    pub(crate) fn word(self) -> u64 {
        self.0
    }

    /// What a label's word says; nothing of 0.
    ///
    /// # Safety
    /// The word is 0 or a label's, and the table of names that the task was named in is alive.
    pub(crate) unsafe fn read<'a>(
        word: u64,
    ) -> (Option<&'a str>, Option<&'static Location<'static>>) {
        let address = word as usize & !NAMED;
        if address == 0 {
            return (None, None);
        }
        if word as usize & NAMED != 0 {
            // SAFETY: a listed name, which its table keeps.
            let name = unsafe { &*ptr::with_exposed_provenance::<Name>(address) };
            (Some(name.text()), None)
        } else {
            // SAFETY: the address of a static location.
            let location = unsafe { &*ptr::with_exposed_provenance::<Location<'static>>(address) };
            (None, Some(location))
        }
    }
}

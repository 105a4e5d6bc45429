use std::fmt;
use std::num::NonZeroU64;

/// A number that no other task of this process has had or will have.
///
/// # Examples
/// ```
/// let rt = tress::runtime::Runtime::new()?;
/// rt.block_on(async {
///     let handle = tress::spawn(async { tress::task::id() });
///     let id = handle.id();
///     assert_eq!(handle.await.unwrap(), id);
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(NonZeroU64);

impl Id {
    pub(crate) fn get(self) -> u64 {
        self.0.get()
    }

    pub(crate) fn from_raw(number: u64) -> Option<Id> {
        NonZeroU64::new(number).map(Id)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.0)
    }
}

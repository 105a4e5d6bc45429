//! Operations that the kernel completes by itself: io_uring, where it exists.

mod absent;
use absent as imp;

pub(crate) use imp::Ring;

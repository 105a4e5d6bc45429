//! What can be registered: descriptors on Unix, mio's sources elsewhere.

#[cfg(unix)]
mod descriptor;
#[cfg(unix)]
use descriptor as imp;

#[cfg(not(unix))]
mod object;
#[cfg(not(unix))]
use object as imp;

pub use imp::Source;
pub(crate) use imp::{Handle, LINGERS, register};

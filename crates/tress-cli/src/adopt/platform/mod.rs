//! What systems do differently: groups of processes, locks of files, the wish to end.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::{claim, end_group, own_group, until_asked_to_end};
#[cfg(unix)]
pub(crate) use unix::{claim, end_group, own_group, until_asked_to_end};

//! The twin for models: sight is off.

use super::{Site, WaitKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Pending,
    Finished,
}

#[inline(always)]
pub(crate) fn is_on() -> bool {
    false
}

pub(crate) fn watch<R>(_: u64, poll: impl FnOnce() -> (R, Stage)) -> R {
    poll().0
}

#[inline(always)]
pub(crate) fn waits(_: WaitKind, _: u64, _: Option<Site>) {}

#[inline(always)]
pub(crate) fn waits_longer(_: WaitKind, _: u64, _: Option<Site>) {}

#[inline(always)]
pub(crate) fn acquired(_: u64) {}

#[inline(always)]
pub(crate) fn released(_: u64) {}

#[inline(always)]
pub(crate) fn emptied(_: u64) {}

#[inline(always)]
pub(crate) fn grown(_: WaitKind, _: u64, _: Option<Site>, _: usize) {}

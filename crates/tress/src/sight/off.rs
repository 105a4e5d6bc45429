//! The twin for models: sight is off.

use super::{Site, WaitKind};
use std::task::Poll;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Pending,
    Yielded,
    Finished,
    Traced,
}

#[inline(always)]
pub(crate) fn is_on() -> bool {
    false
}

pub(crate) fn watch<R>(_: u64, poll: impl FnOnce() -> (R, Stage)) -> R {
    poll().0
}

pub(crate) fn watch_blocking<T>(poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
    poll()
}

#[inline(always)]
pub(crate) fn as_root<F, N>(future: F, _: N, _: Site) -> F {
    future
}

#[inline(always)]
pub(crate) fn ended(_: u64) {}

#[inline(always)]
pub(crate) fn waits(_: WaitKind, _: u64, _: Option<Site>) {}

#[inline(always)]
pub(crate) fn waits_longer(_: WaitKind, _: u64, _: Option<Site>) {}

#[inline(always)]
pub(crate) fn waits_if(_: bool, _: WaitKind, _: u64, _: Option<Site>) {}

#[inline(always)]
pub(crate) fn gives_up(_: WaitKind, _: u64) {}

#[inline(always)]
pub(crate) fn served(_: u64) {}

#[inline(always)]
pub(crate) fn waits_for_more(_: usize) {}

#[inline(always)]
pub(crate) fn acquired(_: u64) {}

#[inline(always)]
pub(crate) fn acquired_alone(_: u64) {}

#[inline(always)]
pub(crate) fn released(_: u64) {}

#[inline(always)]
pub(crate) fn forget_lock(_: u64) {}

#[inline(always)]
pub(crate) fn emptied(_: u64) {}

#[inline(always)]
pub(crate) fn grown(_: WaitKind, _: u64, _: Option<Site>, _: usize) {}

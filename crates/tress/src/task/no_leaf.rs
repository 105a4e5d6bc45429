//! The twin of `leaf.rs` without the feature `taskdump`: nothing is ever traced.

use super::coop;
use crate::identity::Id;
use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

#[inline(always)]
pub(crate) fn is_tracing() -> bool {
    false
}

#[inline(always)]
pub(super) fn reached(_: &mut Context<'_>, _: *const c_void) -> bool {
    false
}

/// Whether a poll may be traced.
pub(super) const MAY_TRACE: bool = false;

/// Polls a task. Returns whether it is finished, and false.
#[inline(always)]
pub(super) fn poll_task(_: Id, poll: impl FnOnce() -> bool) -> (bool, bool) {
    (coop::with_fresh_budget(poll), false)
}

#[inline(always)]
pub(super) fn finished(_: Id) {}

/// A task that blocks in place.
pub(crate) struct InPlace;

impl InPlace {
    #[inline(always)]
    pub(crate) fn enter() -> InPlace {
        InPlace
    }
}

#[inline(always)]
pub(super) fn poll_root<F: Future>(future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    future.poll(cx)
}

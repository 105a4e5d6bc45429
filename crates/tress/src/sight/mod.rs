//! What tasks wait for, and which task holds what they wait for.
//!
//! While sight is off, each place that tells something here looks at one global flag. While it is on,
//!
//! - a leaf operation that returns `Pending` notes what it waits for ([`waits`]). What a poll has noted is published
//!   under the task's id when the poll ends, and replaced by what its next poll notes;
//! - a lock notes which task has acquired it ([`acquired`]), and that it was released ([`released`]);
//! - a queue notes that it has grown ([`grown`]).
//!
//! This module knows nothing of the runtime: tasks are numbers and resources are addresses. `runtime/sight` puts them
//! together with the live tasks, and finds out what is wrong.
//!
//! The tables are the process's, since tasks wait for what tasks of other runtimes hold. They are split into parts with a
//! lock each. No foreign code runs under such a lock. Each table has room for 1,048,576 entries and leaves out the rest:
//! with an entry of 136 bytes for a task, and 112 for a lock, all of them full take less than 1 GiB.
//!
//! `off.rs` is the twin for models, in which nothing is noted.

#[cfg(not(loom))]
mod holders;
mod kind;
#[cfg(loom)]
mod off;
#[cfg(not(loom))]
mod parts;
#[cfg(not(loom))]
mod queues;
#[cfg(not(loom))]
mod roots;
#[cfg(not(loom))]
mod switch;
mod tag;
#[cfg(not(loom))]
mod waits;

pub use kind::WaitKind;

pub(crate) use tag::Tag;

#[cfg(loom)]
pub(crate) use off::*;
#[cfg(not(loom))]
pub(crate) use {
    holders::{Holders, acquired, acquired_alone, forget_lock, holders_of, released},
    queues::{emptied, grown, grown_queues},
    roots::{as_root, root, roots},
    switch::{Stage, Switch, is_on},
    waits::{
        Wait, Waits, each_waiting, ended, gives_up, served, waits, waits_for_more, waits_if,
        waits_longer, waits_of, watch, watch_blocking,
    },
};

use std::panic::Location;

/// Where something was created or called.
pub(crate) type Site = &'static Location<'static>;

/// Returns the address of a resource, by which it is known here.
#[inline(always)]
pub(crate) fn address<T: ?Sized>(of: &T) -> u64 {
    std::ptr::from_ref(of).cast::<()>() as u64
}

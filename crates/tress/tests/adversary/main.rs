//! Programs that use the runtime as an adversary would: values that panic or re-enter when they are woken,
//! cloned or dropped, guards that are forgotten, resources that cannot be had, operations that are dropped
//! half-way. Each of them once crashed, hung or lost something. CONTRIBUTING.md has the checklist they
//! come from.

mod child;

#[cfg(feature = "net")]
mod buffers;
mod channels;
mod clocks;
#[cfg(all(feature = "coroutine", unix))]
mod coroutine_scopes;
#[cfg(all(feature = "coroutine", unix))]
mod coroutines;
mod pipes;
#[cfg(feature = "net")]
mod streams;
mod values;
mod wakers;
mod workers;

//! What attaches to a running program that serves its console: `tress doctor`, `tress top`, `tress trace`.

mod args;
mod client;
mod doctor;
pub(crate) mod model;
mod top;
mod trace;

#[cfg(feature = "tokio-console")]
pub(crate) use args::Target;
pub(crate) use args::{Doctor, Top, Trace};
#[cfg(feature = "tokio-console")]
pub(crate) use client::{Client, Unreachable};
pub(crate) use doctor::run as doctor;
pub(crate) use top::run as top;
pub(crate) use trace::run as trace;

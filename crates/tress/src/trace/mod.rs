//! What a runtime is doing: events, dumps, slow polls.
//!
//! Nothing here is on unless asked for, and while it is off a worker pays one look at a flag per tick.

mod chrome;
mod event;
#[doc(hidden)]
pub mod note;
pub mod perfetto;
mod record;
mod ring;
mod spawns;
mod store;
mod timeline;
mod tracer;

#[cfg(all(feature = "sight", not(loom)))]
pub use crate::runtime::flight::Spread;
pub use crate::runtime::flight::{FlightRecorder, Lane, LaneKind, Lanes};
#[cfg(all(feature = "sight", not(loom)))]
pub use crate::runtime::living::live_runtimes;
pub use crate::runtime::section::{Section, SectionGuard};
#[cfg(all(feature = "sight", not(loom)))]
pub use crate::runtime::sight::{
    Finding, FindingKind, Link, ResourceView, Severity, Sight, SiteView, Snapshot, TaskView,
    Thresholds, WaitView, WorkerView,
};
pub use crate::runtime::trace::Trace;
pub use crate::scheduler::slow_poll::{Backtrace, SlowPoll};
pub use crate::sight::WaitKind;
pub use event::{Event, EventKind};

/// Notes what tasks wait for, until the result is dropped.
#[cfg(not(loom))]
#[doc(hidden)]
#[must_use = "nothing is noted once this is dropped"]
pub fn keep_sight_on() -> impl Send + Sync + std::fmt::Debug + use<> {
    crate::sight::Switch::on()
}

pub(crate) use chrome::write as write_chrome;
pub(crate) use event::What;
pub(crate) use record::{Pairs, Record};
pub(crate) use spawns::Spawns;
pub(crate) use store::{Kept, Limits, Store};
pub(crate) use timeline::{OnCore, Sample, Timeline, name_of};
pub(crate) use tracer::{Config, Tracer, Track};

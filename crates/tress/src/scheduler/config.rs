//! What the builder tells a scheduler.

use super::slow_poll::SlowPolls;
use super::worker::MAX_LIFO_STREAK;
use crate::sys::guarded;
use crate::trace::Tracer;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// A user's function, called by the runtime's threads.
pub(crate) type Hook = Arc<dyn Fn() + Send + Sync>;

/// Calls a user's hook. A panic has been reported by the panic hook, and the thread goes on.
pub(super) fn call(hook: &Option<Hook>) {
    if let Some(hook) = hook {
        guarded(|| hook());
    }
}

/// The options of a scheduler and of its threads, as the builder's methods set them.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) stealing: bool,
    pub(crate) lifo_limit: u8,
    pub(crate) global_interval: Option<u32>,
    pub(crate) event_interval: Option<u32>,
    pub(crate) spin: Duration,
    pub(crate) thread_name: Arc<dyn Fn() -> String + Send + Sync>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_stop: Option<Hook>,
    pub(crate) on_park: Option<Hook>,
    pub(crate) on_unpark: Option<Hook>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            stealing: true,
            lifo_limit: MAX_LIFO_STREAK,
            global_interval: None,
            event_interval: None,
            spin: Duration::from_micros(50),
            thread_name: Arc::new(|| "tress-worker".into()),
            stack_size: None,
            on_start: None,
            on_stop: None,
            on_park: None,
            on_unpark: None,
        }
    }
}

/// The options, and what is settled when the runtime is built. Derefs to the options.
pub(crate) struct Config {
    pub(crate) options: Options,
    pub(crate) workers: usize,
    /// Number of CPUs that this process may use.
    pub(crate) cores: usize,
    pub(crate) tracer: Arc<Tracer>,
    pub(crate) slow_polls: Option<SlowPolls>,
}

impl Deref for Config {
    type Target = Options;

    #[inline(always)]
    fn deref(&self) -> &Options {
        &self.options
    }
}

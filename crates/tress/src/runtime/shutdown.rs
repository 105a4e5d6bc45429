//! The end of a runtime. The order is documented at `Runtime::shutdown_timeout`.

use super::Shared;
use super::diagnostics;
use crate::context::{self, Enter};
use crate::sys::clock;
use crate::{task, words};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// A report of what had not stopped when the time of a shutdown was up.
///
/// It is returned by [`Runtime::shutdown_timeout`](super::Runtime::shutdown_timeout).
///
/// # Examples
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
///
/// let rt = tress::runtime::Runtime::new()?;
/// let (release, released) = mpsc::channel::<()>();
/// let (tell, told) = mpsc::channel();
/// rt.spawn_blocking(move || {
///     tell.send(()).unwrap();
///     released.recv()
/// });
/// told.recv().unwrap();
///
/// let report = rt.shutdown_timeout(Duration::from_millis(1));
/// assert_eq!(report.blocking, 1);
/// println!("{report}");
/// # release.send(()).unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Tasks that were still being polled, or waited for a task that was.
    pub tasks: Vec<StuckTask>,
    /// Threads of the blocking pool that had not ended: most run a closure. If the timeout was zero, those that had
    /// nothing to do count too.
    pub blocking: usize,
    /// I/O operations that the kernel still had. Their buffers stay until it is done with them. If a thread outside
    /// of the runtime waits for one, a thread of the runtime stays until then to tell it.
    pub operations: usize,
}

impl ShutdownReport {
    /// Returns true if everything stopped in time.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = tress::runtime::Runtime::new()?;
    /// rt.spawn(std::future::pending::<()>());
    /// assert!(rt.shutdown_timeout(Duration::from_secs(60)).is_clean());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_clean(&self) -> bool {
        self.tasks.is_empty() && self.blocking == 0 && self.operations == 0
    }
}

impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("everything stopped");
        }
        write!(
            f,
            "{} tasks, {} blocking closures and {} I/O operations did not stop in time",
            self.tasks.len(),
            self.blocking,
            self.operations
        )?;
        for task in &self.tasks {
            write!(f, "\n  {task}")?;
        }
        Ok(())
    }
}

/// A task that did not stop in time, of a [`ShutdownReport`].
///
/// # Examples
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
///
/// let rt = tress::runtime::Runtime::new()?;
/// let (release, released) = mpsc::channel::<()>();
/// let (tell, told) = mpsc::channel();
/// let blocks = async move {
///     tell.send(()).unwrap();
///     released.recv().unwrap(); // blocks its worker
/// };
/// tress::task::Builder::new().name("stuck").spawn_on(blocks, rt.handle())?;
/// told.recv().unwrap();
///
/// let report = rt.shutdown_timeout(Duration::from_millis(1));
/// assert_eq!(report.tasks[0].name.as_deref(), Some("stuck"));
/// assert!(report.tasks[0].running);
/// # release.send(()).unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StuckTask {
    /// Its id.
    pub id: task::Id,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where it was spawned.
    pub spawned_at: &'static Location<'static>,
    /// True if it was being polled, false if it waited for its turn to be dropped.
    pub running: bool,
}

impl fmt::Display for StuckTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().unwrap_or("unnamed");
        let doing = if self.running { "running" } else { "waiting" };
        write!(
            f,
            "task {} ({name}), {doing}, spawned at {}",
            self.id, self.spawned_at
        )
    }
}

/// Shuts down, waiting for at most `timeout`, or for ever with `None`.
// D-SYS-03
pub(super) fn run(shared: &Arc<Shared>, timeout: Option<Duration>) -> ShutdownReport {
    let deadline = timeout.and_then(|t| clock::now().checked_add(t));
    // The futures dropped here see the runtime they lived in.
    let _entered = context::Within::enter(shared.clone());
    #[cfg(all(feature = "extra", not(loom)))]
    shared.views.close();
    let stopped = shared.scheduler.stop(shared, deadline);
    let left = || deadline.map(|at| at.saturating_duration_since(clock::now()));
    let operations = shared
        .rests()
        .map(|rest| rest.io.close(left().unwrap_or(Duration::MAX)))
        .sum();
    if stopped && operations == 0 {
        // With operations left it could take for ever: a thread ends only after those it handed over.
        shared.scheduler.join_threads();
    }
    let pool = shared.blocking.shutdown(left());
    let tasks = shared
        .live_tasks()
        .iter()
        .map(|task| StuckTask {
            id: task.header().id(),
            name: task.header().name().map(str::to_owned),
            spawned_at: task.header().location(),
            running: task.is_running(),
        })
        .collect();
    shared.end_flight();
    if let Some(path) = &shared.trace_file {
        diagnostics::write_trace(shared, path);
    }
    #[cfg(all(feature = "sight", not(loom)))]
    shared.stop_sight();
    ShutdownReport {
        tasks,
        blocking: pool.still_running,
        operations,
    }
}

pub(super) fn on_drop(shared: &Arc<Shared>) {
    if shared.scheduler.frame().is_closing() {
        return;
    }
    let driving = context::with(|cx| cx.enter() != Enter::No);
    if driving && !std::thread::panicking() {
        // Waiting here would stall the tasks of this thread, possibly for ever.
        run(shared, Some(Duration::ZERO));
        std::panic::panic_any(words::DROPPED);
    }
    run(shared, if driving { Some(Duration::ZERO) } else { None });
}

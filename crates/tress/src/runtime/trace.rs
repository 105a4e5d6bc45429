//! The handle to a runtime's record.

use super::Shared;
use crate::sys::clock::Scale;
use crate::trace::{Event, FlightRecorder, Lanes, Sample, Timeline, Tracer, write_chrome};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A record of what the workers of a runtime do; returned by
/// [`Handle::trace`](crate::runtime::Handle::trace).
///
/// Each worker writes to a ring of its own: polls, what they made ready, sleeps, steals, I/O and timers. The newest
/// events overwrite the oldest. As many polls are recorded as take a hundredth of the time, and all if they take
/// eight microseconds or more; [`Builder::trace_every`] fixes the number.
///
/// # Examples
/// ```
/// let rt = tress::runtime::Runtime::new()?;
/// let trace = rt.handle().trace();
/// trace.start();
/// rt.block_on(async {
///     let task = tress::task::Builder::new().name("adder").spawn(async { 1 + 1 }).unwrap();
///     task.await.unwrap();
/// });
/// trace.stop();
/// // For ui.perfetto.dev or chrome://tracing.
/// let mut json = Vec::new();
/// trace.write_chrome(&mut json)?;
/// assert!(json.starts_with(b"{\"displayTimeUnit\""));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// [`Builder::trace_every`]: crate::runtime::Builder::trace_every
#[derive(Clone)]
pub struct Trace {
    shared: Arc<Shared>,
}

impl Trace {
    pub(crate) fn new(shared: Arc<Shared>) -> Trace {
        Trace { shared }
    }

    fn tracer(&self) -> &Tracer {
        &self.shared.config().tracer
    }

    /// Begins to record.
    ///
    /// The rings are made when this is first called. Workers that are awake begin at their next tick; those
    /// that sleep, when they wake up.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// rt.handle().trace().start();
    /// assert!(rt.handle().trace().is_on());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn start(&self) {
        self.tracer().start();
    }

    /// Stops recording.
    ///
    /// What was recorded stays.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let trace = rt.handle().trace();
    /// trace.start();
    /// trace.stop();
    /// assert!(!trace.is_on());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stop(&self) {
        self.tracer().stop();
    }

    /// Returns true while it is recording, for this trace: the [flight recorder](Trace::recorder) has a switch of its own.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().trace_events(1024).build()?;
    /// assert!(rt.handle().trace().is_on());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_on(&self) -> bool {
        self.tracer().is_on()
    }

    /// Returns the events in the rings: track by track, each in the order of time.
    ///
    /// Workers go on meanwhile; events that they overwrite are left out.
    ///
    /// # Examples
    /// ```
    /// use tress::trace::EventKind;
    ///
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .trace_events(1024)
    ///     .trace_every(1)
    ///     .build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// let trace = rt.handle().trace();
    /// drop(rt);
    /// let polled = |kind: &EventKind| matches!(kind, EventKind::Poll { .. });
    /// assert!(trace.events().iter().any(|event| polled(&event.kind)));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn events(&self) -> Vec<Event> {
        // SAFETY: the names live in the runtime, which we hold.
        unsafe { self.tracer().events() }
    }

    /// Returns the flight recorder, which keeps the last 30 seconds.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let recorder = rt.handle().trace().recorder();
    /// recorder.start()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// recorder.write(&mut std::io::sink())?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn recorder(&self) -> FlightRecorder {
        FlightRecorder::new(self.shared.clone())
    }

    /// Returns what each worker did after `from`, as far as the flight recorder has it: for a picture that is drawn as it
    /// happens.
    ///
    /// There are at most 500 slices for each worker, the newest; none if the recorder was never on. The time is that of
    /// [`Event::at`]; each answer says where the next one begins.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = tress::runtime::Builder::new_multi_thread().flight_recorder(true).build()?;
    /// let trace = rt.handle().trace();
    /// let first = trace.lanes(Duration::ZERO);
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// let second = trace.lanes(first.to);
    /// assert_eq!(second.from, first.to);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn lanes(&self, from: Duration) -> Lanes {
        self.shared.lanes(from)
    }

    /// Writes the events in the rings as a trace that Perfetto's UI and Chrome's `about:tracing` can open.
    ///
    /// There is a track for each worker, and one for the monitor if it saw anything: polls as slices named after
    /// their task, or after where that was spawned; sleeps as slices; what was made ready, steals, I/O and timers as
    /// instants. Each event is a separate write, so a file should be wrapped in a [`BufWriter`](std::io::BufWriter).
    ///
    /// # Errors
    /// Any error of the writer.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().trace_events(1024).build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// let mut json = Vec::new();
    /// rt.handle().trace().write_chrome(&mut json)?;
    /// assert!(json.starts_with(b"{"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_chrome(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let workers = self.shared.config().workers;
        let name = self.shared.name.as_deref().unwrap_or("tress");
        write_chrome(out, name, workers, &self.events())
    }

    /// Writes the events in the rings in Perfetto's own format, `TrackEvent`, which ui.perfetto.dev opens.
    ///
    /// It has what [`write_chrome`](Trace::write_chrome) writes, in less than half of the bytes, and besides: arrows from
    /// what made a task ready to the poll that followed, where every poll is recorded; counters of tasks in queues,
    /// tasks alive and closures that wait for a thread of the blocking pool; and the places at which tasks were spawned.
    ///
    /// Each event is a separate write, so a file should be wrapped in a [`BufWriter`](std::io::BufWriter).
    ///
    /// # Errors
    /// Any error of the writer.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().trace_events(1024).build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// let mut trace = Vec::new();
    /// rt.handle().trace().write_perfetto(&mut trace)?;
    /// assert!(!trace.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_perfetto(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let tracer = self.tracer();
        let name = self.shared.name.as_deref().unwrap_or("tress");
        let tracks = tracer.records();
        let mut timeline = Timeline::begin(out, name, tracer.workers(), Scale::measure())?;
        for (index, records) in tracks.iter().enumerate() {
            // SAFETY: the names live in the runtime, which we hold.
            unsafe { timeline.records(index, records)? };
        }
        timeline.sample(&self.shared.sample())
    }
}

impl Shared {
    /// Returns what the counters of a trace have now.
    pub(crate) fn sample(&self) -> Sample {
        let scheduler = &self.scheduler;
        let local = (0..scheduler.workers()).map(|worker| scheduler.queue_depth(worker));
        Sample {
            at: self.config().tracer.clock.now(),
            queued: (scheduler.frame().inject.len() + local.sum::<usize>()) as u64,
            alive: scheduler.alive(),
            blocking: self.blocking.metrics().queued as u64,
            cores: Vec::new(),
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("runtime", &self.shared.id)
            .field("is_on", &self.is_on())
            .finish()
    }
}

//! What the builder and the environment say about diagnostics.

#[cfg(all(unix, not(loom)))]
mod on_signal;

use super::Shared;
use super::builder::{Builder, invalid};
use super::flight::Triggers;
use super::trace::Trace;
use crate::scheduler::slow_poll::{Callback, SlowPoll, SlowPolls};
use crate::sys::atomic::Ordering;
use crate::sys::env;
use crate::sys::plain::AtomicUsize;
use crate::trace;
use std::env::VarError;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Number of events that a worker's ring has room for, unless the builder sets another.
const RING_SIZE: usize = 16_384;
const MAX_RING_SIZE: usize = 1 << 24;

/// What the builder was told. The environment may set the rest.
#[derive(Clone, Default)]
pub(super) struct Diagnostics {
    events: Option<usize>,
    every: Option<u32>,
    slow_poll: Option<Duration>,
    on_slow_poll: Option<Callback>,
    slow_poll_backtrace: bool,
    recorder: Option<bool>,
    triggers: Triggers,
    #[cfg(all(feature = "sight", not(loom)))]
    pub(super) sight: super::sight::Options,
}

impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diagnostics")
            .field("trace_events", &self.events)
            .field("trace_every", &self.every)
            .field("slow_poll_threshold", &self.slow_poll)
            .field("slow_poll_backtrace", &self.slow_poll_backtrace)
            .field("flight_recorder", &self.recorder)
            .field("triggers", &self.triggers)
            .finish_non_exhaustive()
    }
}

/// What the builder and the environment say together.
pub(super) struct Resolved {
    events: Option<usize>,
    every: Option<u32>,
    /// Where the trace goes when the runtime ends.
    pub(super) trace_file: Option<PathBuf>,
    pub(super) slow_polls: Option<SlowPolls>,
    /// The signal at which the runtime is dumped.
    dump: Option<i32>,
    /// The flight recorder is on from the start.
    recorder: bool,
    pub(super) triggers: Triggers,
    /// The signal at which the flight recorder writes a file.
    record: Option<i32>,
    #[cfg(all(feature = "sight", not(loom)))]
    sight: bool,
}

impl Builder {
    /// Records what the workers do from the start, into a ring of the given number of events for each worker.
    ///
    /// The number is at most 16,777,216; 0 turns it off. Default: off, unless the environment variable
    /// `TRESS_TRACE` names a file for the trace to be written to when the runtime ends; then 16,384.
    ///
    /// [`Handle::trace`](super::Handle::trace) switches it on and off at any time.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().trace_events(1 << 16).build()?;
    /// assert!(rt.handle().trace().is_on());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn trace_events(&mut self, events: usize) -> &mut Self {
        self.diagnostics.events = Some(events);
        self
    }

    /// Records one poll in the given number of polls, at least 1; 1 records all of them.
    ///
    /// Default: adapted so that recording takes about a hundredth of the time.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .trace_events(1 << 16)
    ///     .trace_every(1)
    ///     .build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn trace_every(&mut self, polls: u32) -> &mut Self {
        self.diagnostics.every = Some(polls);
        self
    }

    /// Reports each poll that takes longer than `threshold`, once.
    ///
    /// The report goes to the function given to [`on_slow_poll`](Builder::on_slow_poll), else to standard
    /// error. Default: off, unless the environment variable `TRESS_SLOW_POLL_MS` has a number of milliseconds,
    /// such as `50`, or `50,backtrace` for reports with backtraces.
    ///
    /// A thread looks at every worker at intervals of half that time, but not more often than every millisecond and
    /// at least every five, and sleeps while the workers do. A poll has therefore lasted for the threshold and up to
    /// one interval more when it is reported.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .worker_threads(1)
    ///     .slow_poll_threshold(Duration::from_millis(5))
    ///     .on_slow_poll(move |slow| tell.send(slow.name.clone()).unwrap())
    ///     .build()?;
    /// rt.block_on(async {
    ///     let bad = tress::task::Builder::new().name("bad").spawn(async move {
    ///         // Blocks its worker until it has been reported.
    ///         assert_eq!(told.recv().unwrap().as_deref(), Some("bad"));
    ///     });
    ///     bad.unwrap().await.unwrap();
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn slow_poll_threshold(&mut self, threshold: Duration) -> &mut Self {
        self.diagnostics.slow_poll = Some(threshold);
        self
    }

    /// Sets a function that is called for each slow poll.
    ///
    /// `f` is called on the runtime's monitor thread, which does nothing else meanwhile. It is called only if
    /// there is a [threshold](Builder::slow_poll_threshold).
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .slow_poll_threshold(Duration::from_millis(5))
    ///     .on_slow_poll(move |slow| tell.send(slow.to_string()).unwrap())
    ///     .build()?;
    /// // Blocks its worker until that has been noticed.
    /// let report = rt.block_on(rt.spawn(async move { told.recv().unwrap() })).unwrap();
    /// assert!(report.contains("has kept worker"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_slow_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&SlowPoll) + Send + Sync + 'static,
    {
        self.diagnostics.on_slow_poll = Some(Arc::new(f));
        self
    }

    /// Sets whether reports of slow polls have a backtrace of the poll.
    ///
    /// Default: false.
    ///
    /// On Linux with glibc the worker's thread is sent the signal SIGURG, whose handler notes where it is. That may
    /// interrupt a system call that it is in, as any signal may. Elsewhere there is no backtrace. Names of functions
    /// need the feature `diagnostics`.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .slow_poll_threshold(Duration::from_millis(50))
    ///     .slow_poll_backtrace(true)
    ///     .build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn slow_poll_backtrace(&mut self, yes: bool) -> &mut Self {
        self.diagnostics.slow_poll_backtrace = yes;
        self
    }
}

/// The flight recorder.
impl Builder {
    /// Sets whether the [flight recorder](crate::trace::FlightRecorder) is on from the start.
    ///
    /// Default: off, unless the environment variable `TRESS_RECORDER` is `1`.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().flight_recorder(true).build()?;
    /// assert!(rt.handle().trace().recorder().is_on());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn flight_recorder(&mut self, yes: bool) -> &mut Self {
        self.diagnostics.recorder = Some(yes);
        self
    }

    /// Writes what the flight recorder has to a file in `directory` when a [slow poll](Builder::slow_poll_threshold) is
    /// reported.
    ///
    /// It switches the flight recorder on, unless [`flight_recorder(false)`](Builder::flight_recorder) is said. The files
    /// are in Perfetto's format, and named `tress-PID-RUNTIME-NUMBER-slow-poll.pftrace`. There is at most one every ten
    /// seconds, whatever the reason, and the runtime removes all but its last ten. The directory is made if it is missing.
    /// A file that cannot be written is reported on standard error.
    ///
    /// # Examples
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .slow_poll_threshold(Duration::from_millis(50))
    ///     .record_on_slow_poll("traces")
    ///     .build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn record_on_slow_poll(&mut self, directory: impl Into<PathBuf>) -> &mut Self {
        self.diagnostics.triggers.slow_poll = Some(directory.into());
        self
    }

    /// Writes what the flight recorder has to a file in `directory` when a task panics.
    ///
    /// As for [`record_on_slow_poll`](Builder::record_on_slow_poll), with the reason `panic` in the name.
    ///
    /// # Examples
    /// ```no_run
    /// let rt = tress::runtime::Builder::new_multi_thread().record_on_panic("traces").build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn record_on_panic(&mut self, directory: impl Into<PathBuf>) -> &mut Self {
        self.diagnostics.triggers.panic = Some(directory.into());
        self
    }
}

impl Diagnostics {
    pub(super) fn resolve(&self) -> io::Result<Resolved> {
        if self.every == Some(0) {
            return Err(invalid("trace_every is 0, but must be at least 1".into()));
        }
        if let Some(events) = self.events.filter(|events| *events > MAX_RING_SIZE) {
            return Err(invalid(format!(
                "trace_events is {events}, but at most {MAX_RING_SIZE} are possible"
            )));
        }
        if self.slow_poll == Some(Duration::ZERO) {
            return Err(invalid(
                "slow_poll_threshold is 0, but every poll takes longer".into(),
            ));
        }
        let trace_file = variable("TRESS_TRACE")?.map(PathBuf::from);
        let (record, directory) = record_signal()?.unzip();
        let triggers = Triggers {
            signal: directory,
            ..self.triggers.clone()
        };
        let said = switch("TRESS_RECORDER")?;
        let recorder = self.recorder.or(said).unwrap_or_else(|| triggers.any());
        Ok(Resolved {
            events: self.events.or(trace_file.as_ref().map(|_| RING_SIZE)),
            every: self.every,
            trace_file,
            slow_polls: self.slow_polls()?,
            dump: dump_signal()?,
            recorder,
            triggers,
            record,
            #[cfg(all(feature = "sight", not(loom)))]
            sight: self.sight.is_on()?,
        })
    }

    fn slow_polls(&self) -> io::Result<Option<SlowPolls>> {
        let text = variable("TRESS_SLOW_POLL_MS")?;
        let said = text.as_deref().map(parse_slow_poll).transpose()?;
        let (threshold, backtrace) = match (self.slow_poll, said) {
            (Some(threshold), _) => (threshold, self.slow_poll_backtrace),
            (None, Some((threshold, backtrace))) => {
                (threshold, backtrace || self.slow_poll_backtrace)
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(SlowPolls {
            threshold,
            callback: self.on_slow_poll.clone(),
            backtrace,
        }))
    }
}

/// Parses milliseconds, and whether backtraces are wanted.
fn parse_slow_poll(text: &str) -> io::Result<(Duration, bool)> {
    let (number, backtrace) = match text.strip_suffix(",backtrace") {
        Some(number) => (number, true),
        None => (text, false),
    };
    match number.parse() {
        Ok(ms) if ms > 0 => Ok((Duration::from_millis(ms), backtrace)),
        _ => Err(invalid(format!(
            "TRESS_SLOW_POLL_MS is {text:?}, but must be a whole number of milliseconds from 1 on, \
             such as 50 or 50,backtrace"
        ))),
    }
}

#[cfg(all(unix, not(loom)))]
fn dump_signal() -> io::Result<Option<i32>> {
    let Some(text) = variable("TRESS_DUMP")? else {
        return Ok(None);
    };
    match on_signal::parse(&text) {
        Some(signal) => Ok(Some(signal)),
        None => Err(invalid(format!(
            "TRESS_DUMP is {text:?}, but must be a signal, such as SIGUSR1"
        ))),
    }
}

/// Parses a signal and a directory.
#[cfg(all(unix, not(loom)))]
fn record_signal() -> io::Result<Option<(i32, PathBuf)>> {
    let Some(text) = variable("TRESS_RECORD")? else {
        return Ok(None);
    };
    let parts = text.split_once(':').filter(|(_, path)| !path.is_empty());
    let parsed =
        parts.and_then(|(signal, path)| Some((on_signal::parse(signal)?, PathBuf::from(path))));
    match parsed {
        Some(parsed) => Ok(Some(parsed)),
        None => Err(invalid(format!(
            "TRESS_RECORD is {text:?}, but must be a signal and a directory, such as SIGUSR2:traces"
        ))),
    }
}

#[cfg(not(all(unix, not(loom))))]
fn record_signal() -> io::Result<Option<(i32, PathBuf)>> {
    match variable("TRESS_RECORD")? {
        None => Ok(None),
        Some(_) => Err(invalid(
            "TRESS_RECORD is set, but there are no such signals on this system: use \
             FlightRecorder::write"
                .into(),
        )),
    }
}

/// Returns whether an environment variable switches something on or off.
pub(super) fn switch(name: &str) -> io::Result<Option<bool>> {
    match variable(name)?.as_deref() {
        None => Ok(None),
        Some("1") => Ok(Some(true)),
        Some("0") => Ok(Some(false)),
        Some(text) => Err(invalid(format!("{name} is {text:?}, but must be 1 or 0"))),
    }
}

#[cfg(not(all(unix, not(loom))))]
fn dump_signal() -> io::Result<Option<i32>> {
    match variable("TRESS_DUMP")? {
        None => Ok(None),
        Some(_) => Err(invalid(
            "TRESS_DUMP is set, but there are no such signals on this system: use \
             Handle::debug_dump"
                .into(),
        )),
    }
}

impl Resolved {
    pub(super) fn tracer(&self) -> trace::Config {
        trace::Config {
            on: self.events.is_some_and(|events| events > 0),
            size: self
                .events
                .filter(|events| *events > 0)
                .unwrap_or(RING_SIZE),
            every: self.every,
            watched: self.slow_polls.is_some(),
            timed: false,
        }
    }

    /// Sets up what concerns the whole process.
    pub(super) fn install(&self, shared: &Arc<Shared>) -> io::Result<()> {
        if let Some(slow_polls) = &self.slow_polls {
            slow_polls.prepare();
        }
        if self.recorder {
            shared.start_flight()?;
        }
        if let Some(signal) = self.dump {
            on_signal(signal, Asked::Dump, shared)?;
        }
        if let Some(signal) = self.record {
            on_signal(signal, Asked::Record, shared)?;
        }
        #[cfg(all(feature = "sight", not(loom)))]
        {
            super::living::add(shared);
            if self.sight {
                shared.start_sight()?;
            }
        }
        Ok(())
    }
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Dump,
    Record,
}

#[cfg(all(unix, not(loom)))]
use on_signal::on_signal;

#[cfg(not(all(unix, not(loom))))]
fn on_signal(_: i32, _: Asked, _: &Arc<Shared>) -> io::Result<()> {
    unreachable!("no signal was accepted")
}

/// Writes the trace at the end of a runtime. The second runtime of a process, and each further one, gets a file of
/// its own.
pub(super) fn write_trace(shared: &Arc<Shared>, path: &Path) {
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed) + 1;
    let path = numbered(path, number);
    let written = File::create(&path).and_then(|file| {
        let mut out = BufWriter::new(file);
        let trace = Trace::new(shared.clone());
        match is_perfetto(&path) {
            true => trace.write_perfetto(&mut out)?,
            false => trace.write_chrome(&mut out)?,
        }
        out.flush()
    });
    if let Err(error) = written {
        // No caller is left to return it to.
        eprintln!(
            "tress: the trace could not be written to {}, which TRESS_TRACE names: {error}",
            path.display()
        );
    }
}

/// Returns whether a trace of this name is written in Perfetto's own format: its extension is `pftrace` or
/// `perfetto-trace`.
fn is_perfetto(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    extension == "pftrace" || extension == "perfetto-trace"
}

/// Returns `trace.json`, then `trace-2.json` and so on.
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}-{number}");
    if let Some(extension) = path.extension() {
        name = format!("{name}.{}", extension.to_string_lossy());
    }
    path.with_file_name(name)
}

/// Returns an environment variable that is set and not empty.
fn variable(name: &str) -> io::Result<Option<String>> {
    match env::var(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(invalid(format!("{name} is not valid Unicode"))),
    }
}

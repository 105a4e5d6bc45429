use super::Shared;
use super::collect::{Collected, SPAN};
use crate::sys::atomic::Ordering;
use crate::sys::clock::Scale;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The last 30 seconds of a runtime; returned by [`Trace::recorder`](crate::trace::Trace::recorder).
///
/// While it is on, a thread of its own reads the workers' event rings before they are overwritten, and keeps what they had
/// in at most 16 MiB: the last 30 seconds, or less of a runtime that does very much. It is meant to be on all the
/// time: as many polls are recorded as take a few thousandths of the time, and all if they take 32 microseconds or more.
///
/// [`Builder::flight_recorder`](crate::runtime::Builder::flight_recorder) or the environment variable
/// `TRESS_RECORDER=1` switch it on from the start.
///
/// # Examples
/// ```
/// let rt = tress::runtime::Builder::new_multi_thread().flight_recorder(true).build()?;
/// rt.block_on(rt.spawn(async {})).unwrap();
/// // For ui.perfetto.dev.
/// let mut trace = Vec::new();
/// rt.handle().trace().recorder().write(&mut trace)?;
/// assert!(!trace.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct FlightRecorder {
    shared: Arc<Shared>,
}

impl FlightRecorder {
    pub(crate) fn new(shared: Arc<Shared>) -> FlightRecorder {
        FlightRecorder { shared }
    }

    /// Switches it on.
    ///
    /// # Errors
    /// The system's error if its thread cannot be started; and an error of the kind
    /// [`Other`](io::ErrorKind::Other) if the runtime has shut down.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let recorder = rt.handle().trace().recorder();
    /// recorder.start()?;
    /// assert!(recorder.is_on());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn start(&self) -> io::Result<()> {
        self.shared.start_flight()
    }

    /// Switches it off.
    ///
    /// What was recorded stays.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().flight_recorder(true).build()?;
    /// let recorder = rt.handle().trace().recorder();
    /// recorder.stop();
    /// assert!(!recorder.is_on());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stop(&self) {
        self.shared.end_flight();
    }

    /// Returns true while it is on.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// assert!(!rt.handle().trace().recorder().is_on());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_on(&self) -> bool {
        self.shared.flight.is_on()
    }

    /// Returns for how long back it has everything that was recorded: at most 30 seconds; zero if it was never on.
    ///
    /// It is less after the start, and if so much happens that 16 MiB do not hold 30 seconds of it.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = tress::runtime::Builder::new_multi_thread().flight_recorder(true).build()?;
    /// assert!(rt.handle().trace().recorder().covered() <= Duration::from_secs(30));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn covered(&self) -> Duration {
        let clock = self.shared.config().tracer.clock;
        let covered = |collected: &mut Collected| collected.covered(clock.now());
        let covered = self.shared.with_collected(covered);
        let counts = covered.map_or(0, |(_, counts)| counts);
        Duration::from_nanos(Scale::measure().length(counts)).min(SPAN)
    }

    /// Returns the number of events that were overwritten before they could be kept.
    ///
    /// A trace says where they are missing.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// assert_eq!(rt.handle().trace().recorder().lost(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn lost(&self) -> u64 {
        // Some may have been overwritten since the last look.
        self.shared.collect();
        self.shared.flight.lost.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes that the record takes up: at most 16 MiB.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().flight_recorder(true).build()?;
    /// assert!(rt.handle().trace().recorder().bytes() <= 16 << 20);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        let bytes = self.shared.with_collected(|collected| collected.bytes());
        bytes.map_or(0, |(_, bytes)| bytes)
    }

    /// Writes all that it has in Perfetto's format, as
    /// [`Trace::write_perfetto`](crate::trace::Trace::write_perfetto) does.
    ///
    /// The recorder goes on meanwhile. Each event is a separate write, so a file should be wrapped in a
    /// [`BufWriter`](std::io::BufWriter).
    ///
    /// # Errors
    /// Any error of the writer.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().flight_recorder(true).build()?;
    /// let mut trace = Vec::new();
    /// rt.handle().trace().recorder().write(&mut trace)?;
    /// assert!(!trace.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.shared.write_flight(out, 0, &mut || ())
    }

    /// As [`write`](FlightRecorder::write), but only what ended in the time `span` before now.
    ///
    /// # Errors
    /// Any error of the writer.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = tress::runtime::Builder::new_multi_thread().flight_recorder(true).build()?;
    /// let mut trace = Vec::new();
    /// rt.handle().trace().recorder().write_last(Duration::from_secs(5), &mut trace)?;
    /// assert!(!trace.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_last(&self, span: Duration, out: &mut dyn io::Write) -> io::Result<()> {
        let now = self.shared.config().tracer.clock.now();
        let from = now.saturating_sub(Scale::measure().counts(span));
        self.shared.write_flight(out, from, &mut || ())
    }
}

impl fmt::Debug for FlightRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlightRecorder")
            .field("runtime", &self.shared.id)
            .field("is_on", &self.is_on())
            .finish()
    }
}

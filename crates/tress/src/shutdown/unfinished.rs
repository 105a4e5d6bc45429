use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

/// A piece of work that has started and not ended.
///
/// Returned by [`Shutdown::pending`](super::Shutdown::pending) and [`Unfinished::pending`].
///
/// # Examples
///
/// ```
/// let shutdown = tress::shutdown::Shutdown::new();
/// let line = line!() + 1;
/// let _guard = shutdown.start_work();
/// let pending = shutdown.pending();
/// assert_eq!(pending[0].name(), None);
/// assert_eq!(pending[0].location().line(), line);
/// ```
#[derive(Debug, Clone)]
pub struct PendingWork {
    name: Option<Cow<'static, str>>,
    location: &'static Location<'static>,
}

impl PendingWork {
    pub(super) fn new(
        name: Option<Cow<'static, str>>,
        location: &'static Location<'static>,
    ) -> PendingWork {
        PendingWork { name, location }
    }

    /// Returns the name of the work, if it was given one.
    ///
    /// # Examples
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let _guard = shutdown.start_named_work("upload");
    /// assert_eq!(shutdown.pending()[0].name(), Some("upload"));
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the location of the call that started the work.
    ///
    /// # Examples
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let _guard = shutdown.start_work();
    /// println!("started at {}", shutdown.pending()[0].location());
    /// ```
    pub fn location(&self) -> &'static Location<'static> {
        self.location
    }
}

impl fmt::Display for PendingWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name:?} begun at {}", self.location),
            None => write!(f, "work begun at {}", self.location),
        }
    }
}

/// The error returned by a [drain](super::Shutdown::drain) whose time was up: the work that was still
/// pending.
///
/// Its message lists up to eight pieces of work.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let shutdown = tress::shutdown::Shutdown::new();
/// let _guard = shutdown.start_named_work("upload");
/// let unfinished = shutdown.drain_for(Duration::from_millis(1)).await.unwrap_err();
/// assert!(unfinished.to_string().contains("\"upload\" begun at"));
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct Unfinished {
    after: Duration,
    pending: Vec<PendingWork>,
}

impl Unfinished {
    pub(super) fn new(after: Duration, pending: Vec<PendingWork>) -> Unfinished {
        Unfinished { after, pending }
    }

    /// Returns the pieces of work that were pending, of which there is at least one.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let _guard = shutdown.start_work();
    /// let unfinished = shutdown.drain_for(Duration::from_millis(1)).await.unwrap_err();
    /// assert_eq!(unfinished.pending().len(), 1);
    /// # });
    /// ```
    pub fn pending(&self) -> &[PendingWork] {
        &self.pending
    }

    /// Returns the time limit that was exceeded.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let _guard = shutdown.start_work();
    /// let unfinished = shutdown.drain_for(Duration::from_millis(1)).await.unwrap_err();
    /// assert_eq!(unfinished.after(), Duration::from_millis(1));
    /// # });
    /// ```
    pub fn after(&self) -> Duration {
        self.after
    }
}

/// The maximum number of pieces of work that a message lists.
const LISTED: usize = 8;

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.pending.len();
        let after = self.after;
        write!(
            f,
            "{count} pending after {after:?}; give them more time, or let them stop when told to: "
        )?;
        for (n, work) in self.pending.iter().take(LISTED).enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{work}")?;
        }
        if count > LISTED {
            write!(f, " and {} more", count - LISTED)?;
        }
        Ok(())
    }
}

impl Error for Unfinished {}

//! What the builder and the environment say about sight.

use super::{Callback, State, Thresholds};
use crate::runtime::Builder;
use crate::runtime::diagnostics::switch;
use std::io;
use std::sync::Arc;

/// What the builder was told. The environment may set the rest.
#[derive(Clone, Default)]
pub(crate) struct Options {
    on: Option<bool>,
    thresholds: Option<Thresholds>,
    on_finding: Option<Callback>,
}

impl Options {
    /// Returns whether it is on from the start.
    pub(crate) fn is_on(&self) -> io::Result<bool> {
        match self.on {
            Some(on) => Ok(on),
            None => Ok(switch("TRESS_SIGHT")?.unwrap_or(false)),
        }
    }

    pub(crate) fn state(&self) -> State {
        let limits = self.thresholds.clone().unwrap_or_default();
        State::new(limits, self.on_finding.clone())
    }
}

impl Builder {
    /// Sets whether tasks note what they wait for, and locks which task holds them, and whether what is wrong is looked
    /// for.
    ///
    /// It switches the [flight recorder](crate::trace::FlightRecorder) on, too.
    ///
    /// Default: false, unless the environment variable `TRESS_SIGHT` is `1`. [`Handle::sight`](super::Handle::sight)
    /// switches it on and off at any time.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// assert!(rt.handle().findings().is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn sight(&mut self, on: bool) -> &mut Self {
        self.diagnostics.sight.on = Some(on);
        self
    }

    /// Sets when something counts as wrong.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use tress::trace::Thresholds;
    ///
    /// let mut thresholds = Thresholds::default();
    /// thresholds.stuck = Duration::from_secs(5);
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .sight(true)
    ///     .sight_thresholds(thresholds)
    ///     .build()?;
    /// # drop(rt);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn sight_thresholds(&mut self, thresholds: Thresholds) -> &mut Self {
        self.diagnostics.sight.thresholds = Some(thresholds);
        self
    }

    /// Sets a function that is called for each new [finding](crate::trace::Finding), once.
    ///
    /// A finding that has gone and comes back is new. `f` is called on the thread that looks for what is wrong, which
    /// does nothing else meanwhile, and only while [sight](Builder::sight) is on.
    ///
    /// # Examples
    /// ```
    /// use std::sync::{Arc, mpsc};
    /// use tress::sync::Mutex;
    /// use tress::trace::FindingKind;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let rt = tress::runtime::Builder::new_multi_thread()
    ///     .sight(true)
    ///     .on_finding(move |finding| tell.send(finding.clone()).unwrap())
    ///     .build()?;
    /// let lock = Arc::new(Mutex::new(0));
    /// rt.spawn(async move {
    ///     let _first = lock.lock().await;
    ///     let _again = lock.lock().await; // waits for itself
    /// });
    /// let finding = told.recv().unwrap();
    /// assert_eq!(finding.kind, FindingKind::Deadlock);
    /// println!("{finding}");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_finding<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&crate::trace::Finding) + Send + Sync + 'static,
    {
        self.diagnostics.sight.on_finding = Some(Arc::new(f));
        self
    }
}

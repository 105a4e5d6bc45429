//! Ending in good order: tell everybody to stop, let what has begun finish, but not for ever.
//!
//! ```
//! use std::time::Duration;
//! use tress::shutdown::Shutdown;
//! use tress::sync::mpsc;
//!
//! async fn serve(shutdown: Shutdown, mut requests: mpsc::Receiver<u32>) {
//!     loop {
//!         let request = tress::select! {
//!             () = shutdown.wait() => break,
//!             Some(request) = requests.recv() => request,
//!             else => break,
//!         };
//!         // Whoever has a guard is waited for; from now on nobody else gets one.
//!         let Some(guard) = shutdown.start_work() else { break };
//!         tress::spawn(async move {
//!             tress::time::sleep(Duration::from_millis(request.into())).await;
//!             drop(guard);
//!         });
//!     }
//! }
//!
//! #[tress::main]
//! async fn main() {
//!     let shutdown = Shutdown::new();
//!     let (sender, requests) = mpsc::channel(8);
//!     let server = tress::spawn(serve(shutdown.clone(), requests));
//!     sender.send(5).await.unwrap();
//!
//!     // A signal of the operating system, a command, the end of a test: any future will do.
//!     let signal = async { tress::task::yield_now().await };
//!     shutdown.trigger_when(signal).await;
//!
//!     match shutdown.drain().await {
//!         Ok(()) => println!("all done"),
//!         Err(unfinished) => eprintln!("{unfinished}"),
//!     }
//!     server.await.unwrap();
//! }
//! ```
//!
//! The signal to stop is a [`CancellationToken`]: hand out [tokens](Shutdown::token) to code that knows
//! nothing of shutting down. Parts of a program that end on their own have a
//! [`child`](Shutdown::child).
//!
//! It needs no runtime, but for the deadline of [`drain`](Shutdown::drain).

mod unfinished;
mod work;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

pub use unfinished::{PendingWork, Unfinished};
pub use work::WorkGuard;

use crate::sync::CancellationToken;
use crate::sync::cancellation::{WaitForCancellationFuture, WaitForCancellationFutureOwned};
use crate::time;
use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;
use work::Scope;

/// How long [`Shutdown::drain`] waits.
pub const DEFAULT_DRAIN: Duration = Duration::from_secs(30);

/// Ends a program, or a part of it, in good order. See the [module](self).
///
/// Clones are the same. Dropping them triggers nothing.
#[derive(Clone)]
pub struct Shutdown {
    scope: Arc<Scope>,
}

impl Shutdown {
    /// Nothing has been triggered, and nothing is pending.
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// assert!(!shutdown.is_shutdown());
    /// assert_eq!(shutdown.pending_count(), 0);
    /// ```
    pub fn new() -> Shutdown {
        Shutdown::with_token(CancellationToken::new())
    }

    /// As [`new`](Shutdown::new), but also triggered by cancelling `token`.
    ///
    /// ```
    /// use tress::shutdown::Shutdown;
    /// use tress::sync::CancellationToken;
    ///
    /// let token = CancellationToken::new();
    /// let shutdown = Shutdown::with_token(token.clone());
    /// token.cancel();
    /// assert!(shutdown.is_shutdown());
    /// ```
    pub fn with_token(token: CancellationToken) -> Shutdown {
        Shutdown {
            scope: Arc::new(Scope::new(token, None)),
        }
    }

    /// A part of this one: triggered with it, or alone. While the child has work pending, so has this
    /// one, as one piece by the name of `name`.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = tress::shutdown::Shutdown::new();
    /// let connection = server.child("connection 7");
    /// let request = connection.start_work().unwrap();
    /// let report = server.start_work().unwrap();
    /// assert_eq!((server.pending_count(), connection.pending_count()), (2, 1));
    ///
    /// connection.trigger();
    /// assert!(!server.is_shutdown());
    /// drop((request, report));
    /// server.drain().await.unwrap();
    /// # });
    /// ```
    #[track_caller]
    pub fn child(&self, name: impl Into<Cow<'static, str>>) -> Shutdown {
        let token = self.scope.token().child_token();
        let place = PendingWork::new(Some(name.into()), Location::caller());
        Shutdown {
            scope: Arc::new(Scope::new(token, Some((self.scope.clone(), place)))),
        }
    }

    /// Tells everybody to stop: wakes all who [wait](Shutdown::wait), and refuses new work. Again:
    /// nothing.
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// shutdown.trigger();
    /// assert!(shutdown.is_shutdown() && shutdown.start_work().is_none());
    /// ```
    pub fn trigger(&self) {
        self.scope.close();
    }

    /// Triggers when `signal` is ready. Returns then, or when somebody else has triggered.
    ///
    /// Any future will do, and what it returns is dropped; spawn this to go on meanwhile. For signals of the
    /// operating system there is `trigger_on_signals`, which returns their errors.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// shutdown.trigger_when(async { "a signal" }).await;
    /// assert!(shutdown.is_shutdown());
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it drops `signal`, and triggers nothing.
    pub async fn trigger_when<F: Future>(&self, signal: F) {
        crate::select! {
            biased;
            () = self.wait() => {}
            _ = signal => self.trigger(),
        }
    }

    /// Triggers on Ctrl-C and `SIGTERM`; on Windows on Ctrl-C, Ctrl-Break, and when the console is closed
    /// or the system shut down. Returns then, or when somebody else has triggered. Spawn it to go on
    /// meanwhile.
    ///
    /// From the first poll on, none of the signals ends the process by itself any more; on Windows the last
    /// two still do, after a time.
    ///
    /// ```no_run
    /// # #[tress::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let listener = shutdown.clone();
    /// tress::spawn(async move { listener.trigger_on_signals().await });
    /// shutdown.wait().await;
    /// if let Err(unfinished) = shutdown.drain().await {
    ///     eprintln!("{unfinished}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the signals cannot be listened for.
    ///
    /// # Panics
    /// As [`ctrl_c`](crate::signal::ctrl_c).
    ///
    /// # Cancel safety
    /// Dropping it triggers nothing.
    #[cfg(all(any(unix, windows), feature = "signal"))]
    pub async fn trigger_on_signals(&self) -> std::io::Result<()> {
        let asked = crate::signal::asked_to_end()?;
        self.trigger_when(asked).await;
        Ok(())
    }

    /// Has it been triggered?
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let part = shutdown.child("part");
    /// part.trigger();
    /// assert!(part.is_shutdown() && !shutdown.is_shutdown());
    /// ```
    #[inline]
    pub fn is_shutdown(&self) -> bool {
        self.scope.token().is_cancelled()
    }

    /// Waits until it is triggered. Any number may.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// shutdown.trigger();
    /// shutdown.wait().await;
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub fn wait(&self) -> WaitForCancellationFuture<'_> {
        self.scope.token().cancelled()
    }

    /// As [`wait`](Shutdown::wait), without a borrow.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let waiting = tress::spawn(shutdown.wait_owned());
    /// shutdown.trigger();
    /// waiting.await.unwrap();
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub fn wait_owned(&self) -> WaitForCancellationFutureOwned {
        self.scope.token().clone().cancelled_owned()
    }

    /// The signal to stop. Cancelling it triggers.
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let token = shutdown.token().child_token();
    /// shutdown.trigger();
    /// assert!(token.is_cancelled());
    /// ```
    pub fn token(&self) -> &CancellationToken {
        self.scope.token()
    }

    /// Begins a piece of work that a [drain](Shutdown::drain) waits for, until the guard is dropped.
    /// `None` if it has been triggered: do not begin.
    ///
    /// What is reported as pending is the place of this call.
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let guard = shutdown.start_work().expect("not triggered");
    /// assert_eq!(shutdown.pending_count(), 1);
    /// drop(guard);
    /// assert_eq!(shutdown.pending_count(), 0);
    /// ```
    #[track_caller]
    pub fn start_work(&self) -> Option<WorkGuard> {
        let work = PendingWork::new(None, Location::caller());
        WorkGuard::start(&self.scope, work)
    }

    /// As [`start_work`](Shutdown::start_work), with a name for reports.
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let guard = shutdown.start_named_work("upload").unwrap();
    /// assert_eq!(shutdown.pending()[0].name(), Some("upload"));
    /// # drop(guard);
    /// ```
    #[track_caller]
    pub fn start_named_work(&self, name: impl Into<Cow<'static, str>>) -> Option<WorkGuard> {
        let work = PendingWork::new(Some(name.into()), Location::caller());
        WorkGuard::start(&self.scope, work)
    }

    /// How many pieces of work are pending.
    pub fn pending_count(&self) -> usize {
        self.scope.pending_count()
    }

    /// What is pending.
    pub fn pending(&self) -> Vec<PendingWork> {
        self.scope.pending()
    }

    /// Triggers, and waits until nothing is pending, but no longer than [`DEFAULT_DRAIN`].
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let guard = shutdown.start_work().unwrap();
    /// tress::spawn(async move {
    ///     let _guard = guard;
    ///     tress::task::yield_now().await;
    /// });
    /// assert!(shutdown.drain().await.is_ok());
    /// # });
    /// ```
    ///
    /// # Errors
    /// What was still pending then.
    ///
    /// # Panics
    /// As [`timeout`](time::timeout): outside of a runtime, or in one built without `enable_time`.
    ///
    /// # Cancel safety
    /// It triggers in its first poll; after that, dropping it loses nothing.
    pub async fn drain(&self) -> Result<(), Unfinished> {
        self.drain_for(DEFAULT_DRAIN).await
    }

    /// As [`drain`](Shutdown::drain), but waits no longer than `limit`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let _stuck = shutdown.start_named_work("upload").unwrap();
    /// let unfinished = shutdown.drain_for(Duration::from_millis(1)).await.unwrap_err();
    /// assert_eq!(unfinished.pending()[0].name(), Some("upload"));
    /// # });
    /// ```
    ///
    /// # Errors
    /// What was still pending then.
    ///
    /// # Panics
    /// As [`drain`](Shutdown::drain).
    ///
    /// # Cancel safety
    /// As [`drain`](Shutdown::drain).
    pub async fn drain_for(&self, limit: Duration) -> Result<(), Unfinished> {
        self.trigger();
        match time::timeout(limit, self.drained()).await {
            Ok(()) => Ok(()),
            Err(_) => match self.pending() {
                // It ended between the timer and the look.
                none if none.is_empty() => Ok(()),
                pending => Err(Unfinished::new(limit, pending)),
            },
        }
    }

    /// Waits, for ever if need be, until it has been triggered and nothing is pending.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// shutdown.trigger();
    /// shutdown.drained().await;
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub async fn drained(&self) {
        self.wait().await;
        // It may be the token that was cancelled: only closing makes the end of the work final.
        self.scope.close();
        self.scope.drained().await;
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Shutdown::new()
    }
}

impl fmt::Debug for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shutdown")
            .field("triggered", &self.is_shutdown())
            .field("pending", &self.pending_count())
            .finish_non_exhaustive()
    }
}

//! Orderly shutdown of a program or of a part of it: tell every task to stop, and wait for the work that
//! has started, for a limited time.
//!
//! - [`Shutdown`] is the handle that all parts of the program share.
//! - [`Shutdown::trigger`] starts the shutdown; [`Shutdown::trigger_when`] and
//!   `Shutdown::trigger_on_signals` do so on an event.
//! - [`Shutdown::wait`] and [`Shutdown::token`] tell tasks to stop. The token is a
//!   [`CancellationToken`], for code that knows nothing about this module.
//! - [`Shutdown::start_work`] returns a [`WorkGuard`] for a piece of work to be waited for.
//! - [`Shutdown::drain`] waits until all guards have been dropped, and otherwise reports the work that is
//!   [`Unfinished`].
//! - [`Shutdown::child`] creates a part that can be shut down on its own.
//!
//! Nothing here needs a runtime, except for the time limit of [`Shutdown::drain`].
//!
//! # Examples
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
//!         // Work that has a guard is waited for. Once the shutdown has been triggered, there are no
//!         // new guards.
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
//!     // Usually a signal of the operating system; any future can start the shutdown.
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

/// The maximum time that [`Shutdown::drain`] waits: 30 seconds.
pub const DEFAULT_DRAIN: Duration = Duration::from_secs(30);

/// A handle that shuts a program, or a part of it, down in an orderly way.
///
/// Clones share one state. Dropping a handle does not trigger the shutdown. See the
/// [module documentation](self).
///
/// # Examples
///
/// ```
/// use tress::shutdown::Shutdown;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let shutdown = Shutdown::new();
/// let task = tress::spawn(shutdown.wait_owned());
/// shutdown.trigger();
/// task.await.unwrap();
/// assert!(shutdown.drain().await.is_ok());
/// # });
/// ```
#[derive(Clone)]
pub struct Shutdown {
    scope: Arc<Scope>,
}

impl Shutdown {
    /// Creates a handle that has not been triggered and has no pending work.
    ///
    /// # Examples
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// assert!(!shutdown.is_shutdown());
    /// assert_eq!(shutdown.pending_count(), 0);
    /// ```
    pub fn new() -> Shutdown {
        Shutdown::with_token(CancellationToken::new())
    }

    /// Creates a handle that is also triggered by cancelling `token`.
    ///
    /// # Examples
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

    /// Creates a handle for a part of this one.
    ///
    /// The child is triggered together with this handle, or on its own. While it has pending work, it counts
    /// as one piece of pending work of this handle, called `name`.
    ///
    /// # Examples
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

    /// Triggers the shutdown.
    ///
    /// Wakes every task that [waits](Shutdown::wait) for it, and refuses new work from now on. Has no effect
    /// if it was triggered before.
    ///
    /// # Examples
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// shutdown.trigger();
    /// assert!(shutdown.is_shutdown() && shutdown.start_work().is_none());
    /// ```
    pub fn trigger(&self) {
        self.scope.close();
    }

    /// Waits for `signal` to complete, and triggers the shutdown.
    ///
    /// Also returns when the shutdown is triggered otherwise. The output of `signal` is discarded. Spawn this
    /// to continue meanwhile. For signals of the operating system use `trigger_on_signals`, which returns
    /// their errors.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: dropping the future drops `signal` and triggers nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// shutdown.trigger_when(async { "a signal" }).await;
    /// assert!(shutdown.is_shutdown());
    /// # });
    /// ```
    pub async fn trigger_when<F: Future>(&self, signal: F) {
        crate::select! {
            biased;
            () = self.wait() => {}
            _ = signal => self.trigger(),
        }
    }

    /// Waits until the process is asked to end, and triggers the shutdown.
    ///
    /// On Unix that is Ctrl-C (`SIGINT`) or `SIGTERM`; on Windows it is Ctrl-C, Ctrl-Break, the closing of the
    /// console or the shutdown of the system. Also returns when the shutdown is triggered otherwise. Spawn
    /// this to continue meanwhile.
    ///
    /// From the first poll on these signals no longer end the process by themselves, for the rest of its
    /// life; on Windows the last two still do, when the time limit of the system is over.
    ///
    /// # Errors
    ///
    /// Any error of [`ctrl_c`](crate::signal::ctrl_c): the signals cannot be listened for.
    ///
    /// # Panics
    ///
    /// On Unix, if polled outside of a runtime, or in a runtime that was built without
    /// [`enable_io`](crate::runtime::Builder::enable_io).
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: dropping the future triggers nothing.
    ///
    /// # Examples
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
    #[cfg(all(any(unix, windows), feature = "signal"))]
    pub async fn trigger_on_signals(&self) -> std::io::Result<()> {
        let asked = crate::signal::asked_to_end()?;
        self.trigger_when(asked).await;
        Ok(())
    }

    /// Returns whether the shutdown has been triggered.
    ///
    /// # Examples
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

    /// Waits until the shutdown is triggered.
    ///
    /// Any number of tasks may wait.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe.
    ///
    /// # Examples
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// shutdown.trigger();
    /// shutdown.wait().await;
    /// # });
    /// ```
    pub fn wait(&self) -> WaitForCancellationFuture<'_> {
        self.scope.token().cancelled()
    }

    /// Waits until the shutdown is triggered, without borrowing the handle.
    ///
    /// Otherwise this is [`wait`](Shutdown::wait).
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe.
    ///
    /// # Examples
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let waiting = tress::spawn(shutdown.wait_owned());
    /// shutdown.trigger();
    /// waiting.await.unwrap();
    /// # });
    /// ```
    pub fn wait_owned(&self) -> WaitForCancellationFutureOwned {
        self.scope.token().clone().cancelled_owned()
    }

    /// Returns the token that is cancelled when the shutdown is triggered.
    ///
    /// Cancelling the token triggers the shutdown.
    ///
    /// # Examples
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

    /// Starts a piece of work that [`drain`](Shutdown::drain) waits for.
    ///
    /// The work lasts until the guard is dropped. Returns `None` if the shutdown has been triggered: do not
    /// start then. [Reports](Unfinished) name the location of this call;
    /// [`start_named_work`](Shutdown::start_named_work) adds a name.
    ///
    /// # Examples
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

    /// Starts a piece of work that has a name in [reports](Unfinished).
    ///
    /// Otherwise this is [`start_work`](Shutdown::start_work).
    ///
    /// # Examples
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

    /// Returns the number of pieces of work that are pending.
    ///
    /// A [child](Shutdown::child) with pending work counts as one.
    ///
    /// # Examples
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let guards = [shutdown.start_work(), shutdown.start_work()];
    /// assert_eq!(shutdown.pending_count(), 2);
    /// drop(guards);
    /// assert_eq!(shutdown.pending_count(), 0);
    /// ```
    pub fn pending_count(&self) -> usize {
        self.scope.pending_count()
    }

    /// Returns the pieces of work that are pending.
    ///
    /// # Examples
    ///
    /// ```
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// let _guard = shutdown.start_named_work("upload");
    /// for work in shutdown.pending() {
    ///     println!("{work}"); // "upload" begun at src/main.rs:3:24
    /// }
    /// ```
    pub fn pending(&self) -> Vec<PendingWork> {
        self.scope.pending()
    }

    /// Triggers the shutdown, and waits until no work is pending, for at most [`DEFAULT_DRAIN`].
    ///
    /// # Errors
    ///
    /// Returns the work that is pending when the time is up.
    ///
    /// # Panics
    ///
    /// If polled outside of a runtime, or in a runtime that was built without
    /// [`enable_time`](crate::runtime::Builder::enable_time).
    ///
    /// # Cancel safety
    ///
    /// The first poll triggers the shutdown. Apart from that this method is cancel safe.
    ///
    /// # Examples
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
    pub async fn drain(&self) -> Result<(), Unfinished> {
        self.drain_for(DEFAULT_DRAIN).await
    }

    /// Triggers the shutdown, and waits until no work is pending, for at most `limit`.
    ///
    /// # Errors
    ///
    /// Returns the work that is pending when the time is up.
    ///
    /// # Panics
    ///
    /// If polled outside of a runtime, or in a runtime that was built without
    /// [`enable_time`](crate::runtime::Builder::enable_time).
    ///
    /// # Cancel safety
    ///
    /// The first poll triggers the shutdown. Apart from that this method is cancel safe.
    ///
    /// # Examples
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
    pub async fn drain_for(&self, limit: Duration) -> Result<(), Unfinished> {
        self.trigger();
        match time::timeout(limit, self.drained()).await {
            Ok(()) => Ok(()),
            Err(_) => match self.pending() {
                // The last work ended after the timer had fired.
                none if none.is_empty() => Ok(()),
                pending => Err(Unfinished::new(limit, pending)),
            },
        }
    }

    /// Waits until the shutdown has been triggered and no work is pending, without a time limit.
    ///
    /// Unlike [`drain`](Shutdown::drain) this does not trigger the shutdown.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe.
    ///
    /// # Examples
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let shutdown = tress::shutdown::Shutdown::new();
    /// shutdown.trigger();
    /// shutdown.drained().await;
    /// # });
    /// ```
    pub async fn drained(&self) {
        self.wait().await;
        // The token may have been cancelled directly: only closing makes the end of the work final.
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

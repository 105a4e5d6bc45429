//! A trace: a backtrace for each leaf operation that a poll has reached.

use super::symbols::Backtrace;
use super::tree::Tree;
use super::{Root, TraceMeta, trace_with};
use backtrace::BacktraceFrame;
use std::fmt;
use std::future::Future;
use std::ptr;
use std::sync::Arc;

/// Where a future waits: the backtraces of the leaf operations that one poll of it has reached.
///
/// It is printed as a tree, whose branches are the leaves. Printing and
/// [`resolve_backtraces`](Trace::resolve_backtraces) look up names in debug information, which takes long, often more than
/// 100 ms for the first time; in a task they belong into [`spawn_blocking`](crate::task::spawn_blocking).
///
/// # Examples
/// ```
/// use std::future::{Future, poll_fn};
/// use std::task::Poll;
/// use tress::runtime::task_dump::Trace;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut future = Box::pin(async { tress::task::yield_now().await });
/// let (polled, trace) = Trace::root(poll_fn(|cx| {
///     Poll::Ready(Trace::capture(|| future.as_mut().poll(cx)))
/// }))
/// .await;
/// assert!(polled.is_pending());
/// assert_eq!(trace.resolve_backtraces().len(), 1);
/// println!("{trace}");
/// future.await;
/// # });
/// ```
#[derive(Debug)]
pub struct Trace {
    backtraces: Arc<[Vec<BacktraceFrame>]>,
}

impl Trace {
    /// Calls `f`, in which leaf operations only take a backtrace, and returns its result with the trace.
    ///
    /// See [`trace_with`] for what that means for futures that `f` polls. Calls nest: the inner one gets the
    /// backtraces.
    pub fn capture<F, R>(f: F) -> (R, Trace)
    where
        F: FnOnce() -> R,
    {
        let mut backtraces = Vec::new();
        let result = trace_with(f, |meta| backtraces.push(take(meta)));
        let backtraces = backtraces.into();
        (result, Trace { backtraces })
    }

    /// Makes a future the root of traces: backtraces end at it.
    ///
    /// Tasks are roots by themselves. The innermost root counts; without any a backtrace goes down to the thread's
    /// first function.
    pub fn root<F>(f: F) -> Root<F>
    where
        F: Future,
    {
        Root::new(f)
    }

    /// Returns the backtraces with names, one for each leaf operation that was reached.
    ///
    /// A future that waits for several things at once, as `join!` does, has several.
    pub fn resolve_backtraces(&self) -> Vec<Backtrace> {
        self.resolved()
            .map(|resolved| Backtrace::new(&resolved))
            .collect()
    }

    fn resolved(&self) -> impl Iterator<Item = backtrace::Backtrace> + '_ {
        self.backtraces.iter().map(|frames| {
            let mut resolved = backtrace::Backtrace::from(frames.clone());
            resolved.resolve();
            resolved
        })
    }

    pub(super) fn share(&self) -> Trace {
        Trace {
            backtraces: self.backtraces.clone(),
        }
    }
}

/// Takes a backtrace from the leaf to the root.
fn take(meta: &TraceMeta) -> Vec<BacktraceFrame> {
    let mut frames = Vec::new();
    let mut above_leaf = false;
    backtrace::trace(|frame| {
        let function = frame.symbol_address().cast_const();
        if meta.root_addr.is_some_and(|root| ptr::eq(function, root)) {
            return false;
        }
        if above_leaf {
            frames.push(BacktraceFrame::from(frame.clone()));
        }
        above_leaf |= ptr::eq(function, meta.trace_leaf_addr);
        true
    });
    frames
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tree = Tree::default();
        for resolved in self.resolved() {
            tree.add(&Backtrace::new(&resolved));
        }
        tree.fmt(f)
    }
}

//! Actors under comparison, behind one small trait: each adds up the numbers it is told.

pub mod actix;
pub mod kameo;
pub mod ractor;
pub mod tokio;
pub mod tress;

use std::future::Future;
use std::pin::Pin;

/// The end of a task.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Messages that a mailbox holds, where it is bounded.
pub const MAILBOX: usize = 1024;

/// A library of actors.
pub trait Actors: Sized + 'static {
    /// What a task needs to start an actor or another task.
    type Cx: Clone + Send + Sync + 'static;
    /// The address of an actor.
    type Addr: Clone + Send + Sync + 'static;

    /// Starts what runs the actors.
    fn start(workers: usize) -> Self;

    fn cx(&self) -> Self::Cx;

    /// Runs `future` as a task beside the actors and waits for it.
    fn inside<F>(&self, future: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Starts a task beside the one that calls; the end of it.
    fn beside(cx: &Self::Cx, future: impl Future<Output = ()> + Send + 'static) -> Task;

    /// Starts an actor.
    fn spawn(cx: &Self::Cx) -> impl Future<Output = Self::Addr> + Send;

    /// Tells it a number; waits for room where mailboxes are bounded.
    fn tell(addr: &Self::Addr, n: u64) -> impl Future<Output = ()> + Send;

    /// The sum so far.
    fn ask(addr: &Self::Addr) -> impl Future<Output = u64> + Send;

    /// Stops an actor and waits until it has stopped.
    fn stop(addr: Self::Addr) -> impl Future<Output = ()> + Send;
}

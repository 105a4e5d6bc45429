//! What runs coroutines: tasks with a stack of their own, written in blocking style.
//!
//! A trait of its own, since nothing here is a future. Tokio has no coroutines; in these cases its row
//! is the crate `may`.

mod may;
mod tress;

pub use may::May;
pub use tress::Fibers;

/// A runtime of coroutines.
///
/// Functions without `self` are called inside of a coroutine; the others on a thread of our own.
pub trait Stackful: Sized + 'static {
    /// The right to a coroutine's result.
    type Join<T: Send + 'static>: Send + 'static;
    /// The sending half of a channel.
    type Sender: Send + 'static;
    /// The receiving half of a channel.
    type Receiver: Send + 'static;

    /// Starts a runtime with `workers` worker threads.
    fn start(workers: usize) -> Self;

    /// Runs `f` as a coroutine and waits for it on the calling thread.
    fn inside<T, F>(&self, f: F) -> T
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static;

    fn spawn<T, F>(f: F) -> Self::Join<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static;

    fn join<T: Send + 'static>(join: Self::Join<T>) -> T;

    /// Lets other coroutines run first. This one and what sends and receives are inlined where they are
    /// called, as a program's own calls would be: a frame more between a coroutine and its switch makes the
    /// processor foretell the returns wrongly.
    fn yield_now();

    /// Waits for ever.
    fn park();

    /// A channel without a bound.
    fn channel() -> (Self::Sender, Self::Receiver);

    fn send(sender: &Self::Sender, value: u64);

    /// The next value; `None` once all senders are gone.
    fn receive(receiver: &mut Self::Receiver) -> Option<u64>;
}

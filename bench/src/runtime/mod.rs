//! The runtimes under comparison, behind one small trait.
//!
//! Every case is written once, generic over [`Rt`], so that nothing but the runtime differs between
//! two measurements. The trait hands out the runtime's own futures: no boxing, and no wrapper that
//! does more than unwrap a result.

pub mod smol;
mod tokio_shaped;

pub use tokio_shaped::{Tokio, Tress, TressReadiness, TressRecorder, TressSight};

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use crate::case::Case;
use crate::cases;

/// A runtime a case can run on.
///
/// Functions without `self` are called inside a task; the others are called on a thread of our own.
pub trait Rt: Sized + 'static {
    /// Resolves to a task's output; dropping it says nothing about the task (use [`Rt::detach`]).
    type Join<T: Send + 'static>: Future<Output = T> + Send + Unpin + 'static;
    /// The sending half of a channel for one value.
    type Sender<T: Send + 'static>: Send + 'static;
    /// The receiving half of a channel for one value.
    type Receiver<T: Send + 'static>: Send + 'static;
    /// The error of a `timeout` that came first.
    type Elapsed: Debug + Send + 'static;

    /// Starts a runtime with `workers` worker threads.
    fn start(workers: usize) -> Self;

    /// Drives `future` on the calling thread while the workers run tasks.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Spawns from a thread that is not a worker.
    fn spawn_outside<F>(&self, future: F) -> Self::Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Spawns from inside a task.
    fn spawn<F>(future: F) -> Self::Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Spawns all from inside a task, by one call if the runtime has one for that, and adds up what they
    /// return.
    fn sum_of_batch<F>(futures: impl Iterator<Item = F> + Send) -> impl Future<Output = u64> + Send
    where
        F: Future<Output = u64> + Send + 'static,
    {
        let tasks: Vec<_> = futures.map(Self::spawn).collect();
        async move {
            let mut sum = 0;
            for task in tasks {
                sum += task.await;
            }
            sum
        }
    }

    /// Lets a task run on with nobody waiting for it.
    fn detach<T: Send + 'static>(join: Self::Join<T>);

    /// Lets other tasks run first.
    fn yield_now() -> impl Future<Output = ()> + Send;

    /// Completes after `duration`, counted from this call or from the first poll.
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send;

    /// Gives `future` at most `duration`.
    fn timeout<F>(
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, Self::Elapsed>> + Send
    where
        F: Future + Send,
        F::Output: Send;

    /// Runs `work` on a thread that may block.
    fn spawn_blocking<T, W>(work: W) -> impl Future<Output = T> + Send + Unpin
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static;

    /// A channel for one value.
    fn oneshot<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>);

    /// Sends the one value.
    fn send<T: Send + 'static>(sender: Self::Sender<T>, value: T);

    /// Receives the one value; `None` if the sender is gone.
    fn receive<T: Send + 'static>(
        receiver: Self::Receiver<T>,
    ) -> impl Future<Output = Option<T>> + Send;

    /// Runs `future` as a task on a worker and waits for it on the calling thread.
    fn inside<F>(&self, future: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.block_on(self.spawn_outside(future))
    }
}

/// A runtime, or a channel on one, by its name, with the cases instantiated for it.
pub struct Peer {
    /// The name on the command line and in reports.
    pub name: &'static str,
    /// Every case it can run, ready to.
    pub cases: fn() -> Vec<Case>,
}

/// The peer that every ratio refers to.
pub const BASE: &str = "tokio";

/// The runtime the project is about: targets and the baseline are its.
pub const OURS: &str = "tress";

/// All peers, in the order of a report: the runtimes, then the channels that go with any of
/// them, then the actors.
pub const PEERS: &[Peer] = &[
    Peer {
        name: OURS,
        cases: cases::tress,
    },
    Peer {
        name: BASE,
        cases: cases::tokio,
    },
    Peer {
        name: "smol",
        cases: cases::smol,
    },
    Peer {
        name: "tress-readiness",
        cases: cases::tress_readiness,
    },
    Peer {
        name: "tress-recorder",
        cases: cases::tress_recorder,
    },
    Peer {
        name: "tress-sight",
        cases: cases::tress_sight,
    },
    Peer {
        name: "monoio",
        cases: cases::monoio,
    },
    Peer {
        name: "compio",
        cases: cases::compio,
    },
    Peer {
        // D-BENCH-04
        name: "bare",
        cases: cases::bare,
    },
    Peer {
        name: "flume",
        cases: cases::flume,
    },
    Peer {
        name: "kanal",
        cases: cases::kanal,
    },
    Peer {
        name: "crossfire",
        cases: cases::crossfire,
    },
    Peer {
        name: "tress/steps",
        cases: cases::tress_steps,
    },
    Peer {
        name: "actix",
        cases: cases::actix,
    },
    Peer {
        name: "ractor",
        cases: cases::ractor,
    },
    Peer {
        name: "kameo",
        cases: cases::kameo,
    },
];

impl Peer {
    /// Whether it can run the case called `name`.
    pub fn runs(&self, name: &str) -> bool {
        (self.cases)().iter().any(|case| case.name == name)
    }
}

/// The peer called `name`.
pub fn peer(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

/// The names of all peers, for messages.
pub fn names() -> String {
    PEERS
        .iter()
        .map(|peer| peer.name)
        .collect::<Vec<_>>()
        .join(", ")
}

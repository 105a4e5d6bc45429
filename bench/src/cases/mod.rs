//! The cases, one file per group.

mod blocking;
mod channel;
mod coroutine;
mod io;
mod memory;
mod mix;
mod process;
mod spawn;
mod sync;
mod tasks;
mod timer;
mod wake;
mod yielding;

use crate::actors;
use crate::case::Case;
use crate::primitive::{
    AsyncChannel, Broadcast, Crossfire, Flume, Kanal, Locks, Shared, Signals, TokioMpsc,
    TressChannel, TressMpsc, TryOneshot, Watch,
};
use crate::runtime::{Rt, Tokio, Tress, TressReadiness, TressRecorder, TressSight, smol::Smol};
use crate::server::{Bare, Compio, Http, Monoio, Spawning};
use crate::stackful::{Fibers, May};

/// Every case there is.
pub fn tress() -> Vec<Case> {
    concat([
        scheduling::<Tress>(),
        process::cases::<actors::tress::Tress<actors::tress::Handler>>(),
        tokio_shaped::<Tress>(),
        channel::queue_cases::<Tress, TressMpsc>(),
        channel::shared_cases::<Tress, TressChannel>(),
        channel::rendezvous_cases::<Tress, TressChannel>(),
        io_shaped::<Tress>(),
        coroutine::cases::<Fibers>(),
    ])
}

/// Every case there is. What Tokio lacks comes from the crate that the case names.
pub fn tokio() -> Vec<Case> {
    concat([
        scheduling::<Tokio>(),
        process::cases::<actors::tokio::Tokio>(),
        tokio_shaped::<Tokio>(),
        channel::queue_cases::<Tokio, TokioMpsc>(),
        channel::shared_cases::<Tokio, AsyncChannel>(),
        channel::rendezvous_cases::<Tokio, Flume>(),
        io_shaped::<Tokio>(),
        coroutine::cases::<May>(),
    ])
}

/// smol has no signal that is kept, no watched value and no rendezvous.
pub fn smol() -> Vec<Case> {
    concat([
        scheduling::<Smol>(),
        sync::cases::<Smol>(),
        channel::oneshot_cases::<Smol>(),
        channel::broadcast_cases::<Smol>(),
        shared_queue::<Smol, AsyncChannel>(),
        io_shaped::<Smol>(),
    ])
}

/// tress without io_uring: what has to do with I/O.
pub fn tress_readiness() -> Vec<Case> {
    io_shaped::<TressReadiness>()
}

/// tress with its flight recorder on: what has short polls, spawns, and serves.
pub fn tress_recorder() -> Vec<Case> {
    concat([
        yielding::cases::<TressRecorder>(),
        spawn::cases::<TressRecorder>(),
        io::http_cases::<Spawning<TressRecorder>>(),
    ])
}

/// tress with sight on: the same.
pub fn tress_sight() -> Vec<Case> {
    concat([
        yielding::cases::<TressSight>(),
        spawn::cases::<TressSight>(),
        io::http_cases::<Spawning<TressSight>>(),
    ])
}

/// monoio has no sockets that hyper could poll without an adapter.
pub fn monoio() -> Vec<Case> {
    io::cases::<Monoio>()
}

/// compio has no sockets that hyper could poll without an adapter.
pub fn compio() -> Vec<Case> {
    io::cases::<Compio>()
}

/// No runtime: where the kernel and the load generator leave off.
pub fn bare() -> Vec<Case> {
    io::cases::<Bare>()
}

/// flume on Tokio. Its rendezvous is Tokio's.
pub fn flume() -> Vec<Case> {
    shared_queue::<Tokio, Flume>()
}

/// kanal on Tokio.
pub fn kanal() -> Vec<Case> {
    concat([
        shared_queue::<Tokio, Kanal>(),
        channel::rendezvous_cases::<Tokio, Kanal>(),
    ])
}

/// crossfire on Tokio. It has no rendezvous.
pub fn crossfire() -> Vec<Case> {
    shared_queue::<Tokio, Crossfire>()
}

/// Processes of tress that are stepped; in the row of tress they handle messages.
pub fn tress_steps() -> Vec<Case> {
    process::cases::<actors::tress::Tress<actors::tress::Machine>>()
}

/// actix.
pub fn actix() -> Vec<Case> {
    process::cases::<actors::actix::Actix>()
}

/// ractor on Tokio.
pub fn ractor() -> Vec<Case> {
    process::cases::<actors::ractor::Ractor>()
}

/// kameo on Tokio.
pub fn kameo() -> Vec<Case> {
    process::cases::<actors::kameo::Kameo>()
}

fn concat<const N: usize>(groups: [Vec<Case>; N]) -> Vec<Case> {
    groups.into_iter().flatten().collect()
}

fn tokio_shaped<R>() -> Vec<Case>
where
    R: Locks + Signals + TryOneshot + Broadcast + Watch,
{
    concat([
        sync::cases::<R>(),
        sync::signal_cases::<R>(),
        channel::oneshot_cases::<R>(),
        channel::try_oneshot_cases::<R>(),
        channel::broadcast_cases::<R>(),
        channel::watch_cases::<R>(),
    ])
}

fn io_shaped<R: Http>() -> Vec<Case> {
    concat([io::cases::<Spawning<R>>(), io::http_cases::<Spawning<R>>()])
}

fn shared_queue<R: Rt, Q: Shared>() -> Vec<Case> {
    concat([
        channel::queue_cases::<R, Q>(),
        channel::shared_cases::<R, Q>(),
    ])
}

/// The cases that need nothing but a runtime.
fn scheduling<R: Rt>() -> Vec<Case> {
    concat([
        spawn::cases::<R>(),
        tasks::cases::<R>(),
        yielding::cases::<R>(),
        wake::cases::<R>(),
        mix::cases::<R>(),
        memory::cases::<R>(),
        timer::cases::<R>(),
        blocking::cases::<R>(),
    ])
}

#[cfg(test)]
mod tests {
    use crate::case::Plan;
    use crate::runtime::PEERS;

    /// Every case on every runtime, its checks included, with tiny plans: values are not looked at.
    #[test]
    fn every_case_gives_right_results_on_every_runtime() {
        for peer in PEERS {
            for case in (peer.cases)() {
                if case.source.0 != case.name {
                    continue;
                }
                for variant in &case.variants {
                    // In so short a time a busy machine may get nothing done at all.
                    let checks_something = (0..10).any(|_| {
                        let outcome = (case.run)(&Plan::tiny(variant.workers));
                        let outcome = outcome.unwrap_or_else(|wrong| {
                            panic!("{} on {}: {}", case.name, peer.name, wrong.0)
                        });
                        outcome.checked > 0
                    });
                    assert!(
                        checks_something,
                        "{} on {} checks nothing",
                        case.name, peer.name
                    );
                }
            }
        }
    }

    #[test]
    fn the_base_peer_has_every_case_with_the_same_targets() {
        let described = super::tokio();
        for peer in PEERS {
            for case in (peer.cases)() {
                let same = described.iter().find(|other| other.name == case.name);
                let same = same.unwrap_or_else(|| panic!("{} on {}", case.name, peer.name));
                assert_eq!(same.variants.len(), case.variants.len(), "{}", case.name);
            }
        }
    }

    #[test]
    fn names_are_unique_and_every_source_exists() {
        for peer in PEERS {
            let cases = (peer.cases)();
            for case in &cases {
                let same = |name| cases.iter().filter(|other| other.name == name).count();
                assert_eq!(same(case.name), 1, "{}", case.name);
                assert_eq!(same(case.source.0), 1, "{}", case.source.0);
                assert!(!case.variants.is_empty(), "{}", case.name);
            }
        }
    }
}
